"""ProtoNet: tokens take the type whose mean is nearest (Snell et al., 2017)."""

from typing import Any, ClassVar

from spacy.tokens import Doc
from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...recognizer.factory import register_factory
from ...recognizer.settings import RecognizerSettings
from ...recognizer.spans import find_docs
from ...types import TokenVectors
from ..means import get_episode_loss, get_halves_loss, get_means
from ..memory import Memory
from ..settings import ProtoNetSettings
from .token_recognizer import TokenRecognizer


class ProtoNetRecognizer(TokenRecognizer):
    """Pipeline component for few-shot named entity recognition with ProtoNet."""

    settings_type: ClassVar[type[RecognizerSettings]] = ProtoNetSettings

    def represent(self, tokens: TokenVectors) -> TokenVectors:
        """Take tokens as they are. See the base."""
        return tokens

    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """Measure distances to the means of types. See the base."""
        xp: Any = self.model.ops.xp
        means = get_means(memory.vectors, memory.columns, n_columns)
        distances: Any = get_square_distances(points, means)
        missing = xp.bincount(memory.columns, minlength=n_columns) == 0
        distances[:, missing] = xp.inf
        return distances

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Let one half of the docs be the support set of the other. See the base."""
        ops: Any = self.model.ops
        numbers = find_docs(ops.xp.arange(len(tokens)), docs, ops=ops)
        return get_halves_loss(tokens, columns, numbers, get_loss=self.get_loss)

    def get_loss(
        self, tokens: Any, columns: Any, is_support: Any
    ) -> tuple[float, TokenVectors]:
        """Find the loss of an episode, and its gradient with respect to the tokens."""
        return get_episode_loss(tokens, columns, is_support)


make_protonet_ner = register_factory("protonet_ner", ProtoNetRecognizer)
