"""What token-level recognizers share: each token takes a type by what is remembered.

What is each one's own is how tokens are compared with the memory, and how the token
vectors are trained.
"""

from abc import abstractmethod
from typing import Any

from spacy.tokens import Doc
from thinc.api import get_array_module
from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import get_layout, iter_windows
from ...recognizer.task import AdaptTask, LearningReport
from ...types import TokenVectors
from ..memory import Memory, MemoryRecognizer
from .io_tags import TaggingRecognizer, tag_tokens

# Tokens that are compared with the memory at a time.
WINDOW = 1024


class TokenRecognizer(TaggingRecognizer, MemoryRecognizer):
    """Compares tokens with those that are remembered."""

    none_share = 10

    @abstractmethod
    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """(points, columns) Measure distances of represented tokens to each type, None
        first. Types without remembered tokens are infinitely far.
        """

    @abstractmethod
    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Find the loss of a batch, and its gradient with respect to the tokens."""

    def rate_tokens(self, tokens: TokenVectors) -> list[tuple[list[str], Any]]:
        """Compare tokens with the memory. See the base."""
        ops: Any = self.model.ops
        memory, n_columns = self.memory, self.n_columns
        parts = []
        for window, _ in iter_windows(len(tokens), 1, WINDOW):
            points = self.represent(tokens[window])
            distances = self.measure(points, memory, n_columns)
            parts.append(ops.softmax(-distances, axis=1))
        return [(list(self.labels), ops.xp.concatenate(parts))]

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, up to the gradients. See the base."""
        tokens, backprop = self.model.begin_update(docs)
        columns: Any = self.model.ops.asarray(tag_tokens(golds, self.columns))
        loss, d_tokens = self.train(tokens, columns, docs)
        backprop(d_tokens)
        self.remember_batch(self.represent(tokens), columns)
        return {self.name: loss}

    def learn(self, task: AdaptTask, settings: Any) -> LearningReport:
        """Remember the tokens of the support set. See the base."""
        ops: Any = self.model.ops
        columns = ops.asarray(tag_tokens(task.golds, self.number_new(task)))
        if task.extends and self.labels:
            # What isn't marked may be of an old type.
            ((_, probabilities),) = self.rate_tokens(task.tokens)
            layout = get_layout(task.docs, ops=ops)
            taken = self.choose_columns(probabilities, layout) > 0
            columns[(columns == 0) & taken] = UNKNOWN
        return self.remember_support(
            task,
            self.represent(task.tokens),
            columns,
            unit="tokens",
            what="{} tokens of entities and {} others",
        )


class NearestTokenRecognizer(TokenRecognizer):
    """Compares the directions of tokens with those of all that are remembered."""

    def represent(self, tokens: TokenVectors) -> TokenVectors:
        """Give tokens the length 1. See the base."""
        return normalize(tokens)

    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """Measure distances to the nearest token of each type. See the base."""
        distances = get_square_distances(points, memory.vectors)
        return get_nearest_by_column(distances, memory.columns, n_columns)


def get_nearest_by_column(distances: Any, columns: Any, n_columns: int) -> Floats2d:
    """(points, columns) Return the smallest of the distances to tokens of each column,
    infinite for columns without tokens.
    """
    xp: Any = get_array_module(distances)
    nearest = xp.full((len(distances), n_columns), xp.inf, dtype=distances.dtype)
    for column in xp.unique(columns).tolist():
        nearest[:, column] = distances[:, columns == column].min(axis=1)
    return nearest


def normalize(vectors: TokenVectors) -> TokenVectors:
    """Give all vectors the length 1."""
    xp: Any = get_array_module(vectors)
    norms = xp.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / xp.maximum(norms, 1e-12)
