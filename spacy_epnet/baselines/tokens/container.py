"""CONTaiNER: tokens as Gaussians, trained to contrast, and the nearest token decides
(Das et al., 2022)."""

import math
from statistics import fmean
from typing import Any

import numpy
from spacy.tokens import Doc

from ...encoder.optimizer import make_adam
from ...errors import LearningError
from ...recognizer.factory import register_factory
from ...recognizer.task import (
    AdaptTask,
    LearningReport,
    has_stopped_falling,
    split_evenly,
)
from ...types import TokenVectors
from ..settings import ContainerSettings
from .gaussians import get_contrastive_loss
from .io_tags import tag_tokens
from .token_recognizer import NearestTokenRecognizer
from .transitions import SequenceRecognizer


class ContainerRecognizer(SequenceRecognizer, NearestTokenRecognizer):
    """Pipeline component for few-shot named entity recognition with CONTaiNER."""

    settings_type = ContainerSettings
    trains_encoder = True

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
        self, task: AdaptTask, settings: ContainerSettings.Adapt
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
        learning = super().learn(task._replace(tokens=tokens), settings)
        learning.summary = (
            f"{len(losses) - 1} steps, loss {losses[0]:.4f} to {losses[-1]:.4f}. "
            f"{learning.summary}"
        )
        learning.details |= {"steps": len(losses) - 1, "losses": losses}
        return learning


make_container_ner = register_factory("container_ner", ContainerRecognizer)
