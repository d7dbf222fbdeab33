"""NNShot: tokens take the type of the nearest token (Yang and Katiyar, 2020)."""

from typing import Any, ClassVar

from spacy.tokens import Doc
from thinc.api import get_array_module

from ...recognizer.distances import get_cross_entropy
from ...recognizer.factory import register_factory
from ...recognizer.gold import UNKNOWN
from ...recognizer.settings import RecognizerSettings
from ...types import TokenVectors
from ..settings import NNShotSettings
from .token_model import set_classes
from .token_recognizer import NearestTokenRecognizer


class NNShotRecognizer(NearestTokenRecognizer):
    """Pipeline component for few-shot named entity recognition with NNShot."""

    settings_type: ClassVar[type[RecognizerSettings]] = NNShotSettings

    def on_labels(self) -> None:
        """Give the classifier a class for each label. See the base."""
        if self.is_ready:
            width = self.memory.vectors.shape[1]
            before, after = self.learned["memory_labels"], list(self.labels)
            set_classes(self.model.get_ref("classifier"), width, before, after)
        super().on_labels()

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make an empty memory and the classifier. See the base."""
        super().initialize_model(docs)
        self.on_labels()

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Classify tokens. See the base."""
        classifier = self.model.get_ref("classifier")
        scores, backprop = classifier(tokens, is_train=True)
        loss, d_scores = get_token_loss(scores, columns)
        return loss, backprop(d_scores)


def get_token_loss(scores: Any, columns: Any) -> tuple[float, Any]:
    """Find the mean cross-entropy of tokens whose column is known, and its gradient
    with respect to their scores for each column. Both are zero if nothing is known.
    """
    xp: Any = get_array_module(scores)
    known = columns != UNKNOWN
    gradient = xp.zeros_like(scores)
    if not known.any():
        return 0.0, gradient
    loss, gradient[known] = get_cross_entropy(scores[known], columns[known])
    return loss, gradient


make_nnshot_ner = register_factory("nnshot_ner", NNShotRecognizer)
