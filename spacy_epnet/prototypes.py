"""The prototype table: its geometry and who owns which row."""

import math
from collections.abc import Collection
from typing import Any

from thinc.api import get_array_module

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
    xp: Any = get_array_module(prototypes)
    mean = xp.mean(prototypes, axis=0)
    mean_square = xp.sum(prototypes * prototypes) / len(prototypes)
    return float(2 * (mean_square - xp.sum(mean * mean)))


def get_free_row(taken: Collection[int]) -> int:
    """The first row that is neither None's nor taken."""
    row = NONE_ROW + 1
    while row in taken:
        row += 1
    return row
