"""What examples say about the spans of a batch."""

import warnings
from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ORTH
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Ops

from .errors import Errors, Warnings
from .spans import Layout, get_candidates
from .types import Bools1d, Ints1d, Spans, Targets

MISSING = 0  # ENT_IOB of a token that nobody has annotated


class Gold(NamedTuple):
    """The annotation of one doc, in the tokens of the predicted doc."""

    ents: list[Span]  # entities that line up with the tokens
    unknown: Bools1d  # (tokens,) whether nothing certain is known of a token
    misaligned: list[Span]  # entities of the reference that don't line up


def read_gold(eg: Example) -> Gold:
    """Bring the entities of an example onto the tokens of its predicted doc.

    eg (Example): The example.
    RETURNS (Gold): Its entities, and the tokens of which nothing is known.
    """
    missing = eg.reference.to_array(ENT_IOB) == MISSING
    if _has_same_tokens(eg.predicted, eg.reference):
        return Gold(list(eg.reference.ents), missing, [])
    ents, misaligned = [], []
    for ent in eg.reference.ents:
        eg.predicted.vocab.strings.add(ent.label_)
        aligned = eg.get_aligned_spans_y2x([ent])
        if aligned:
            ents.extend(aligned)
        else:
            misaligned.append(ent)
            missing[ent.start : ent.end] = True
    to_reference = eg.alignment.x2y
    unknown = [bool(missing[to_reference[token.i]].any()) for token in eg.predicted]
    return Gold(ents, numpy.asarray(unknown, dtype=bool), misaligned)


class Census:
    """Counts what a corpus asks of a recogniser, before it is trained on it."""

    def __init__(self, max_width: int, *, sample_size: int = 10):
        """Begin a count.

        max_width (int): The longest entity that can be predicted, in tokens.
        sample_size (int): How many docs to keep as a sample.
        """
        self.max_width = max_width
        self.sample_size = sample_size
        self.labels: dict[str, None] = {}  # a set that keeps the order
        self.sample: list[Doc] = []
        self.aligned = 0
        self.unpredictable = 0
        self.misaligned: list[str] = []

    def add(self, eg: Example) -> None:
        """Count an example."""
        gold = read_gold(eg)
        if len(eg.predicted) and len(self.sample) < self.sample_size:
            self.sample.append(eg.predicted)
        self.labels.update(dict.fromkeys(ent.label_ for ent in eg.reference.ents))
        self.aligned += len(gold.ents)
        self.unpredictable += sum(
            not is_candidate(ent, self.max_width) for ent in gold.ents
        )
        self.misaligned.extend(ent.text for ent in gold.misaligned)

    def report(self, name: str) -> None:
        """Warn of the entities that are lost, or raise an error if all are.

        name (str): The name of the component, for the messages.
        """
        total = self.aligned + len(self.misaligned)
        if self.misaligned:
            if not self.aligned:
                raise ValueError(
                    Errors.EP008.format(
                        name=name, total=total, example=self.misaligned[0]
                    )
                )
            warnings.warn(
                Warnings.WP002.format(
                    name=name,
                    count=len(self.misaligned),
                    total=total,
                    percent=100 * len(self.misaligned) / total,
                    example=self.misaligned[0],
                ),
                stacklevel=3,
            )
        if self.unpredictable:
            warnings.warn(
                Warnings.WP001.format(
                    name=name,
                    count=self.unpredictable,
                    total=total,
                    percent=100 * self.unpredictable / total,
                    max_width=self.max_width,
                ),
                stacklevel=3,
            )


def is_candidate(ent: Span, max_width: int) -> bool:
    """Whether an entity can be predicted."""
    is_short = ent.end - ent.start <= max_width
    return is_short and not (ent[0].is_space or ent[-1].is_space)


def _has_same_tokens(one: Doc, other: Doc) -> bool:
    return len(one) == len(other) and bool(
        (one.to_array(ORTH) == other.to_array(ORTH)).all()
    )


class SpanPool(NamedTuple):
    """What a batch offers to train on."""

    entities: Spans
    targets: Targets  # the column of each entity
    entity_segments: Ints1d  # the sentence of each entity
    nones: Spans  # spans that are certainly none of these entities
    none_targets: Targets  # the column of each, which is None's or another type's
    none_segments: Ints1d  # the sentence of each None span
    is_hard: Bools1d  # whether a None span overlaps an entity

    def take_nones(self, indices: Ints1d | Bools1d) -> "SpanPool":
        """The same with some of the None spans only."""
        return self._replace(
            nones=self.nones[indices],
            none_targets=self.none_targets[indices],
            none_segments=self.none_segments[indices],
            is_hard=self.is_hard[indices],
        )

    def take_segments(self, segments: Ints1d, *, ops: Ops) -> "SpanPool":
        """The spans of some of the sentences."""
        xp: Any = ops.xp
        every = (self.entity_segments, self.none_segments)
        size = 1 + max(int(part.max()) for part in every if len(part))
        is_wanted = xp.zeros(size, dtype=bool)
        is_wanted[segments] = True
        wanted = is_wanted[self.entity_segments]
        return self._replace(
            entities=self.entities[wanted],
            targets=self.targets[wanted],
            entity_segments=self.entity_segments[wanted],
        ).take_nones(is_wanted[self.none_segments])

    def flatten(self, *, ops: Ops) -> tuple[Spans, Targets]:
        """All spans, and the column of each. None's is 0."""
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
    return SpanPool(
        entities,
        gold_rows[:, 2],
        layout.segments[entities[:, 0]],
        nones,
        ops.alloc1i(len(nones)),
        layout.segments[nones[:, 0]],
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
    segments = pool.none_segments
    n_hard = round(hard_share * count)
    first = hard[take_per_group(segments[hard], lots[hard], n_hard, ops=ops)]
    lots[first] -= 1
    return pool.take_nones(take_per_group(segments, lots, count, ops=ops))


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
    """How many of each span's tokens are flagged."""
    xp: Any = ops.xp
    until = xp.concatenate([ops.alloc1i(1), xp.cumsum(flags, dtype="i")])
    return until[spans[:, 0] + spans[:, 1]] - until[spans[:, 0]]


def _is_among(spans: Spans, others: Spans, *, ops: Ops) -> Bools1d:
    """Whether each span is one of the others."""
    xp: Any = ops.xp
    keys = spans[:, 0].astype("int64") << 32 | spans[:, 1]
    wanted = others[:, 0].astype("int64") << 32 | others[:, 1]
    return xp.isin(keys, wanted)
