"""Batches in an order that doesn't depend on what is done with them."""

import random
from collections.abc import Iterator
from typing import Any


class RepeatableBatches(Iterator[Any]):
    """Batches that are shuffled by random numbers of their own.

    Learning from a batch uses up random numbers too. If both used the same, batches
    that a resumed training passes over would be followed by others than before.

    batches (Iterator[Any]): The batches, shuffled by Python's random numbers.
    """

    def __init__(self, batches: Iterator[Any]):
        self._batches = batches
        self._state = random.getstate()

    def __next__(self) -> Any:
        outside = random.getstate()
        random.setstate(self._state)
        try:
            return next(self._batches)
        finally:
            self._state = random.getstate()
            random.setstate(outside)
