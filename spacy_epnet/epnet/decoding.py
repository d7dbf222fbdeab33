"""From distances to entities."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy
from thinc.api import Ops

from ..overlaps import drop_overlaps
from ..types import Spans
from .types import Distances


class Winner(NamedTuple):
    """A span that is an entity rather than nothing."""

    start: int
    end: int
    column: int  # the nearest type's
    distance: float  # to the type's prototype
    probability: float  # of the type

    def shift(self, offset: int) -> "Winner":
        """The same span, counted from somewhere else."""
        return self._replace(start=self.start + offset, end=self.end + offset)


# How good a span is. Of two that overlap, the better is kept.
Preference: TypeAlias = Callable[[Winner], float]


def prefer_near(winner: Winner) -> float:
    """Prefer spans that are nearer to their prototype, as the paper does."""
    return -winner.distance


def prefer_probable(winner: Winner) -> float:
    """Prefer spans that are more probably of their type."""
    return winner.probability


# Components are sent to other processes, so that these can't be made on the way.


def make_prefer_near() -> Preference:
    """Prefer spans that are nearer to their prototype."""
    return prefer_near


def make_prefer_probable() -> Preference:
    """Prefer spans that are more probably of their type."""
    return prefer_probable


def get_winners(
    spans: Spans,
    distances: Distances,
    *,
    threshold: float,
    ops: Ops,
) -> list[Winner]:
    """Find the spans that are nearer to a type than to None.

    spans (Spans): The candidates.
    distances (Distances): From each to each prototype in use, None's first.
    threshold (float): Least probability of a winner's type.
    ops (Ops): What the arrays belong to.
    RETURNS (List[Winner]): The winners, which may overlap.
    """
    xp: Any = ops.xp
    if distances.shape[1] < 2:
        return []
    columns = xp.argmin(distances[:, 1:], axis=1) + 1
    nearest = xp.take_along_axis(distances, columns[:, None], axis=1)
    # In terms of the nearest type, so that the largest term of the sum is 1.
    types = xp.exp(nearest - distances[:, 1:]).sum(axis=1)
    with numpy.errstate(over="ignore"):
        nothing = xp.exp(nearest - distances[:, :1])[:, 0]
    probabilities = 1 / (types + nothing)
    wins = xp.nonzero((nothing < 1) & (probabilities >= threshold))[0]
    starts, widths = spans[wins].T
    fields = (
        starts,
        starts + widths,
        columns[wins],
        nearest[wins, 0],
        probabilities[wins],
    )
    values = [ops.to_numpy(field).tolist() for field in fields]
    return [Winner(*row) for row in zip(*values, strict=True)]


def keep_best(winners: Iterable[Winner], prefer: Preference) -> list[Winner]:
    """Keep the best span, drop what overlaps it, and go on with the rest.

    winners (Iterable[Winner]): Spans that may overlap.
    prefer (Callable[[Winner], float]): How good a span is. Of equals the longer wins,
        then the earlier.
    RETURNS (List[Winner]): The spans kept, in the order of the text.
    """
    ranked = sorted(
        winners, key=lambda w: (prefer(w), w.end - w.start, -w.start), reverse=True
    )
    return sorted(drop_overlaps(ranked))
