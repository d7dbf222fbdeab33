"""The spans of a batch, as arrays: where entities may lie, and what to train on.

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
from .gold import Gold, join_flags, number_sentences


class Layout(NamedTuple):
    """Where entities may lie in a batch of docs."""

    segments: Ints1d  # (T,) the sentence, or the doc, that a token belongs to
    edges: Bools1d  # (T,) whether an entity may begin or end in the token

    def cut(self, part: slice) -> "Layout":
        """Return the layout of a part of the batch."""
        return Layout(self.segments[part], self.edges[part])


def get_layout(docs: list[Doc], *, ops: Ops) -> Layout:
    """Find the stretches of a batch that no entity may leave.

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
    RETURNS (Spans): The first token and the width of each span.
    """
    return make_spans(list_starts(layout, max_width, ops=ops), ops=ops)


class SpanPool(NamedTuple):
    """What a batch offers to train on."""

    entities: Spans
    targets: Ints1d  # the column of each entity
    entity_sentences: Ints1d  # the sentence of each entity
    nones: Spans  # spans that are certainly none of these entities
    none_targets: Ints1d  # the column of each, which is None's or another type's
    none_sentences: Ints1d  # the sentence of each None span
    is_hard: Bools1d  # whether a None span overlaps an entity

    def take_nones(self, indices: Ints1d | Bools1d) -> "SpanPool":
        """Return a copy with some of the None spans only."""
        return self._replace(
            nones=self.nones[indices],
            none_targets=self.none_targets[indices],
            none_sentences=self.none_sentences[indices],
            is_hard=self.is_hard[indices],
        )

    def take_sentences(self, sentences: Ints1d, *, ops: Ops) -> "SpanPool":
        """Return the spans of some of the sentences."""
        xp: Any = ops.xp
        every = (self.entity_sentences, self.none_sentences)
        size = 1 + max(int(part.max()) for part in every if len(part))
        is_wanted = xp.zeros(size, dtype=bool)
        is_wanted[sentences] = True
        wanted = is_wanted[self.entity_sentences]
        return self._replace(
            entities=self.entities[wanted],
            targets=self.targets[wanted],
            entity_sentences=self.entity_sentences[wanted],
        ).take_nones(is_wanted[self.none_sentences])

    def flatten(self, *, ops: Ops) -> tuple[Spans, Ints1d]:
        """Return all spans, and the column of each. None's is 0."""
        xp: Any = ops.xp
        spans = xp.concatenate([self.entities, self.nones])
        return spans, xp.concatenate([self.targets, self.none_targets])


def get_span_pool(
    golds: list[Gold],
    layout: Layout,
    columns: dict[str, int],
    *,
    max_width: int,
    ops: Ops,
) -> SpanPool:
    """Find the entities of a batch and all other spans.

    layout (Layout): The layout of the batch.
    columns (Dict[str, int]): The column of the distances of each label.
    max_width (int): The longest None span.
    RETURNS (SpanPool): The spans.
    """
    xp: Any = ops.xp
    rows: list[tuple[int, int, int]] = []
    offset = 0
    for gold in golds:
        rows.extend(
            (offset + ent.start, ent.end - ent.start, columns[ent.label_])
            for ent in gold.ents
        )
        offset += len(gold.unknown)
    gold_rows = ops.asarray2i(rows) if rows else ops.alloc2i(0, 3)
    entities = gold_rows[:, :2]

    candidates = get_candidates(layout, max_width, ops=ops)
    unknown = xp.asarray(join_flags(gold.unknown for gold in golds))
    certain = _count_inside(candidates, unknown, ops=ops) == 0
    nones = candidates[certain & ~_is_among(candidates, entities, ops=ops)]
    taken = cover(entities, len(unknown), ops=ops)
    sentences = xp.asarray(number_sentences(golds))
    return SpanPool(
        entities,
        gold_rows[:, 2],
        sentences[entities[:, 0]],
        nones,
        ops.alloc1i(len(nones)),
        sentences[nones[:, 0]],
        _count_inside(nones, taken, ops=ops) > 0,
    )


def sample_nones(
    pool: SpanPool, *, count: int, hard_share: float, ops: Ops
) -> SpanPool:
    """Sample None spans from each sentence, without replacement.

    pool (SpanPool): The spans of the batch.
    count (int): How many None spans to sample from each sentence.
    hard_share (float): Share of them that is sampled from the spans that overlap an
        entity, as far as there are any.
    RETURNS (SpanPool): The same with the sampled None spans only.
    """
    xp: Any = ops.xp
    lots = xp.random.random(len(pool.nones))
    hard = xp.nonzero(pool.is_hard)[0]
    sentences = pool.none_sentences
    n_hard = round(hard_share * count)
    first = hard[take_per_group(sentences[hard], lots[hard], n_hard, ops=ops)]
    lots[first] -= 1
    return pool.take_nones(take_per_group(sentences, lots, count, ops=ops))


def take_per_group(groups: Ints1d, lots: Any, count: int, *, ops: Ops) -> Ints1d:
    """Take the members of each group that drew the smallest lots.

    groups (Ints1d): The group of each item.
    lots (Floats1d): The lot of each item.
    count (int): How many to take from each group, or all if it has fewer.
    RETURNS (Ints1d): Indices of the items taken.
    """
    xp: Any = ops.xp
    order = xp.lexsort(xp.stack([lots, groups]))
    in_order = groups[order]
    places = xp.arange(len(groups)) - xp.searchsorted(in_order, in_order)
    return order[places < count]


def cover(spans: Spans, length: int, *, ops: Ops) -> Bools1d:
    """Flag the tokens that are inside a span."""
    xp: Any = ops.xp
    begins = xp.bincount(spans[:, 0], minlength=length + 1)
    ends = xp.bincount(spans.sum(axis=1), minlength=length + 1)
    return xp.cumsum(begins - ends)[:-1] > 0


def _count_inside(spans: Spans, flags: Bools1d, *, ops: Ops) -> Ints1d:
    """Count how many of each span's tokens are flagged."""
    xp: Any = ops.xp
    until = xp.concatenate([ops.alloc1i(1), xp.cumsum(flags, dtype="i")])
    return until[spans[:, 0] + spans[:, 1]] - until[spans[:, 0]]


def _is_among(spans: Spans, others: Spans, *, ops: Ops) -> Bools1d:
    """Check whether each span is one of the others."""
    xp: Any = ops.xp
    keys = spans[:, 0].astype("int64") << 32 | spans[:, 1]
    wanted = others[:, 0].astype("int64") << 32 | others[:, 1]
    return xp.isin(keys, wanted)
