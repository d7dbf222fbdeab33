"""EP-Net without entities: prototypes of tokens, and types that depend on each other.

One of the paper's ablations. A token is a span of width 1. Which type follows which is
learned of the source, and handed to other types.
"""

from dataclasses import replace
from typing import Any

from pydantic import Field
from spacy.tokens import Doc, Span

from ..epnet.component import EPNetRecognizer, EPNetReport
from ..epnet.decoding import MAX_STARTS, Winner, keep_best, prefer_probable
from ..epnet.model import measure_spans, project_spans
from ..epnet.settings import EPNetSettings
from ..recognizer.annotation import Prediction, split_by_doc
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.spans import get_layout, iter_windows, make_spans
from ..recognizer.task import AdaptTask
from ..types import Points, Spans, TokenVectors
from .tokens.io_tags import decode_runs
from .tokens.sequences import SequenceRecognizer
from .tokens.settings import TransitionSettings
from .tokens.transitions import Transfer


class TokenEPNetSettings(EPNetSettings, TransitionSettings):
    """EP-Net with token-level prototypes: each token takes the type of the nearest
    prototype, the types of a sentence are chosen together, and a run of tokens of one
    type is an entity.
    """

    hard_nones: float = Field(
        0.0, ge=0, le=0, description="Always 0: tokens don't overlap."
    )
    transfer: Transfer = Field(
        "copy", description=TransitionSettings.model_fields["transfer"].description
    )
    temperature: float = Field(
        1.0,
        gt=0,
        description=TransitionSettings.model_fields["temperature"].description,
    )

    class Model(EPNetSettings.Model):
        """The settings of the model."""

        max_width: int = Field(
            1, ge=1, le=1, description="Always 1: a span is a token."
        )
        edges: bool = Field(
            False,
            description="Whether a token is also its own first and last token, which "
            "adds nothing.",
        )


class TokenEPNetRecognizer(SequenceRecognizer, EPNetRecognizer):
    """Pipeline component for EP-Net with token-level prototypes: every token of an
    entity is taken for an entity.
    """

    settings_type = TokenEPNetSettings

    @property
    def max_entity_width(self) -> None:
        """RETURNS (None): Entities are runs of any length. See the base."""

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from the tokens of a batch. See the base."""
        return super().update_model(docs, list(map(split_entities, golds)))

    def learn(self, task: AdaptTask, settings: EPNetSettings.Adapt) -> EPNetReport:
        """Learn from the tokens of a support set. See the base."""
        golds = list(map(split_entities, task.golds))
        return super().learn(replace(task, golds=golds), settings)

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        if not len(tokens):
            return [[] for _ in docs]
        ops = self.model.ops
        layout = get_layout(docs, ops=ops)
        names = list(self.labels)
        found = [
            Winner(p.start, p.end, names.index(p.label) + 1, 0.0, p.score)
            for labels, probabilities in self._rate_tokens(tokens)
            for p in decode_runs(
                probabilities,
                self.choose_columns(probabilities, layout),
                layout,
                labels,
                threshold=self.cfg["threshold"],
                ops=ops,
            )
        ]
        predictions = [
            Prediction(w.start, w.end, names[w.column - 1], w.probability)
            for w in keep_best(found, prefer_probable)
        ]
        return split_by_doc(predictions, docs)

    def _rate_tokens(self, tokens: TokenVectors) -> list[tuple[list[str], Any]]:
        """Return the labels of each generation, and the probabilities (T, columns) of
        None and of these labels for each token.
        """
        ops, head = self.model.ops, self.model.get_ref("head")
        xp: Any = ops.xp
        parts: list[list[Any]] = [[] for _ in self.generations]
        for window, n_tokens in iter_windows(len(tokens), 1, MAX_STARTS):
            spans = make_spans([xp.arange(n_tokens, dtype="i")], ops=ops)
            measured = measure_spans(head, tokens[window], spans, self.rows_in_use)
            for part, distances in zip(parts, measured, strict=True):
                part.append(ops.softmax(-distances, axis=1))
        return [
            (list(labels), xp.concatenate(part))
            for labels, part in zip(self.generations, parts, strict=True)
        ]

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Take the mean over the projected tokens of each span. See the base."""
        xp: Any = self.model.ops.xp
        ops, every = self.model.ops, xp.arange(len(tokens), dtype="i")
        head = self.model.get_ref("head")
        points = project_spans(head, tokens[:], make_spans([every], ops=ops))
        return xp.stack([points[s : s + w].mean(axis=0) for s, w in spans.tolist()])

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans: the mean over their tokens,
        and under None that no generation takes it for an entity. See the base.
        """
        found: list[dict[str | None, float]] = [{None: 1.0} for _ in spans]
        for labels, probabilities in self._rate_tokens(tokens):
            for scores, (start, width) in zip(found, spans.tolist(), strict=True):
                mean = probabilities[start : start + width].mean(axis=0).tolist()
                scores[None] = min(scores[None], mean[0])
                scores.update(zip(labels, mean[1:], strict=True))
        return found


def split_entities(gold: Gold) -> Gold:
    """Return the annotation with each token of an entity as an entity."""
    tokens = [
        Span(ent.doc, token.i, token.i + 1, label=ent.label_)
        for ent in gold.ents
        for token in ent
    ]
    return gold._replace(ents=tokens)


make_epnet_tokens_ner = register_factory("epnet_tokens_ner", TokenEPNetRecognizer)
