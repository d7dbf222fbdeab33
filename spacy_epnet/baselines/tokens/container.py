"""CONTaiNER: tokens as Gaussians, trained to contrast, and the nearest token decides
(Das et al., 2022)."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy
from pydantic import Field
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from ...encoder.optimizer import make_adam
from ...errors import LearningError
from ...recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ...recognizer.settings import AdaptSettings
from ...recognizer.task import (
    AdaptTask,
    LearningReport,
    has_stopped_falling,
    split_evenly,
)
from ...types import TokenVectors
from .gaussians import Distance, get_contrastive_loss
from .io_tags import tag_tokens
from .nearest import NearestTokenRecognizer
from .sequences import SequenceRecognizer, SequenceSettings
from .transitions import Transfer

OWN_CONFIG = """
[component]
memory_size = 100
distance = "divergence"
transfer = "even"
temperature = 0.01

[component.model]
@architectures = "spacy-epnet.TokenGaussians.v1"
embedding_size = 128
learn_rate_scale = 1.0
"""


class ContainerSettings(SequenceSettings):
    """The settings of the component. See the factory for what they mean."""

    distance: Distance


class ContainerAdaptSettings(AdaptSettings):
    """The settings of an adaptation, which trains the encoder, too.

    lr (float): The learning rate.
    max_steps (int): Steps that are never exceeded, each over the whole support set.
    patience (int): Stop when the loss, without dropout, hasn't fallen for as many
        steps. 0 for never.
    distance (str): The component's setting of that name from then on.
    dropout (float): The dropout rate.
    """

    lr: float = Field(gt=0)
    max_steps: int = Field(ge=0)
    patience: int = Field(ge=0)
    distance: Distance
    dropout: float = Field(ge=0, lt=1)


@Language.factory(
    "container_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_container_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    memory_size: int,
    distance: Distance,
    transfer: Transfer,
    temperature: float,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a token-level recognizer by contrastive learning: tokens of one type
    are taught to have like Gaussians, in training and on the support set, with the
    encoder. Then a token takes the type of the nearest one, by the encoder's own
    vectors, and the types of a sentence are chosen together.

    model (Model[List[Doc], TokenVectors]): The model, see
        `spacy-epnet.TokenGaussians.v1`.
    memory_size (int): Tokens of each type that are remembered from a training.
    distance (str): What is trained to be small between tokens of one type: the
        "divergence" of their Gaussians, or the distance of their "means".
    transfer (str): How transitions between types are handed to others: each is a "copy"
        of its abstract one, or those that have the same one share it evenly ("even").
    temperature (float): Power of the transitions. The smaller, the less they count.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        ContainerRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        memory_size=memory_size,
        distance=distance,
        transfer=transfer,
        temperature=temperature,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class ContainerRecognizer(SequenceRecognizer, NearestTokenRecognizer):
    """Pipeline component for few-shot named entity recognition with CONTaiNER."""

    settings_type = ContainerSettings
    adapt_type = ContainerAdaptSettings
    profiles = Path(__file__).with_name("container.cfg")
    trains_encoder = True

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make an empty memory and what makes Gaussians. See the base."""
        super().initialize_model(docs)
        self.model.get_ref("gaussians").initialize(X=self.memory.vectors)

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Contrast tokens of different types. See the base."""
        gaussians, backprop = self.model.get_ref("gaussians")(tokens, is_train=True)
        loss, gradient = get_contrastive_loss(gaussians, columns, self.cfg["distance"])
        return loss, backprop(gradient)

    def measure_loss(self, task: AdaptTask, tokens: TokenVectors) -> float:
        """Find the loss of a support set as it is encoded now, without dropout."""
        ends = numpy.cumsum([len(doc) for doc in task.docs]).tolist()
        losses = []
        for part in split_evenly([len(doc) for doc in task.docs]):
            tags = tag_tokens(task.golds[part], self.columns)
            end = ends[part][-1]
            gaussians = self.model.get_ref("gaussians").predict(
                tokens[end - len(tags) : end]
            )
            columns = self.model.ops.asarray(tags)
            loss, _ = get_contrastive_loss(gaussians, columns, self.cfg["distance"])
            losses.append(loss)
        return fmean(losses)

    def learn(
        self, task: AdaptTask, settings: ContainerAdaptSettings
    ) -> LearningReport:
        """Train the whole pipeline on the support set, and remember its tokens. Types
        that join others are only remembered, because what is remembered of the others
        depends on the encoder as it is. See the base.
        """
        training = task.training
        if training is None:
            return super().learn(task, settings)
        self.cfg["distance"] = settings.distance
        # Those of the source are of more texts.
        transitions = self.learned["transitions"]
        self.set_labels(task.labels)
        tokens = task.tokens
        losses = [self.measure_loss(task, tokens)]
        optimizer = make_adam(settings.lr, L2=0.01, use_averages=False)
        while len(losses) <= settings.max_steps:
            training.update(optimizer, settings.dropout)
            tokens = training.encode()
            losses.append(self.measure_loss(task, tokens))
            if not math.isfinite(losses[-1]):
                steps, lr = len(losses) - 1, settings.lr
                raise LearningError(
                    f"The loss is no number any more after {steps} steps, so nothing "
                    f"was learned. The learning rate is too high: {lr}. Lower adapt.lr."
                )
            task.on_step(len(losses) - 1, losses[-1])
            if has_stopped_falling(losses, settings.patience):
                break
        self.learned["transitions"] = transitions
        learning = super().learn(replace(task, tokens=tokens), settings)
        learning.summary = (
            f"{len(losses) - 1} steps, loss {losses[0]:.4f} to {losses[-1]:.4f}. "
            f"{learning.summary}"
        )
        learning.details |= {"steps": len(losses) - 1, "losses": losses}
        return learning
