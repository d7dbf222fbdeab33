"""Randomness that can be repeated and leaves no trace."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
from spacy.util import fix_random_seed


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let everything random depend on a seed, and go on as before afterwards.

    seed (int): The seed.
    """
    import torch

    states = random.getstate(), numpy.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        fix_random_seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            numpy.random.set_state(states[1])  # noqa: NPY002
