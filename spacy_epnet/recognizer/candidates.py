"""Where entities may lie in a batch, and its candidate spans, as arrays.

A batch is its docs end to end, so a span is a first token, counted from the start of
the batch, and a width:

    docs         ["Ada Lovelace", "wrote"]
    segments     [0, 0, 1]
    candidates   [[0, 1], [1, 1], [2, 1], [0, 2]]     (max_width 2)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc
from thinc.api import Ops

from ..types import Bools1d, Ints1d, Spans


class Layout(NamedTuple):
    """Where entities may lie in a batch of docs."""

    segments: Ints1d  # (T,) the sentence, or the doc, that a token belongs to
    edges: Bools1d  # (T,) whether an entity may begin or end in the token

    def cut(self, part: slice) -> "Layout":
        """Return the layout of a part of the batch."""
        return Layout(self.segments[part], self.edges[part])


def get_layout(docs: list[Doc], *, ops: Ops) -> Layout:
    """Find the stretches of a batch that no entity may leave.

    docs (List[Doc]): The batch.
    ops (Ops): Where the arrays are made.
    RETURNS (Layout): The segment of each token, and whether it can be an edge.
    """
    attrs = numpy.concatenate(
        [doc.to_array([SENT_START, IS_SPACE]) for doc in docs]
        or [numpy.zeros((0, 2), dtype="uint64")]
    )
    begins = attrs[:, 0] == 1
    lengths = numpy.asarray([len(doc) for doc in docs if len(doc)], dtype="int64")
    begins[numpy.cumsum(lengths) - lengths] = True
    segments = numpy.cumsum(begins, dtype="i") - 1
    xp: Any = ops.xp
    return Layout(xp.asarray(segments), xp.asarray(attrs[:, 1] == 0))


def find_docs(starts: Ints1d, docs: list[Doc], *, ops: Ops) -> Ints1d:
    """Return the places in a batch of the docs in which tokens are."""
    xp: Any = ops.xp
    ends = xp.cumsum(xp.asarray([len(doc) for doc in docs]))
    return xp.searchsorted(ends, starts, side="right")


def find_begins(segments: Any) -> Any:
    """(T,) Check whether a token is the first of its segment.

    segments (numpy.ndarray): (T,) The segment of each token.
    """
    begins = numpy.ones(len(segments), dtype=bool)
    begins[1:] = segments[1:] != segments[:-1]
    return begins


def iter_windows(
    length: int, max_width: int, max_starts: int
) -> Iterator[tuple[slice, int]]:
    """Cut a batch into parts that can be scored one after the other.

    length (int): The tokens in the batch.
    max_width (int): The longest span.
    max_starts (int): How many tokens of a part can be a span's first one.
    YIELDS (Tuple[slice, int]): The tokens of the part, and how many of them are
        first tokens. The others are there for spans that reach over the cut.
    """
    for start in range(0, length, max_starts):
        n_starts = min(max_starts, length - start)
        stop = min(length, start + n_starts + max_width - 1)
        yield slice(start, stop), n_starts


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
