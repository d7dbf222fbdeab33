"""ESD as a pipeline component: spans by how they compare with remembered ones.

As the paper has it (Wang et al., 2022), but for this:

- A support set is remembered once, and what is asked comes in batches of any size. So
  spans of the support set see each other rather than those that are asked about, and
  what is predicted doesn't depend on the batch.
- None spans are sampled, in training and of a support set.
- Spans of very long sentences see those of a part of it, see `contexts.py`.
- No two predictions overlap. Of those that beam soft-NMS chooses and that still do, the
  better ones are kept, see `decoding.py`.
"""

from collections.abc import Iterator
from typing import Any

from spacy.tokens import Doc
from thinc.types import Floats2d

from ..._compat import get_network
from ...recognizer.annotation import Prediction, split_by_doc
from ...recognizer.factory import register_factory
from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import (
    Layout,
    find_docs,
    get_candidates,
    get_layout,
    get_span_pool,
    sample_nones,
)
from ...recognizer.task import AdaptTask, LearningReport
from ...types import Ints1d, Points, Spans, TokenVectors
from ..means import choose_half
from ..memory import MemoryRecognizer
from ..settings import ESDSettings
from .contexts import Part, iter_parts, number_contexts
from .esd_model import Episode, Recollection, measure, recall, represent_spans, see
from .nones import N_KINDS, find_kinds, get_loss, get_probabilities
from .soft_nms import resolve_overlaps


