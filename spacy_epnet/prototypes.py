"""The prototype table: its geometry and who owns which row."""

import math
from collections.abc import Collection

from .types import Prototypes

NONE_ROW = 0


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
    mean = prototypes.mean(axis=0)
    norms = (prototypes * prototypes).sum(axis=1)
    return float(2 * (norms.mean() - (mean * mean).sum()))


def get_free_row(taken: Collection[int]) -> int:
    """The first row that is neither None's nor taken."""
    row = NONE_ROW + 1
    while row in taken:
        row += 1
    return row
