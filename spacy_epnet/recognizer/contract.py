"""The contract of the family: what each few-shot recognizer has to bring.

A recognizer is a pipeline component over token vectors. How it learns from examples,
recognizes entities and explains them is its own. All that can be done without knowing
that is done in `base.py`, once.
"""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, Span
from thinc.api import Model

from ..types import Points, Spans, TokenVectors
from .annotation import Prediction
from .gold import Gold
from .settings import AdaptSettings, ComponentConfig, ComponentSettings
from .task import AdaptTask, LearningReport


class Centers(NamedTuple):
    """Points that stand for types."""

    names: list[str | None]  # a label, None, or empty if it stands for no type yet
    points: Points


class Contract(TrainablePipe):
    """What adapting, measuring and explaining know of a recognizer.

    Its model has a reference "tok2vec" to the layer that makes token vectors.
    """

    # What a recognizer can be told: as a component, and when it is adapted.
    settings_type: ClassVar[type[ComponentSettings]] = ComponentSettings
    adapt_type: ClassVar[type[AdaptSettings]] = AdaptSettings
    # Ways to adapt it, as a config with a section for each.
    profiles: ClassVar[Path] = Path(__file__).with_name("profiles.cfg")
    # Whether learning new types trains the encoder, too.
    trains_encoder: ClassVar[bool] = False
    # Settings of an adaptation that can't be changed when types are added to others.
    fixed_when_extending: ClassVar[frozenset[str]] = frozenset()

    cfg: ComponentConfig
    model: Model
    # What was learned and isn't weights, in terms of JSON.
    learned: dict[str, Any]

    # What each recognizer has to bring

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether the model has weights."""

    @property
    @abstractmethod
    def limits(self) -> str:
        """RETURNS (str): What is true of entities that can't be predicted, such as
        "longer than 10 tokens"."""

    @abstractmethod
    def can_predict(self, ent: Span) -> bool:
        """Whether an entity could be predicted at all."""

    @abstractmethod
    def learn(self, task: AdaptTask, settings: Any) -> LearningReport:
        """Learn types from a support set. The labels are those to be known afterwards.

        task (AdaptTask): The support set, encoded.
        settings (AdaptSettings): How to go about it, see `adapt_type`.
        RETURNS (LearningReport): What to tell of it.
        """

    @abstractmethod
    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): What `encode` gave for them.
        RETURNS (List[List[Prediction]]): The entities of each doc, none overlapping.
        """

    @abstractmethod
    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Find where spans are in the space in which they are compared.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): What `encode` gave for them.
        spans (Spans): The spans.
        RETURNS (Points): A point for each. The squared distance tells how alike two
            spans are.
        """

    @abstractmethod
    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans.

        docs (List[Doc]): The docs.
        tokens (TokenVectors): What `encode` gave for them.
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

    # What a recognizer may add to

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        return {}

    def list_centers(self) -> Centers | None:
        """RETURNS (Optional[Centers]): What stands for each type in the space of
        `embed`: a point that is learned, or the mean of what is remembered. None if
        there is nothing like that.
        """
        return None

    def on_labels(self) -> None:
        """Called when `labels` has changed, for what depends on it."""

    def on_renamed(self, label: str, new: str) -> None:
        """Called when a label has another name, before `on_labels`."""

    def check_learned(self) -> None:
        """Raise an error if what was loaded doesn't fit together."""