class ESDRecognizer(MemoryRecognizer):
    """Pipeline component for few-shot named entity recognition with ESD."""

    settings_type = ESDSettings
    none_columns, none_share = N_KINDS, 5

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recognizer. See the factory for the settings."""
        super().__init__(*args, **kwargs)
        self._recollection: Recollection | None = None

    @property
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether there are weights and a memory."""
        return super().is_ready and get_network(self._layer.shims[0]) is not None

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest candidate span, in tokens."""
        return self.model.attrs["max_width"]

    # Recognition

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        xp: Any = self.model.ops.xp
        layout = get_layout(docs, ops=self.model.ops)
        found = [self.model.ops.alloc2i(0, 3)], [self.model.ops.alloc1f(0)]
        for part in self._iter_parts(tokens, layout):
            points = represent_spans(self._layer, part, part.candidates)
            probabilities = get_probabilities(self._measure(points))
            columns, best = probabilities.argmax(axis=1), probabilities.max(axis=1)
            wins = (columns > 0) & (best >= self.cfg["threshold"])
            starts, widths = part.candidates[wins].T
            starts = starts + part.offset
            found[0].append(xp.stack([starts, starts + widths, columns[wins]], axis=1))
            found[1].append(best[wins])
        spans, scores = (self.model.ops.to_numpy(xp.concatenate(f)) for f in found)
        contexts = number_contexts(self.model.ops.to_numpy(layout.segments))
        kept = resolve_overlaps(
            spans[:, 0],
            spans[:, 1],
            scores,
            contexts[spans[:, 0]],
            beam_size=self.cfg["beam_size"],
            delta=self.cfg["delta"],
        )
        labels = ["", *self.labels]  # column 0 is None's
        predictions = [
            Prediction(start, end, labels[column], score)
            for (start, end, column), score in zip(
                spans[kept].tolist(), scores[kept].tolist(), strict=True
            )
        ]
        return split_by_doc(predictions, docs)

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Describe spans as they see their context and the memory. See the base."""
        points = self._represent(docs, tokens, spans)
        return see(self._layer, points, self.memory.vectors)

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans. See the base."""
        points = self._represent(docs, tokens, spans)
        names = [None, *self.labels]
        rows = get_probabilities(self._measure(points)).tolist()
        return [dict(zip(names, row, strict=True)) for row in rows]

    @property
    def _layer(self) -> Any:
        return self.model.get_ref("span_attention")

    def _iter_parts(
        self, tokens: TokenVectors, layout: Layout, *, reach: int = 0
    ) -> Iterator[Part]:
        ops = self.model.ops
        return iter_parts(tokens, layout, self.max_width, ops=ops, reach=reach)

    def _represent(self, docs: list[Doc], tokens: TokenVectors, spans: Any) -> Points:
        """(M, d) Describe any spans of a batch as they see their context."""
        points: Any = self.model.ops.alloc2f(len(spans), self.model.attrs["span_size"])
        if not len(spans):
            return points
        layout = get_layout(docs, ops=self.model.ops)
        starts = spans[:, 0]
        for part in self._iter_parts(tokens, layout, reach=int(spans[:, 1].max())):
            own = (starts >= part.offset) & (starts < part.offset + part.n_starts)
            if own.any():
                shifted = spans[own]
                shifted[:, 0] -= part.offset
                points[own] = represent_spans(self._layer, part, shifted)
        return points

    def _measure(self, points: Points) -> Floats2d:
        """(M, 1 + types) Distances of spans, which have seen their context only, to
        what is remembered.
        """
        layer, (vectors, columns) = self._layer, self.memory
        self._recollection = recall(layer, vectors, self._recollection)
        seen = see(layer, points, vectors)
        return measure(layer, seen, self._recollection.seen, columns, self.n_columns)

    # Learning

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Let one half of the docs be the support set of the other, up to the
        gradients. See the base.
        """
        ops = self.model.ops
        tokens, backprop_tokens = self.model.begin_update(docs)
        layout = get_layout(docs, ops=ops)
        spans, columns = self._sample_spans(
            golds,
            layout,
            self.columns,
            count=self.cfg["none_samples"],
            hard_share=self.cfg["hard_nones"],
        )
        contexts: Any = ops.asarray(number_contexts(ops.to_numpy(layout.segments)))
        candidates = get_candidates(layout, self.max_width, ops=ops)
        episode = Episode(
            spans,
            contexts[spans[:, 0]],
            candidates,
            contexts[candidates[:, 0]],
            columns,
            choose_half(find_docs(spans[:, 0], docs, ops=ops)),
            self.n_columns,
        )
        (distances, points), backprop = self._layer.begin_update((tokens, episode))
        loss, d_distances = get_loss(distances, columns)
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        backprop_tokens(backprop(d_distances) if loss else tokens * 0)
        self.remember_batch(points, columns)
        return {self.name: loss}

    def learn(self, task: AdaptTask, settings: ESDSettings.Adapt) -> LearningReport:
        """Remember the spans of the support set. See the base."""
        layout = get_layout(task.docs, ops=self.model.ops)
        # Examples of types that stay aren't remembered again.
        columns = {**dict.fromkeys(self.labels, UNKNOWN), **self.number_new(task)}
        spans, targets = self._sample_spans(
            task.golds,
            layout,
            columns,
            count=settings.none_samples,
            hard_share=settings.hard_nones,
        )
        points = self._represent(task.docs, task.tokens, spans)
        if task.extends and self.labels:
            # What isn't marked may be of an old type.
            taken = get_probabilities(self._measure(points)).argmax(axis=1) > 0
            targets[(targets < N_KINDS) & taken] = UNKNOWN
        return self.remember_support(
            task, points, targets, unit="spans", what="{} entities and {} other spans"
        )

    def _sample_spans(
        self,
        golds: list[Gold],
        layout: Layout,
        columns: dict[str, int],
        *,
        count: int,
        hard_share: float,
    ) -> tuple[Spans, Ints1d]:
        """Sample spans of a batch, and find the column of each: its kind of None, or
        its type.
        """
        ops, max_width = self.model.ops, self.max_width
        pool = get_span_pool(golds, layout, columns, max_width=max_width, ops=ops)
        length = len(layout.segments)
        kinds = find_kinds(pool.nones, pool.entities, length, ops=ops)
        pool = pool._replace(none_targets=kinds)
        pool = sample_nones(pool, count=count, hard_share=hard_share, ops=ops)
        return pool.flatten(ops=ops)


make_esd_ner = register_factory("esd_ner", ESDRecognizer)
