"""Decoding: the entities of a batch, from the distances of all its spans."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy
from thinc.api import Model, Ops

from ..overlaps import drop_overlaps
from ..recognizer.spans import Layout, iter_windows, list_starts, make_spans
from ..types import Spans, TokenVectors
from .model import measure_spans
from .types import Distances, Rows

# Spans are looked at for this many first tokens at a time, so that memory doesn't
# grow with the length of a doc or the number of docs in a batch.
MAX_STARTS = 1024

# With fewer tokens it is quicker to measure all spans than to filter them first.
MIN_TOKENS_TO_FILTER = 256


class Winner(NamedTuple):
    """A span that is an entity rather than nothing."""

    start: int
    end: int
    column: int  # the nearest type's
    distance: float  # to the type's prototype
    probability: float  # of the type

    def shift(self, offset: int) -> "Winner":
        """Return the same span, counted from somewhere else."""
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


def find_winners(
    head: Model[Any, Any],
    tokens: TokenVectors,
    layout: Layout,
    rows_in_use: list[Rows],
    *,
    max_width: int,
    threshold: float,
    min_tokens_to_filter: int = MIN_TOKENS_TO_FILTER,
) -> list[list[Winner]]:
    """Find the spans of a batch that are entities.

    layout (Layout): Where its spans may lie.
    rows_in_use (List[Rows]): The prototypes of each generation, None's first.
    max_width (int): The longest span.
    threshold (float): Least probability of a winner's type.
    min_tokens_to_filter (int): From how many tokens on spans are filtered first.
    RETURNS (List[List[Winner]]): The spans that each generation takes for entities,
        counted from the start of the batch. They may overlap.
    """
    ops = head.ops
    candidate_filter: Any = None
    if not rows_in_use:
        return []
    has_types = all(len(rows) > 1 for rows in rows_in_use)
    if has_types and len(tokens) >= min_tokens_to_filter:
        from .candidate_filter import CandidateFilter

        candidate_filter = CandidateFilter(head, rows_in_use)
    winners: list[list[Winner]] = [[] for _ in rows_in_use]
    for window, n_starts in iter_windows(len(tokens), max_width, MAX_STARTS):
        part = tokens[window]
        starts = list_starts(layout.cut(window), max_width, ops=ops, n_starts=n_starts)
        if candidate_filter is None:
            spans = make_spans(starts, ops=ops)
            chosen = [spans] * len(rows_in_use)
            measured = measure_spans(head, part, spans, rows_in_use)
        else:
            chosen = candidate_filter.select(part, starts)
            measured = [
                measure_spans(head, part, spans, [rows])[0]
                for spans, rows in zip(chosen, rows_in_use, strict=True)
            ]
        for found, spans, distances in zip(winners, chosen, measured, strict=True):
            found += [
                winner.shift(window.start)
                for winner in get_winners(
                    spans, distances, threshold=threshold, ops=ops
                )
            ]
    return winners


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
