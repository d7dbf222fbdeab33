"""Randomness that can be repeated and leaves no trace."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy
from spacy.util import fix_random_seed

_turn = RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let everything random depend on a seed, and go on as before afterwards. All
    threads draw from the same numbers, so that another that asks for them waits.
    """
    import torch

    with _turn, torch.random.fork_rng():
        states = random.getstate(), numpy.random.get_state()  # noqa: NPY002
        fix_random_seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            numpy.random.set_state(states[1])  # noqa: NPY002
