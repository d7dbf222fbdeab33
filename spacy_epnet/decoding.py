"""From distances to entities."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from spacy.tokens import Span
from thinc.api import Ops

from .types import Distances, Spans


class Winner(NamedTuple):
    """A span that is nearer to a type's prototype than to None's."""

    start: int
    end: int
    column: int
    distance: float
    probability: float


class Entity(NamedTuple):
    """A predicted entity of one doc, in its tokens."""

    start: int
    end: int
    label: str
    score: float


def get_winners(
    spans: Spans, distances: Distances, *, threshold: float, ops: Ops
) -> list[Winner]:
    """Find the spans whose nearest prototype is a type's.

    spans (Spans): The candidates.
    distances (Distances): From each to each prototype in use.
    threshold (float): Least probability of a winner.
    ops (Ops): What the arrays belong to.
    RETURNS (List[Winner]): The winners, which may overlap.
    """
    xp: Any = ops.xp
    columns = xp.argmin(distances, axis=1)
    nearest = xp.take_along_axis(distances, columns[:, None], axis=1)
    probabilities = 1 / xp.exp(nearest - distances).sum(axis=1)
    wins = xp.nonzero((columns > 0) & (probabilities >= threshold))[0]
    starts, widths = spans[wins].T
    fields = (starts, starts + widths, columns[wins], nearest[wins, 0])
    values = [ops.to_numpy(field).tolist() for field in (*fields, probabilities[wins])]
    return [Winner(*row) for row in zip(*values, strict=True)]


def drop_overlaps(
    winners: Iterable[Winner], merit: Callable[[Winner], float]
) -> list[Winner]:
    """Keep the best span, drop what overlaps it, and go on with the rest.

    winners (Iterable[Winner]): Spans that may overlap.
    merit (Callable[[Winner], float]): How good a span is. Of equals the longer
        wins, then the earlier.
    RETURNS (List[Winner]): The spans kept, in the order of the text.
    """
    taken: set[int] = set()
    kept = []
    for winner in sorted(winners, key=lambda w: (-merit(w), w.start - w.end, w.start)):
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
