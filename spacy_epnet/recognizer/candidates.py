"""Candidate spans of a whole batch, as arrays.

A batch is its docs end to end, so a span is a first token, counted from the
start of the batch, and a width:

    docs         ["Ada Lovelace", "wrote"]
    segments     [0, 0, 1]
    candidates   [[0, 1], [1, 1], [2, 1], [0, 2]]     (max_width 2)
"""

from typing import Any

from thinc.api import Ops

from ..types import Ints1d, Spans
from .layout import Layout


def list_starts(
    layout: Layout, max_width: int, *, ops: Ops, n_starts: int | None = None
) -> list[Ints1d]:
    """List the first tokens of all spans of up to `max_width` tokens that lie inside
    one segment.

    layout (Layout): The batch, or a part of it.
    max_width (int): The longest span.
    ops (Ops): Where the arrays are made.
    n_starts (Optional[int]): How many of the tokens can be a span's first one.
        All by default.
    RETURNS (List[Ints1d]): The first tokens of the spans of each width, from 1.
    """
    xp: Any = ops.xp
    segments, edges = layout
    length = len(segments)
    if n_starts is None:
        n_starts = length
    starts = []
    for width in range(1, min(max_width, length) + 1):
        stop = min(n_starts, length - width + 1)
        last = slice(width - 1, width - 1 + stop)
        fits = (segments[:stop] == segments[last]) & edges[:stop] & edges[last]
        starts.append(xp.nonzero(fits)[0].astype("i"))
    return starts


def make_spans(starts: list[Ints1d], *, ops: Ops) -> Spans:
    """Make spans of the first tokens of each width, from 1."""
    xp: Any = ops.xp
    spans = [
        xp.stack([part, xp.full_like(part, width)], axis=1)
        for width, part in enumerate(starts, 1)
    ]
    return xp.concatenate(spans) if spans else ops.alloc2i(0, 2)


def get_candidates(layout: Layout, max_width: int, *, ops: Ops) -> Spans:
    """List all spans of up to `max_width` tokens inside one segment.

    layout (Layout): The batch.
    max_width (int): The longest span.
    ops (Ops): Where the arrays are made.
    RETURNS (Spans): The first token and the width of each span.
    """
    return make_spans(list_starts(layout, max_width, ops=ops), ops=ops)
