"""The base class of all few-shot recognizers.

A recognizer is a pipeline component over token vectors. How it learns from examples,
recognizes entities and explains them is its own: these methods are abstract. All else
is here, once.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate
from thinc.types import Floats1d

from ..encoder.optimizer import scale_rates
from ..encoder.vectors import open_tokens
from ..errors import LoadingError, PipelineError, SettingError
from ..hashes import HASHES, HASHES_FIELD, add_hashes, check_hashes
from ..processes import survive_forks
from ..types import Points, Spans, TokenVectors
from .annotation import Prediction, write_predictions
from .checks import (
    check_connected,
    check_corpora,
    check_fed,
    check_has_label,
    check_known,
    check_label,
    check_labels,
)
from .gold import Gold, GoldStatistics, read_gold
from .settings import ComponentConfig, RecognizerSettings
from .task import AdaptTask, LearningReport


class Centers(NamedTuple):
    """Points that stand for types."""

    names: list[str | None]  # a label, None, or empty if it stands for no type yet
    points: Points


class FewShotRecognizer(TrainablePipe):
    """Base class of components for few-shot named entity recognition.

    Its model has a reference "tok2vec" to the layer that makes token vectors.
    """

    # The settings of the component, and those of an adaptation.
    settings_type: ClassVar[type[RecognizerSettings]] = RecognizerSettings
    # Whether learning new types trains the encoder, too.
    trains_encoder: ClassVar[bool] = False
    # Settings of an adaptation that can't be changed when types are added to others.
    fixed_when_extending: ClassVar[frozenset[str]] = frozenset()

    cfg: ComponentConfig
    model: Model[Any, Any]
    # What was learned and isn't weights, in terms of JSON.
    learned: dict[str, Any]

    def __init__(
        self,
        vocab: Vocab,
        model: Model[Any, Any],
        name: str,
        *,
        scorer: Callable[..., Any] | None,
        **settings: Any,
    ):
        """Initialize the recognizer.

        vocab (Vocab): The shared vocabulary.
        model (thinc.api.Model): The model powering the component.
        name (str): The component instance name.
        scorer (Optional[Callable]): The scoring method.
        **settings: The settings, see `settings_type`.
        """
        survive_forks()
        super().__init__(vocab, model, name)
        self.cfg = ComponentConfig(self.settings_type, settings)
        self.scorer = scorer
        self.learned = {"labels": [], "support": [], "corpora": {}}

    # What each recognizer has to bring

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether the model has weights."""

    @abstractmethod
    def learn(self, task: AdaptTask, settings: Any) -> LearningReport:
        """Learn types from a support set. The labels are those to be known afterwards.

        task (AdaptTask): The support set, encoded.
        settings (AdaptSettings): The settings of the adaptation, see `settings_type`.
        RETURNS (LearningReport): What was learned.
        """

    @abstractmethod
    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): Their token vectors, from `encode`.
        RETURNS (List[List[Prediction]]): The entities of each doc, none overlapping.
        """

    @abstractmethod
    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Map spans to the space in which they are compared.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): Their token vectors, from `encode`.
        spans (Spans): The spans.
        RETURNS (Points): A point for each span. The squared distance of two tells how
            alike the spans are.
        """

    @abstractmethod
    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): Their token vectors, from `encode`.
        spans (Spans): The spans.
        RETURNS (List[Dict[Optional[str], float]]): For each span the probability of
            each label, and under None that of no entity.
        """

    @abstractmethod
    def initialize_model(self, docs: list[Doc]) -> None:
        """Make the weights, for the labels that are there.

        docs (List[Doc]): A sample.
        """

    @abstractmethod
    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch of the source domain, up to the gradients.

        docs (List[Doc]): The batch.
        golds (List[Gold]): The annotation of each doc.
        RETURNS (Dict[str, float]): The loss, or the parts that `loss_parts` names.
        """

    # What a recognizer may change

    @property
    def max_entity_width(self) -> int | None:
        """RETURNS (Optional[int]): The longest entity that can be predicted, in tokens,
        or None if there is no limit.
        """
        return self.model.attrs.get("max_width")

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        return {}

    @property
    def knows_names(self) -> bool:
        """RETURNS (bool): Whether it can learn a type from its name alone."""
        return False

    def list_names(
        self, labels: list[str], texts: Mapping[str, str]
    ) -> list[tuple[str, ...]]:
        """List the names of types that `learn` needs to know the vectors of.

        labels (List[str]): The types to learn.
        texts (Mapping[str, str]): What types are in words, if it is known.
        RETURNS (List[Tuple[str, ...]]): The names, those of a tuple encoded together.
        """
        return []

    def list_centers(self) -> Centers | None:
        """List what stands for each type in the space of `embed`: a point that is
        learned, or the mean of what is remembered.

        RETURNS (Optional[Centers]): The points, or None if there are none.
        """
        return None

    def get_training_state(self) -> dict[str, Floats1d]:
        """RETURNS (Dict[str, Floats1d]): What training resumes with beside weights."""
        return {}

    def set_training_state(self, state: dict[str, Floats1d]) -> None:
        """Restore what training depends on beside the weights.

        state (Dict[str, Floats1d]): What `get_training_state` has returned.
        """

    def continue_from(self, source: "FewShotRecognizer") -> None:
        """Begin with what another recognizer has learned."""
        raise PipelineError(
            f"'{self.name}' can't continue from another recognizer's training."
        )

    def on_labels(self) -> None:
        """Called when `labels` has changed, for what depends on it."""

    def on_renamed(self, label: str, new: str) -> None:
        """Called when a label has another name, before `on_labels`."""

    def check_learned(self) -> None:
        """Raise an error if what was loaded doesn't fit together."""

    # Prediction

    @property
    def spans_key(self) -> str:
        """RETURNS (str): Key of `doc.spans` for the predictions with their scores."""
        return self.cfg["spans_key"] or self.name

    @property
    def limits(self) -> str:
        """RETURNS (str): Which entities can't be predicted, in words."""
        edges = "beginning or ending in whitespace"
        width = self.max_entity_width
        if width is None:
            return edges
        return f"longer than max_width = {width} tokens, or {edges}"

    def can_predict(self, ent: Span) -> bool:
        """Check whether an entity could be predicted at all."""
        width = self.max_entity_width
        is_short = width is None or ent.end - ent.start <= width
        return is_short and not (ent[0].is_space or ent[-1].is_space)

    def predict(self, docs: Iterable[Doc]) -> list[list[Prediction]]:
        """Recognize the entities of a batch of docs, without modifying them.

        docs (Iterable[Doc]): The docs.
        RETURNS (List[List[Prediction]]): The entities of each doc, none overlapping.
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
        self._check_ready()
        check_fed(self.name, self.model, docs, is_train=False)
        if not any(len(doc) for doc in docs):
            return self.model.ops.alloc2f(0, 0)
        return open_tokens(self.model.get_ref("tok2vec"), docs)

    def set_annotations(
        self, docs: Iterable[Doc], scores: list[list[Prediction]]
    ) -> None:
        """Write predicted entities to `doc.ents`, and all of them with their
        probabilities to `doc.spans`.

        Entities that are there already stay, and a prediction that overlaps one is
        in `doc.spans` only. With `overwrite_ents` it is the other way round, and
        what was replaced is in `doc.spans` under the key with "_replaced" added.
        Tokens blocked by an earlier component never become part of an entity.

        docs (Iterable[Doc]): The docs to modify.
        scores (List[List[Prediction]]): The entities of each doc, from `predict`.
        """
        overwrite = self.cfg["overwrite_ents"]
        for doc, predictions in zip(docs, scores, strict=True):
            write_predictions(doc, predictions, key=self.spans_key, overwrite=overwrite)

    # Training on a source domain

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
    ) -> None:
        """Initialize the component for training.

        get_examples (Callable[[], Iterable[Example]]): Returns a representative
            sample of examples.
        nlp (Optional[Language]): The pipeline the component is part of.
        labels (Union[Mapping[str, Iterable[str]], Iterable[str], None]): The labels,
            usually from the file that `spacy init labels` writes, or those of each
            corpus if there are several. If there are none, they are those of the
            entities in the examples.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        check_connected(self.name, self.model)
        statistics = GoldStatistics(self.can_predict)
        for eg in get_examples():
            statistics.add(eg)
        corpora: Mapping[str, Iterable[str]] = (
            statistics.corpora if labels is None else {}
        )
        if isinstance(labels, Mapping):
            # The values may be iterators, which can be read once.
            corpora = {corpus: list(own) for corpus, own in labels.items()}
            labels = dict.fromkeys(label for own in corpora.values() for label in own)
        labels = check_labels(
            self.name, statistics.labels if labels is None else labels
        )
        check_known(self.name, statistics.labels, {*labels, *self.labels})
        if not labels and not self.labels:
            raise PipelineError(
                f"Can't initialize '{self.name}': there are no labels. Pass examples "
                "whose reference docs have entities, give the labels in the config's "
                f"[initialize.components.{self.name}] block, or call add_label() first."
            )
        statistics.report(self.name, self.limits)
        self.learned["corpora"] |= {name: list(own) for name, own in corpora.items()}
        self.set_labels(dict.fromkeys([*self.labels, *labels]))
        self.initialize_model(statistics.sample or [Doc(self.vocab, words=["token"])])

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
        validate_examples(examples, f"{type(self).__name__}.update")
        self._check_ready()
        docs = [eg.predicted for eg in examples]
        check_fed(self.name, self.model, docs, is_train=True)
        golds = [read_gold(eg) for eg in examples]
        found = (ent.label_ for gold in golds for ent in gold.ents)
        check_known(self.name, found, self.labels)
        check_corpora(self.name, docs, self.corpora)
        if not any(len(doc) for doc in docs):
            return losses
        set_dropout_rate(self.model, drop)
        parts = self.update_model(docs, golds)
        if sgd is not None:
            self.finish_update(sgd)
        losses[self.name] += sum(parts.values())
        for part, key in self.loss_parts.items():
            losses[key] += parts[part]
        return losses

    def finish_update(self, sgd: Optimizer) -> None:
        """Move the weights, some of them faster than others.

        sgd (Optimizer): The optimizer.
        """
        self.model.finish_update(scale_rates(sgd, self.model))

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise PipelineError(
                f"'{self.name}' isn't initialized. Call nlp.initialize(), or load a "
                "trained pipeline."
            )

    # Labels, and the support set that is kept

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The labels, in the order they were added."""
        return tuple(self.learned["labels"])

    @property
    def columns(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The number of each label where None is 0."""
        return {label: i for i, label in enumerate(self.labels, 1)}

    @property
    def label_data(self) -> list[str] | dict[str, list[str]]:
        """RETURNS (Union[List[str], Dict[str, List[str]]]): The labels that `spacy init
        labels` writes for the component, of each corpus if it learned from several.
        """
        return dict(self.corpora) or list(self.labels)

    @property
    def corpora(self) -> dict[str, list[str]]:
        """RETURNS (Dict[str, List[str]]): The labels of each corpus that it was trained
        on, if there were several with types of their own.
        """
        return self.learned["corpora"]

    def add_label(self, label: str) -> int:
        """Add a label.

        label (str): The label to add.
        RETURNS (int): 0 if the label is there already, otherwise 1.
        """
        check_label(self.name, label)
        if label in self.labels:
            return 0
        self.set_labels([*self.labels, label])
        return 1

    def remove_label(self, label: str) -> None:
        """Forget a label.

        label (str): The label to remove.
        """
        check_has_label(self.name, label, self.labels)
        for example in self.learned["support"]:
            example["ents"] = [ent for ent in example["ents"] if ent[-1] != label]
        self.set_labels([other for other in self.labels if other != label])

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name, and leave all else as it is.

        label (str): The label to rename.
        new (str): Its new name.
        """
        check_label(self.name, new)
        check_has_label(self.name, label, self.labels)
        if new == label:
            return
        if new in self.labels:
            raise SettingError(
                f"'{self.name}' can't rename {label} to {new}, because it has a label "
                "of that name already. Remove or rename that one first."
            )
        names = {label: new}
        for example in self.learned["support"]:
            ents = example["ents"]
            example["ents"] = [[*span, names.get(old, old)] for *span, old in ents]
        for corpus, own in self.corpora.items():
            self.corpora[corpus] = [names.get(old, old) for old in own]
        self.learned["labels"] = [names.get(old, old) for old in self.labels]
        self.on_renamed(label, new)
        self.set_labels(self.labels)

    def set_labels(self, labels: Iterable[str]) -> None:
        """Exchange all labels.

        labels (Iterable[str]): The labels. What was learned of others is forgotten.
        """
        self.learned["labels"] = list(labels)
        for label in self.labels:
            self.vocab.strings.add(label)
        self.on_labels()

    def remember(self, docs: list[Doc], golds: list[Gold]) -> None:
        """Keep a support set, beside those that are kept, to explain predictions.

        docs (List[Doc]): The docs.
        golds (List[Gold]): Their annotation.
        """
        self.learned["support"] += [
            {
                "words": [token.text for token in doc],
                "spaces": [bool(token.whitespace_) for token in doc],
                "ents": [[ent.start, ent.end, ent.label_] for ent in gold.ents],
            }
            for doc, gold in zip(docs, golds, strict=True)
        ]

    def forget(self) -> None:
        """Drop all support sets that are kept."""
        self.learned["support"] = []

    # Saving. The settings are saved with the pipeline, in its config.

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to a bytestring.

        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (bytes): The serialized component.
        """
        vocab = {"vocab": lambda: self.vocab.to_bytes(exclude=exclude)}
        parts = {**self._get_parts(exclude), **util.to_dict(vocab, exclude)}
        return srsly.msgpack_dumps(parts)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Serialize the component to disk.

        path (Union[str, Path]): The folder.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        """
        vocab = {"vocab": lambda p: self.vocab.to_disk(p, exclude=exclude)}
        folder = util.to_disk(path, vocab, exclude)
        for name, data in self._get_parts(exclude).items():
            (folder / name).write_bytes(data)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component from a bytestring.

        bytes_data (bytes): The serialized component, from `to_bytes`.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """

        def load() -> None:
            parts = srsly.msgpack_loads(bytes_data)
            vocab = {"vocab": lambda b: self.vocab.from_bytes(b, exclude=exclude)}
            util.from_dict(parts, vocab, exclude)
            self._set_parts(parts, exclude)

        return self._load_all_or_nothing(load)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component from disk.

        path (Union[str, Path]): The folder, from `to_disk`.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """

        def load() -> None:
            vocab = {"vocab": lambda p: self.vocab.from_disk(p, exclude=exclude)}
            folder = util.from_disk(path, vocab, exclude)
            files = [folder / name for name in ("learned", "model", HASHES)]
            parts = {f.name: f.read_bytes() for f in files if f.is_file()}
            self._set_parts(parts, exclude)

        return self._load_all_or_nothing(load)

    def _get_parts(self, exclude: Iterable[str]) -> dict[str, bytes]:
        writers = {
            "learned": lambda: srsly.json_dumps(self.learned, indent=2).encode("utf8"),
            "model": self.model.to_bytes,
        }
        parts = util.to_dict(writers, exclude)
        return parts if HASHES_FIELD in exclude else add_hashes(parts)

    def _set_parts(self, parts: dict[str, bytes], exclude: Iterable[str]) -> None:
        readers = {
            "learned": lambda b: self._set_learned(srsly.json_loads(b)),
            "model": lambda b: self.model.from_bytes(b),
        }
        missing = {*readers} - {*exclude, *parts}
        if missing:
            raise ValueError(f"{' and '.join(sorted(missing))} is missing")
        if HASHES_FIELD not in exclude:
            check_hashes(parts, self.name, exclude=exclude)
        util.from_dict(parts, readers, exclude)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        missing = set(self.learned) - set(learned)
        if missing:
            raise ValueError(f"{', '.join(sorted(missing))} is missing")
        self.learned = learned
        for label in self.labels:
            self.vocab.strings.add(label)

    def _load_all_or_nothing(self, load: Callable[[], None]) -> Self:
        model, learned = self.model, self.learned
        try:
            if self.is_ready:
                # There are weights to lose, so try it on a copy first.
                self.model = deepcopy(model)
                load()
                self.check_learned()
                self.model = model
            load()
            self.check_learned()
        except Exception as err:
            self.model, self.learned = model, learned
            if isinstance(err, OSError):
                raise
            reason = " ".join(str(err).split()) or type(err).__name__
            raise LoadingError(
                f"Can't load the weights of '{self.name}': {reason}. The file is "
                "damaged or was written by another kind of component or with other "
                "settings. Nothing was changed."
            ) from err
        return self
