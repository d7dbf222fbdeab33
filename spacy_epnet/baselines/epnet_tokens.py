"""EP-Net without entities: prototypes of tokens, and types that depend on each other.

One of the paper's ablations. A token is a span of width 1. Which type follows which is
learned of the source, and handed to other types.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from thinc.api import Model

from ..epnet.adaptation import EPNetReport
from ..epnet.component import EPNetRecognizer
from ..epnet.decoding import MAX_STARTS, Winner, keep_best, prefer_probable
from ..epnet.head import measure_spans, project_spans
from ..epnet.settings import EPNetAdaptSettings, EPNetSettings
from ..epnet.types import HeadOutput, ModelInput
from ..recognizer.annotation import Prediction, split_by_doc
from ..recognizer.candidates import get_layout, iter_windows, make_spans
from ..recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ..recognizer.gold import Gold
from ..recognizer.task import AdaptTask
from ..types import Points, Spans, TokenVectors
from .tokens.io_tags import decode_runs
from .tokens.sequences import DependencySettings, SequenceRecognizer
from .tokens.transitions import Transfer

OWN_CONFIG = """
[component]
transfer = "copy"
temperature = 1.0
tau = 2.0
none_samples = 20
hard_nones = 0.0
dispersion_loss = true
overlaps = {"@misc": "spacy-epnet.prefer_near.v1"}

[component.model]
@architectures = "spacy-epnet.EPNet.v1"
max_width = 1
width_size = 25
prototype_size = 512
depth = 3
n_prototypes = 101
initial_dispersion = 2.0
similarity = "euclidean"
learn_rate_scale = 1.0
edges = false
"""


class TokenEPNetSettings(EPNetSettings, DependencySettings):
    """The settings of the component. See the factory for what they mean."""


@Language.factory(
    "epnet_tokens_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_epnet_tokens_ner(
    nlp: Language,
    name: str,
    model: Model[ModelInput, HeadOutput],
    transfer: Transfer,
    temperature: float,
    tau: float,
    none_samples: int,
    hard_nones: float,
    dispersion_loss: bool,
    overlaps: Callable,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct EP-Net with token-level prototypes: every token takes the type of the
    nearest prototype, the types of a sentence are chosen together, and a run of tokens
    of one type is an entity.

    model (Model[ModelInput, HeadOutput]): The model, see `spacy-epnet.EPNet.v1`, whose
        spans are single tokens.
    transfer (str): How transitions between types are handed to others: each is a "copy"
        of its abstract one, or those that have the same one share it evenly ("even").
    temperature (float): Power of the transitions. The smaller, the less they count.
    tau (float): Mean squared distance wanted between prototypes.
    none_samples (int): None tokens to sample from each sentence in an update.
    hard_nones (float): Without effect, because tokens don't overlap.
    dispersion_loss (bool): Whether to train the prototypes to be dispersed.
    overlaps (Callable[[Winner], float]): Without effect, too.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        TokenEPNetRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        transfer=transfer,
        temperature=temperature,
        tau=tau,
        none_samples=none_samples,
        hard_nones=hard_nones,
        dispersion_loss=dispersion_loss,
        overlaps=overlaps,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
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

    def learn(self, task: AdaptTask, settings: EPNetAdaptSettings) -> EPNetReport:
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
        """The labels of each generation, and how probable None and they are for each
        token: (T, columns).
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
