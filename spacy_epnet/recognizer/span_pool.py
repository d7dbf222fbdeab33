"""What a batch offers to train on: its entities, and spans that are nothing."""

from typing import Any, NamedTuple

import numpy
from thinc.api import Ops

from ..types import Bools1d, Ints1d, Spans
from .candidates import Layout, get_candidates
from .gold import Gold, number_sentences


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

    golds (List[Gold]): The annotation of each doc.
    layout (Layout): The layout of the batch.
    columns (Dict[str, int]): The column of the distances of each label.
    max_width (int): The longest None span.
    ops (Ops): Where the arrays are made.
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
    unknown = xp.asarray(numpy.concatenate([gold.unknown for gold in golds]))
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
    ops (Ops): Where the arrays are made.
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
    ops (Ops): Where the arrays are made.
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
