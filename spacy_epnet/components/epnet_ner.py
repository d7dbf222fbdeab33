"""The `epnet_ner` component: entities by the nearest prototype."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Model, Optimizer, set_dropout_rate

from ..decoding import Entity, Winner, drop_overlaps, get_winners
from ..errors import Errors
from ..gold import Census, get_training_spans, read_gold
from ..losses import get_dispersion_loss, get_span_loss
from ..models.epnet import get_table_size
from ..spans import get_candidates, get_layout, iter_windows
from ..types import HeadOutput, ModelInput, Targets
from .recognizer import FewShotRecognizer

DEFAULT_CONFIG = """
[epnet_ner]
tau = 2.0
none_samples = 20
dispersion_loss = true
overlaps = "distance"
threshold = 0.0
overwrite_ents = false
spans_key = null
scorer = {"@scorers": "spacy.ner_scorer.v1"}

[epnet_ner.model]
@architectures = "spacy-epnet.EPNet.v1"
max_width = 10
width_size = 25
prototype_size = 512
depth = 3
n_prototypes = 101
initial_dispersion = 2.0
similarity = "euclidean"
learn_rate_scale = 1.0

[epnet_ner.model.tok2vec]
@architectures = "spacy-transformers.TransformerListener.v1"
grad_factor = 1.0
upstream = "*"
pooling = {"@layers": "reduce_mean.v1"}
"""

# Candidates are scored for this many first tokens at a time, so that memory
# doesn't grow with the length of a doc or the number of docs in a batch.
MAX_STARTS = 1024

MERITS: dict[str, Callable[[Winner], float]] = {
    "distance": lambda winner: -winner.distance,
    "probability": lambda winner: winner.probability,
}


@Language.factory(
    "epnet_ner",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config=Config().from_str(DEFAULT_CONFIG)["epnet_ner"],
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    },
)
def make_epnet_ner(
    nlp: Language,
    name: str,
    model: Model[ModelInput, HeadOutput],
    tau: float,
    none_samples: int,
    dispersion_loss: bool,
    overlaps: Literal["distance", "probability"],
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct an EP-Net recogniser: every span of up to `max_width` tokens takes
    the type of the nearest prototype.

    model (Model[ModelInput, HeadOutput]): The model, see `spacy-epnet.EPNet.v1`.
    tau (float): Mean squared distance at which the prototypes are to be held.
    none_samples (int): None spans to sample from each sentence in an update.
    dispersion_loss (bool): Whether to train the prototypes to be dispersed.
    overlaps (str): What decides between overlapping predictions: the smaller
        "distance" or the larger "probability".
    threshold (float): Least probability of a predicted entity.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return EPNetRecognizer(
        nlp.vocab,
        model,
        name,
        tau=tau,
        none_samples=none_samples,
        dispersion_loss=dispersion_loss,
        overlaps=overlaps,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
        scorer=scorer,
    )


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
        dispersion_loss: bool = True,
        overlaps: Literal["distance", "probability"] = "distance",
        threshold: float = 0.0,
        overwrite_ents: bool = False,
        spans_key: str | None = None,
        scorer: Callable | None = None,
    ):
        """Initialize the recogniser. See `make_epnet_ner` for the settings."""
        _check("tau", tau, tau >= 0, "0 or a number above 0")
        _check("none_samples", none_samples, none_samples >= 0, "0 or a number above 0")
        _check("threshold", threshold, 0 <= threshold <= 1, "a probability")
        _check("overlaps", overlaps, overlaps in MERITS, " or ".join(MERITS))
        super().__init__(
            vocab,
            model,
            name,
            scorer=scorer,
            tau=tau,
            none_samples=none_samples,
            dispersion_loss=dispersion_loss,
            overlaps=overlaps,
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
        self._check_initialized()
        self._check_fed(docs, is_train=False)
        merit = MERITS[self.cfg["overlaps"]]
        labels = self.labels
        entities: list[list[Entity]] = [[] for _ in docs]
        ends = numpy.cumsum([len(doc) for doc in docs])
        for start, end, column, _, score in drop_overlaps(
            self.get_winners(docs), merit
        ):
            i = int(numpy.searchsorted(ends, start, side="right"))
            offset = int(ends[i]) - len(docs[i])
            label = labels[column - 1]
            entities[i].append(Entity(start - offset, end - offset, label, score))
        return entities

    def get_winners(self, docs: list[Doc]) -> list[Winner]:
        """Find the spans of a batch that are nearer to a type than to None.

        docs (List[Doc]): The batch.
        RETURNS (List[Winner]): The spans, counted from the start of the batch. They
            may overlap.
        """
        if not any(len(doc) for doc in docs):
            return []
        ops = self.model.ops
        head = self.model.get_ref("head")
        tokens = self.model.get_ref("encoder").predict(docs)
        layout = get_layout(docs, ops=ops)
        rows = self.rows
        winners = []
        for window, n_starts in iter_windows(len(tokens), self.max_width, MAX_STARTS):
            spans = get_candidates(
                layout.cut(window), self.max_width, ops=ops, n_starts=n_starts
            )
            distances, _ = head.predict((tokens[window], spans, rows))
            spans[:, 0] += window.start
            winners += get_winners(
                spans, distances, threshold=self.cfg["threshold"], ops=ops
            )
        return winners

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
        spans, targets = get_training_spans(
            golds,
            get_layout(docs, ops=ops),
            {label: i for i, label in enumerate(self.labels, 1)},
            max_width=self.max_width,
            none_samples=self.cfg["none_samples"],
            ops=ops,
        )
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        set_dropout_rate(self.model, drop)
        outputs, backprop = self.model.begin_update((docs, spans, self.rows))
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
        self.model.initialize(X=(docs, self.model.ops.alloc2i(0, 2), self.rows))
        self.set_output(int(self.rows.max()) + 1)

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
