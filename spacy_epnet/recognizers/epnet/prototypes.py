"""The prototype table: its geometry and who owns which row."""

import math
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from thinc.api import Ops, get_array_module

from .types import Prototypes, Rows

NONE_ROW = 0

# The row of each label of those that were learned together. Every generation is decided
# as if it were alone, so that what an older one recognises doesn't depend on the
# younger ones.
Generation: TypeAlias = dict[str, int]


def get_initial_scale(dispersion: float, width: int) -> float:
    """Standard deviation that gives normal prototypes a wanted dispersion.

    dispersion (float): The mean squared distance wanted between prototypes.
    width (int): The size of a prototype.
    RETURNS (float): The standard deviation of each number.
    """
    return math.sqrt(dispersion / (2 * width))


def get_dispersion(prototypes: Prototypes) -> float:
    """Mean squared distance over all ordered pairs, a prototype and itself too.

    It follows from the mean and the norms alone, without looking at pairs.
    """
    xp: Any = get_array_module(prototypes)
    mean = xp.mean(prototypes, axis=0)
    mean_square = xp.sum(prototypes * prototypes) / len(prototypes)
    return float(2 * (mean_square - xp.sum(mean * mean)))


def join(generations: Iterable[Generation]) -> dict[str, int]:
    """The row of each label, the older generations first."""
    return {label: row for labels in generations for label, row in labels.items()}


def list_rows(labels: dict[str, int], *, ops: Ops) -> Rows:
    """The rows in use: None's, then those of the labels."""
    return ops.asarray1i([NONE_ROW, *labels.values()])


def fit_generations(
    generations: Iterable[Generation], labels: Collection[str]
) -> list[Generation]:
    """Give new labels a row in the youngest generation, and drop what isn't a label.

    generations (Iterable[Generation]): The generations.
    labels (Collection[str]): The labels that there are to be.
    RETURNS (List[Generation]): The generations, at least one.
    """
    kept = [
        {label: row for label, row in generation.items() if label in labels}
        for generation in generations
    ]
    kept = [generation for generation in kept if generation] or [{}]
    for label in labels:
        taken = join(kept)
        if label not in taken:
            kept[-1][label] = get_free_row(taken.values())
    return kept


def get_free_row(taken: Collection[int]) -> int:
    """The first row that is neither None's nor taken."""
    row = NONE_ROW + 1
    while row in taken:
        row += 1
    return row
