"""What every few-shot recognizer does."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, set_dropout_rate

from ..corpora.mixing import get_corpus
from ..encoder.forking import survive_forks
from ..encoder.listeners import count_unfed, get_listeners, get_upstream, is_connected
from ..encoder.optimizer import scale_rates
from ..encoder.vectors import open_tokens
from ..errors import PipelineError, SettingError
from ..types import TokenVectors
from .annotation import Prediction, write_predictions
from .gold import GoldStatistics, read_gold
from .labeled import LabeledRecognizer
from .settings import ComponentConfig


class FewShotRecognizer(LabeledRecognizer):
    """Encodes, trains and writes entities."""

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        *,
        scorer: Callable | None,
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

    # Prediction

    @property
    def spans_key(self) -> str:
        """RETURNS (str): Key of `doc.spans` for the predictions with their scores."""
        return self.cfg["spans_key"] or self.name

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
        if not all(is_connected(listener) for listener in get_listeners(self.model)):
            raise PipelineError(
                f"Can't initialize '{self.name}': the width of the token vectors is "
                "unknown, because no component feeds its listener. Add a transformer "
                f"before it with nlp.add_pipe('transformer', before='{self.name}'), or "
                "give the model a tok2vec layer of its own."
            )
        statistics = GoldStatistics(self.can_predict)
        for eg in get_examples():
            statistics.add(eg)
        if isinstance(labels, str):
            raise SettingError(
                f"'{self.name}' can't take {labels!r} as a label, or for a list of "
                "labels. A label is a string that isn't empty."
            )
        corpora: Mapping[str, Iterable[str]] = (
            statistics.corpora if labels is None else {}
        )
        if isinstance(labels, Mapping):
            # What is given may be iterators, which can be read once.
            corpora = {corpus: list(own) for corpus, own in labels.items()}
            labels = dict.fromkeys(label for own in corpora.values() for label in own)
        labels = list(statistics.labels if labels is None else labels)
        for label in labels:
            self._check_label(label)
        self._check_known(statistics.labels, {*labels, *self.labels})
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
        self._check_fed(docs, is_train=True)
        golds = [read_gold(eg) for eg in examples]
        self._check_known(
            (ent.label_ for gold in golds for ent in gold.ents), self.labels
        )
        self._check_corpora(docs)
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

    # Checks

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise PipelineError(
                f"'{self.name}' isn't initialized. Call nlp.initialize(), or load a "
                "trained pipeline."
            )

    def _check_fed(self, docs: list[Doc], *, is_train: bool) -> None:
        for listener in get_listeners(self.model):
            count = count_unfed(listener, docs, is_train=is_train)
            if count:
                raise PipelineError(
                    f"'{self.name}' has no token vectors to work on, because "
                    f"'{get_upstream(listener)}' hasn't run on {count} of the "
                    f"{len(docs)} docs. Put the {get_upstream(listener)} before "
                    f"'{self.name}' in the pipeline and don't disable it. If it is "
                    "frozen during training, list it under [training] "
                    "annotating_components as well."
                )

    def _check_corpora(self, docs: list[Doc]) -> None:
        for corpus in {*map(get_corpus, docs)} - {None, *self.corpora}:
            known = ", ".join(self.corpora) or "no corpora"
            raise PipelineError(
                f"Can't train '{self.name}' on docs from the corpus '{corpus}', "
                "because it doesn't know which types are marked in it. It knows: "
                f"{known}. Give the labels of all corpora under "
                f"[initialize.components.{self.name}.labels], as configs/mixed.cfg "
                "does."
            )

    def _check_known(self, labels: Iterable[str], known: Iterable[str]) -> None:
        unknown = {*labels} - {*known}
        if unknown:
            raise PipelineError(
                f"Can't train '{self.name}' on entities with labels it doesn't "
                f"have: {', '.join(sorted(unknown))}. It has: {', '.join(known)}. "
                "Add the missing ones with add_label(), initialize the component "
                "with examples that have them, or remove them from the data."
            )
