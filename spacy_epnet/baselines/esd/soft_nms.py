"""Which of overlapping spans are entities: beam soft-NMS.

Choosing a span makes those that overlap it less probable, by as much as they have in
common with it. Several selections are followed at a time, because the best span may be
in the way of two others that are better together:

    spans      a: 0-2  b: 1-3  c: 2-4
    scores     0.6     0.65    0.6
    b first    b 0.65, then a and c are left with 0.4
    a first    a 0.6, c 0.6, then b is left with 0.29
"""

from typing import Any, NamedTuple

import numpy

from ...overlaps import drop_overlaps

# Of arrays, which are NumPy's in this module.
Array = Any


class Selection(NamedTuple):
    """Spans that were chosen, one after the other."""

    total: float  # of their scores
    mask: int  # a bit for each of them, to tell selections apart
    chosen: tuple[Any, ...] | None  # (span, its score, those before)
    left: Array  # (M,) the scores of all spans, below 0 if chosen


class Chosen(NamedTuple):
    """A span that was chosen."""

    start: int
    end: int
    number: int


def choose_spans(
    starts: Array, ends: Array, scores: Array, *, beam_size: int, delta: float
) -> list[tuple[int, float]]:
    """Choose spans by beam soft-NMS, of equals the first first.

    beam_size (int): How many selections are followed. With 1, the best span is chosen,
        and so on.
    delta (float): Least score of a span that overlaps one chosen before.
    RETURNS (List[Tuple[int, float]]): The spans of the selection with the best total,
        and what was left of their scores when they were chosen. They may overlap.
    """
    # What nothing has been taken from can be chosen, however small it is.
    floors = numpy.minimum(scores, delta)
    best = Selection(0.0, 0, None, scores)
    beam = [best]
    while beam:
        grown: dict[int, tuple[float, int, Selection]] = {}
        for selection in beam:
            best = max(best, selection, key=lambda s: s.total)
            options = numpy.flatnonzero(selection.left >= floors)
            order = numpy.argsort(-selection.left[options], kind="stable")
            for i in options[order[:beam_size]].tolist():
                mask = selection.mask | 1 << i
                total = selection.total + float(selection.left[i])
                if mask not in grown or total > grown[mask][0]:
                    grown[mask] = total, i, selection
        # The sort is stable, so that what was found first comes first among equals.
        kept = sorted(grown.values(), key=lambda step: -step[0])[:beam_size]
        beam = [_choose(selection, i, starts, ends) for _, i, selection in kept]
    found, chosen = [], best.chosen
    while chosen is not None:
        i, score, chosen = chosen
        found.append((i, score))
    return found[::-1]


def _choose(selection: Selection, i: int, starts: Array, ends: Array) -> Selection:
    total, mask, chosen, left = selection
    score = float(left[i])
    left = left * (1 - get_overlaps(starts, ends, i))
    left[i] = -1
    return Selection(total + score, mask | 1 << i, (i, score, chosen), left)


def get_overlaps(starts: Array, ends: Array, i: int) -> Array:
    """(M,) Return the intersection over union of each span with one of them."""
    common = numpy.minimum(ends, ends[i]) - numpy.maximum(starts, starts[i])
    common = numpy.maximum(common, 0)
    return common / (ends - starts + ends[i] - starts[i] - common)


def resolve_overlaps(
    starts: Array,
    ends: Array,
    scores: Array,
    contexts: Array,
    *,
    beam_size: int,
    delta: float,
) -> list[int]:
    """Choose spans of which no two overlap, in the order of the text. Of those that
    `choose_spans` has chosen and that still overlap, the one that had more left of its
    score is kept, then the longer, then the earlier.
    """
    chosen: list[tuple[int, float]] = []
    for group in group_spans(starts, ends, contexts):
        found = choose_spans(
            starts[group], ends[group], scores[group], beam_size=beam_size, delta=delta
        )
        chosen += [(int(group[i]), score) for i, score in found]
    ranks = sorted((-score, starts[i] - ends[i], starts[i], i) for i, score in chosen)
    spans = [Chosen(int(starts[i]), int(ends[i]), i) for *_, i in ranks]
    return [span.number for span in sorted(drop_overlaps(spans))]


def group_spans(starts: Array, ends: Array, contexts: Array) -> list[Array]:
    """Split spans into groups of which none overlaps another, the longest spans first,
    then the earliest. There are no groups over several contexts (of first tokens), so
    that they stay small in a long text.
    """
    if not len(starts):
        return []
    order = numpy.lexsort((starts, starts - ends))
    by_start = order[numpy.argsort(starts[order], kind="stable")]
    reached = numpy.maximum.accumulate(ends[by_start])[:-1]
    begins = starts[by_start][1:] >= reached
    begins |= contexts[by_start][1:] != contexts[by_start][:-1]
    numbers = numpy.zeros(len(starts), dtype="int64")
    numbers[by_start[1:]] = numpy.cumsum(begins)
    in_groups = order[numpy.argsort(numbers[order], kind="stable")]
    counts = numpy.bincount(numbers)
    return numpy.split(in_groups, numpy.cumsum(counts)[:-1])
