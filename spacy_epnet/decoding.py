"""From distances to entities."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy
from spacy.tokens import Span
from thinc.api import Ops

from .types import Distances, Spans


class Winner(NamedTuple):
    """A span that is an entity rather than nothing."""

    start: int
    end: int
    column: int  # the nearest type's
    distance: float  # to the type's prototype
    probability: float  # of the type
    certainty: float  # probability that it is an entity, of whichever type

    def shift(self, offset: int) -> "Winner":
        """The same span, counted from somewhere else."""
        return self._replace(start=self.start + offset, end=self.end + offset)


class Entity(NamedTuple):
    """A predicted entity of one doc, in its tokens."""

    start: int
    end: int
    label: str
    score: float


def get_winners(
    spans: Spans,
    distances: Distances,
    *,
    decision: Literal["nearest", "any"],
    none_bias: float,
    threshold: float,
    ops: Ops,
) -> list[Winner]:
    """Find the spans that are entities.

    spans (Spans): The candidates.
    distances (Distances): From each to each prototype in use, None's first.
    decision (str): When a span is an entity: if the "nearest" prototype is a type's,
        or if "any" type is more probable than None, all types taken together.
    none_bias (float): What is added to the distance to None.
    threshold (float): Least probability of a winner's type.
    ops (Ops): What the arrays belong to.
    RETURNS (List[Winner]): The winners, which may overlap.
    """
    xp: Any = ops.xp
    if distances.shape[1] < 2:
        return []
    columns = xp.argmin(distances[:, 1:], axis=1) + 1
    nearest = xp.take_along_axis(distances, columns[:, None], axis=1)
    none = distances[:, :1] + none_bias
    # In terms of the nearest type, so that the largest term of the sum is 1.
    types = xp.exp(nearest - distances[:, 1:]).sum(axis=1)
    with numpy.errstate(over="ignore"):
        nothing = xp.exp(nearest - none)[:, 0]
    wins = nothing < (1 if decision == "nearest" else types)
    probabilities, certainties = 1 / (types + nothing), types / (types + nothing)
    wins = xp.nonzero(wins & (probabilities >= threshold))[0]
    starts, widths = spans[wins].T
    fields = (
        starts,
        starts + widths,
        columns[wins],
        nearest[wins, 0],
        probabilities[wins],
        certainties[wins],
    )
    values = [ops.to_numpy(field).tolist() for field in fields]
    return [Winner(*row) for row in zip(*values, strict=True)]


def drop_overlaps(
    winners: Iterable[Winner], merit: Callable[[Winner], Any]
) -> list[Winner]:
    """Keep the best span, drop what overlaps it, and go on with the rest.

    winners (Iterable[Winner]): Spans that may overlap.
    merit (Callable[[Winner], Any]): How good a span is, as something that can be
        compared. Of equals the longer wins, then the earlier.
    RETURNS (List[Winner]): The spans kept, in the order of the text.
    """
    taken: set[int] = set()
    kept = []
    for winner in sorted(
        winners, key=lambda w: (merit(w), w.end - w.start, -w.start), reverse=True
    ):
        tokens = range(winner.start, winner.end)
        if taken.isdisjoint(tokens):
            taken.update(tokens)
            kept.append(winner)
    return sorted(kept)


def split_by_overlap(
    spans: Iterable[Span], taken: set[int]
) -> tuple[list[Span], list[Span]]:
    """Part the spans that keep clear of taken tokens from those that don't."""
    clear: list[Span] = []
    overlapping: list[Span] = []
    for span in spans:
        is_clear = taken.isdisjoint(range(span.start, span.end))
        (clear if is_clear else overlapping).append(span)
    return clear, overlapping
