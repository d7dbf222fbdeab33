"""Which prototypes fit which types."""

import random
import re
from collections.abc import Iterable
from itertools import chain, count, islice
from typing import Any

import numpy
from scipy.optimize import linear_sum_assignment

from ..prototypes import NONE_ROW

# More than any two vectors differ, so that it decides before all else.
FAR = 1e6


def deal_rows(
    labels: list[str], first: list[int], others: list[int], *, size: int, seed: int
) -> dict[str, int]:
    """Deal rows of the prototype table out at random.

    labels (List[str]): The types.
    first (List[int]): Rows that are dealt before the others.
    others (List[int]): The other rows.
    size (int): Rows of the table. Those after them are named when there are too few.
    seed (int): Decides who gets which.
    RETURNS (Dict[str, int]): The row of each type.
    """
    rng = random.Random(seed)
    rows = rng.sample(first, len(first)) + rng.sample(others, len(others))
    return dict(zip(labels, chain(rows, count(size)), strict=False))


def match_rows(
    labels: list[str], costs: Any, used: list[int], free: list[int], *, size: int
) -> dict[str, int]:
    """Give each type the row that fits, so that all fit best together.

    labels (List[str]): The types.
    costs (numpy.ndarray): (types, used) How badly each row fits each type.
    used (List[int]): The rows.
    free (List[int]): Other rows, taken in order when there are more types.
    size (int): Rows of the table. Those after them are named when there are too few.
    RETURNS (Dict[str, int]): The row of each type.
    """
    missing = max(0, len(labels) - len(used))
    rows = [*used, *islice(chain(free, count(size)), missing)]
    others = numpy.full((len(labels), missing), FAR)
    types, places = linear_sum_assignment(numpy.concatenate([costs, others], axis=1))
    return {labels[i]: rows[j] for i, j in zip(types, places, strict=True)}


def list_free(taken: Iterable[int], size: int) -> list[int]:
    """Rows of the table that are neither None's nor taken."""
    others = {NONE_ROW, *taken}
    return [row for row in range(size) if row not in others]


def get_distances(points: Any, centres: Any) -> Any:
    """(points, centres) Squared distances."""
    differences = points[:, None] - centres[None]
    return (differences**2).sum(axis=-1)


def get_log_shares(distances: Any) -> Any:
    """(points, centres) Logarithm of how much of a point belongs to each centre."""
    logits = distances.min(axis=1, keepdims=True) - distances
    return logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))


def get_weights(scores: Any) -> Any:
    """(types, centres) Shares that add up to 1 for each type."""
    return numpy.exp(get_log_shares(-scores))


def get_cosines(vectors: Any, others: Any) -> Any:
    """Cosine of each vector with each of the others."""
    return _normalize(vectors) @ _normalize(others).T


def _normalize(vectors: Any) -> Any:
    norms = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.maximum(norms, 1e-12)


def get_words(label: str) -> str:
    """Read a type's name as words: "creative-work", "workOfArt", "art/film"."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    return " ".join(re.findall(r"[^\W_]+", parts)).lower() or label
