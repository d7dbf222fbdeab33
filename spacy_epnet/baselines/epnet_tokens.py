"""EP-Net without entities: prototypes of tokens, and types that depend on each other.

One of the paper's ablations. A token is a span of width 1. Which type follows which is
learned of the source, and handed to other types.
"""

from typing import Any

from spacy.tokens import Doc, Span

from ..epnet.component import EPNetRecognizer, EPNetReport
from ..epnet.decoding import MAX_STARTS
from ..epnet.model import measure_spans, project_spans
from ..epnet.settings import EPNetSettings
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.spans import iter_windows, make_spans
from ..recognizer.task import AdaptTask
from ..types import Points, TokenVectors
from .settings import TokenEPNetSettings
from .tokens.transitions import SequenceRecognizer


class TokenEPNetRecognizer(SequenceRecognizer, EPNetRecognizer):
    """Pipeline component for EP-Net with token-level prototypes: every token of an
    entity is taken for an entity.
    """

    settings_type = TokenEPNetSettings
    fixed_when_extending = frozenset()

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from the tokens of a batch. See the base."""
        return super().update_model(docs, list(map(split_entities, golds)))

    def learn(self, task: AdaptTask, settings: EPNetSettings.Adapt) -> EPNetReport:
        """Learn from the tokens of a support set. See the base."""
        golds = list(map(split_entities, task.golds))
        return super().learn(task._replace(golds=golds), settings)

    def represent(self, tokens: TokenVectors) -> Points:
        """Project tokens, as spans of width 1. See the base."""
        ops: Any = self.model.ops
        every = ops.xp.arange(len(tokens), dtype="i")
        head = self.model.get_ref("head")
        return project_spans(head, tokens, make_spans([every], ops=ops))

    def rate_tokens(self, tokens: TokenVectors) -> list[tuple[list[str], Any]]:
        """Compare tokens with the prototypes of each generation. See the base."""
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


def split_entities(gold: Gold) -> Gold:
    """Return the annotation with each token of an entity as an entity."""
    tokens = [
        Span(ent.doc, token.i, token.i + 1, label=ent.label_)
        for ent in gold.ents
        for token in ent
    ]
    return gold._replace(ents=tokens)


make_epnet_tokens_ner = register_factory("epnet_tokens_ner", TokenEPNetRecognizer)
