"""What every few-shot recogniser does."""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ..encoder.forking import survive_forks
from ..encoder.listeners import count_unfed, get_listeners, get_upstream, is_connected
from ..encoder.vectors import open_tokens
from ..errors import Errors
from ..types import TokenVectors
from .annotation import Prediction, write_predictions
from .gold import Census, Gold, read_gold
from .saving import SavedRecognizer
from .settings import ComponentConfig


class FewShotRecognizer(SavedRecognizer):
    """Owns the labels and the support set, encodes, trains and writes entities."""

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        scorer: Callable | None,
        **settings: Any,
    ):
        """Initialize the recogniser.

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
        # What was learned and isn't weights, in terms of JSON.
        self.learned: dict[str, Any] = {"labels": [], "support": []}

    # Labels and the support set

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The labels, in the order they were added."""
        return tuple(self.learned["labels"])

    @property
    def label_data(self) -> list[str]:
        """RETURNS (List[str]): What `spacy init labels` writes for the component."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a label.

        label (str): The label to add.
        RETURNS (int): 0 if the label is there already, otherwise 1.
        """
        self._check_label(label)
        if label in self.labels:
            return 0
        self.set_labels([*self.labels, label])
        return 1

    def remove_label(self, label: str) -> None:
        """Forget a label.

        label (str): The label to remove.
        """
        self._check_has(label)
        for example in self.learned["support"]:
            example["ents"] = [ent for ent in example["ents"] if ent[-1] != label]
        self.set_labels([other for other in self.labels if other != label])

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name, and leave all else as it is.

        label (str): The label to rename.
        new (str): Its new name.
        """
        self._check_label(new)
        self._check_has(label)
        if new == label:
            return
        if new in self.labels:
            raise ValueError(Errors.EP018.format(name=self.name, label=label, new=new))
        names = {label: new}
        for example in self.learned["support"]:
            ents = example["ents"]
            example["ents"] = [[*span, names.get(old, old)] for *span, old in ents]
        self.learned["labels"] = [names.get(old, old) for old in self.labels]
        self.on_renamed(label, new)
        self.set_labels(self.labels)

    def set_labels(self, labels: Iterable[str]) -> None:
        """Exchange all labels.

        labels (Iterable[str]): The labels. What was learned of those that aren't among
            them is forgotten.
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

    # Prediction

    @property
    def spans_key(self) -> str:
        """RETURNS (str): Key of `doc.spans` for the predictions with their scores."""
        return self.cfg["spans_key"] or self.name

    def predict(self, docs: Iterable[Doc]) -> list[list[Prediction]]:
        """Recognise the entities of a batch of docs, without modifying them.

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
        self._check_fed(docs, is_train=False)
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
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        if not all(is_connected(listener) for listener in get_listeners(self.model)):
            raise ValueError(Errors.EP005.format(name=self.name))
        census = Census(self.can_predict)
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
        census.report(self.name, self.limits)
        self.set_labels(dict.fromkeys([*self.labels, *labels]))
        self.initialize_model(census.sample or [Doc(self.vocab, words=["token"])])

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
        self._check_fed(docs, is_train=True)
        golds = [read_gold(eg) for eg in examples]
        self._check_known(
            (ent.label_ for gold in golds for ent in gold.ents), self.labels
        )
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

    # Checks

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise ValueError(Errors.EP006.format(name=self.name))

    def _check_fed(self, docs: list[Doc], *, is_train: bool) -> None:
        for listener in get_listeners(self.model):
            count = count_unfed(listener, docs, is_train=is_train)
            if count:
                raise ValueError(
                    Errors.EP004.format(
                        name=self.name,
                        upstream=get_upstream(listener),
                        count=count,
                        total=len(docs),
                    )
                )

    def _check_label(self, label: Any) -> None:
        if not isinstance(label, str) or not label.strip():
            raise ValueError(Errors.EP002.format(name=self.name, label=label))

    def _check_has(self, label: str) -> None:
        if label not in self.labels:
            known = ", ".join(self.labels)
            raise ValueError(
                Errors.EP019.format(name=self.name, label=label, labels=known)
            )

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
