"""EP-Net as a pipeline component: entities by the nearest prototype."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ..decoding import Entity, Winner, drop_overlaps
from ..errors import Errors
from ..gold import Census, get_span_pool, read_gold, sample_nones
from ..losses import get_dispersion_loss, get_span_loss
from ..models.epnet import get_table_size
from ..models.head import measure_spans
from ..models.windows import open_tokens
from ..search import find_winners
from ..spans import get_layout
from ..types import HeadOutput, ModelInput, Spans, Targets, TokenVectors
from .recognizer import FewShotRecognizer

DECISIONS = ("nearest", "any")

MERITS: dict[str, Callable[[Winner], float]] = {
    "distance": lambda winner: -winner.distance,
    "probability": lambda winner: winner.probability,
    "certainty": lambda winner: winner.certainty,
}


class EPNetRecognizer(FewShotRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    def __init__(
        self,
        vocab: Vocab,
        model: Model[ModelInput, HeadOutput],
        name: str = "epnet_ner",
        *,
        tau: float = 2.0,
        none_samples: int = 20,
        hard_nones: float = 0.0,
        dispersion_loss: bool = True,
        overlaps: Literal["distance", "probability", "certainty"] = "distance",
        decision: Literal["nearest", "any"] = "nearest",
        none_bias: float = 0.0,
        threshold: float = 0.0,
        overwrite_ents: bool = False,
        spans_key: str | None = None,
        scorer: Callable | None = None,
    ):
        """Initialize the recogniser. See the factory for the settings."""
        _check("tau", tau, tau >= 0, "0 or a number above 0")
        _check("none_samples", none_samples, none_samples >= 0, "0 or a number above 0")
        _check("hard_nones", hard_nones, 0 <= hard_nones <= 1, "a share")
        _check("threshold", threshold, 0 <= threshold <= 1, "a probability")
        _check("overlaps", overlaps, overlaps in MERITS, " or ".join(MERITS))
        _check("decision", decision, decision in DECISIONS, " or ".join(DECISIONS))
        super().__init__(
            vocab,
            model,
            name,
            scorer=scorer,
            tau=tau,
            none_samples=none_samples,
            hard_nones=hard_nones,
            dispersion_loss=dispersion_loss,
            overlaps=overlaps,
            decision=decision,
            none_bias=none_bias,
            threshold=threshold,
            overwrite_ents=overwrite_ents,
            spans_key=spans_key,
        )

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest entity that can be predicted, in tokens."""
        return self.model.attrs["max_width"]

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        return {"L_s": f"{self.name}_spans", "L_d": f"{self.name}_dispersion"}

    def predict(self, docs: Iterable[Doc]) -> list[list[Entity]]:
        """Recognise the entities of a batch of docs, without modifying them.

        docs (Iterable[Doc]): The docs.
        RETURNS (List[List[Entity]]): The entities of each doc, none overlapping.
        """
        docs = list(docs)
        return self.recognize(docs, self._open(docs))

    def encode(self, docs: list[Doc]) -> TokenVectors:
        """Make the token vectors of a batch of docs, which don't depend on the types.

        docs (List[Doc]): The docs.
        RETURNS (TokenVectors): Their vectors, to be used as often as wanted.
        """
        return self._open(docs)[:]

    def _open(self, docs: list[Doc]) -> TokenVectors:
        self._check_initialized()
        self._check_fed(docs, is_train=False)
        if not any(len(doc) for doc in docs):
            return self.model.ops.alloc2f(0, 0)
        return open_tokens(self.model.get_ref("tok2vec"), docs)

    def recognize(self, docs: list[Doc], tokens: TokenVectors) -> list[list[Entity]]:
        """Recognise the entities of docs that are encoded already.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): What `encode` gave for them.
        RETURNS (List[List[Entity]]): The entities of each doc, none overlapping.
        """
        entities: list[list[Entity]] = [[] for _ in docs]
        ends = numpy.cumsum([len(doc) for doc in docs])
        generations = find_winners(
            self.model.get_ref("head"),
            tokens,
            get_layout(docs, ops=self.model.ops),
            self.rows,
            max_width=self.max_width,
            decision=self.cfg["decision"],
            none_bias=self.cfg["none_bias"],
            threshold=self.cfg["threshold"],
        )
        merit = MERITS[self.cfg["overlaps"]]
        kept: list[Winner] = []
        n_older = 0
        for types, winners in zip(self.generations, generations, strict=True):
            kept += [
                winner._replace(column=n_older + winner.column)
                for winner in drop_overlaps(winners, merit)
            ]
            n_older += len(types)
        labels = ["", *self.labels]  # column 0 is None's
        for winner in drop_overlaps(kept, MERITS["distance"]):
            i = int(numpy.searchsorted(ends, winner.start, side="right"))
            offset = int(ends[i]) - len(docs[i])
            start, end = winner.start - offset, winner.end - offset
            label = labels[winner.column]
            entities[i].append(Entity(start, end, label, winner.probability))
        return entities

    def get_probabilities(
        self, tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans.

        tokens (TokenVectors): The batch.
        spans (Spans): The spans.
        RETURNS (List[Dict[Optional[str], float]]): For each span the probability of
            each label among those of its generation. Under None the probability that
            no generation takes it for an entity.
        """
        head = self.model.get_ref("head")
        found: list[dict[str | None, float]] = [{None: 1.0} for _ in spans]
        measured = measure_spans(head, tokens, spans, self.rows)
        for labels, distances in zip(self.generations, measured, strict=True):
            logits = -distances
            logits[:, 0] -= self.cfg["none_bias"]
            likelihoods = self.model.ops.softmax(logits, axis=1)
            for scores, row in zip(found, likelihoods.tolist(), strict=True):
                scores[None] = min(scores[None], row[0])
                scores.update(zip(labels, row[1:], strict=True))
        return found

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples.

        examples (Iterable[Example]): The batch.
        drop (float): The dropout rate.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[Dict[str, float]]): Record of the losses, added to under the
            component's name, and under the names in `loss_parts` for its parts.
        RETURNS (Dict[str, float]): The updated losses.
        """
        examples = list(examples)
        losses = {} if losses is None else losses
        for key in (self.name, *self.loss_parts.values()):
            losses.setdefault(key, 0.0)
        validate_examples(examples, "EPNetRecognizer.update")
        self._check_initialized()
        docs = [eg.predicted for eg in examples]
        self._check_fed(docs, is_train=True)
        golds = [read_gold(eg) for eg in examples]
        self._check_known(
            (ent.label_ for gold in golds for ent in gold.ents), self.labels
        )
        if not any(len(doc) for doc in docs):
            return losses
        ops = self.model.ops
        pool = get_span_pool(
            golds,
            get_layout(docs, ops=ops),
            {label: i for i, label in enumerate(self.labels, 1)},
            max_width=self.max_width,
            ops=ops,
        )
        pool = sample_nones(
            pool,
            count=self.cfg["none_samples"],
            hard_share=self.cfg["hard_nones"],
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        set_dropout_rate(self.model, drop)
        outputs, backprop = self.model.begin_update((docs, spans, self.all_rows))
        parts, d_outputs = self.get_loss(examples, (targets, outputs))
        backprop(d_outputs)
        if sgd is not None:
            self.finish_update(sgd)
        losses[self.name] += sum(parts.values())
        for part, key in self.loss_parts.items():
            losses[key] += parts[part]
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: tuple[Targets, HeadOutput]
    ) -> tuple[dict[str, float], HeadOutput]:
        """Find the loss and its gradient.

        examples (Iterable[Example]): The batch.
        scores (Tuple[Targets, HeadOutput]): The targets of the spans chosen from it,
            and what the model gave for them.
        RETURNS (Tuple[Dict[str, float], HeadOutput]): The parts of the loss, and its
            gradient with respect to the model's outputs.
        """
        targets, (distances, prototypes) = scores
        span_loss, d_distances = get_span_loss(distances, targets)
        if self.cfg["dispersion_loss"] and len(targets):
            dispersion, d_prototypes = get_dispersion_loss(prototypes, self.cfg["tau"])
        else:
            dispersion, d_prototypes = 0.0, prototypes * 0
        return {"L_s": span_loss, "L_d": dispersion}, (d_distances, d_prototypes)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        """Initialize the component for training.

        get_examples (Callable[[], Iterable[Example]]): Returns a representative
            sample of examples.
        nlp (Optional[Language]): The pipeline the component is part of.
        labels (Optional[Iterable[str]]): The labels, usually from the file that
            `spacy init labels` writes. If there are none, they are those of the
            entities in the examples.
        """
        validate_get_examples(get_examples, "EPNetRecognizer.initialize")
        self._check_connected()
        census = Census(self.max_width)
        for eg in get_examples():
            census.add(eg)
        if isinstance(labels, str):
            raise ValueError(Errors.EP002.format(name=self.name, label=labels))
        labels = list(census.labels if labels is None else labels)
        for label in labels:
            self._check_label(label)
        self._check_known(census.labels, {*labels, *self.labels})
        if not labels and not self.labels:
            raise ValueError(Errors.EP001.format(name=self.name))
        census.report(self.name)
        for label in labels:
            self.add_label(label)
        docs = census.sample or [Doc(self.vocab, words=["token"])]
        rows = self.all_rows
        self.model.initialize(X=(docs, self.model.ops.alloc2i(0, 2), rows))
        self.set_output(int(rows.max()) + 1)

    def _check_initialized(self) -> None:
        if get_table_size(self.model) is None:
            raise ValueError(Errors.EP006.format(name=self.name))

    def _check_known(self, labels: Iterable[str], known: Iterable[str]) -> None:
        unknown = {*labels} - {*known}
        if unknown:
            raise ValueError(
                Errors.EP003.format(
                    name=self.name,
                    unknown=", ".join(sorted(unknown)),
                    labels=", ".join(known),
                )
            )


def _check(setting: str, value: Any, is_valid: bool, expected: str) -> None:
    if not is_valid:
        raise ValueError(
            Errors.EP009.format(setting=setting, value=value, expected=expected)
        )
