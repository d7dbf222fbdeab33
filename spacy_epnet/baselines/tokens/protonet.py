"""ProtoNet: tokens take the type whose mean is nearest (Snell et al., 2017)."""

from typing import Any, ClassVar

import numpy
from spacy.tokens import Doc
from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...recognizer.factory import register_factory
from ...recognizer.settings import RecognizerSettings
from ...types import TokenVectors
from ..means import get_halves_loss, get_means
from ..memory import Memory
from .settings import ProtoNetSettings
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
        return get_halves_loss(tokens, columns, self.number_docs(docs))

    def number_docs(self, docs: list[Doc]) -> Any:
        """(T,) Return the number of the doc of each token."""
        numbers = numpy.repeat(numpy.arange(len(docs)), [len(doc) for doc in docs])
        return self.model.ops.xp.asarray(numbers)  # type: ignore[attr-defined]


make_protonet_ner = register_factory("protonet_ner", ProtoNetRecognizer)
