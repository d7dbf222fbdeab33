"""Token-level recognizers whose tokens take the type of the nearest one."""

from typing import Any

from thinc.api import get_array_module
from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...types import TokenVectors
from ..memory import Memory
from .token_recognizer import TokenRecognizer


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
    """(points, columns) Return the smallest distance to a token of each column.

    distances (Floats2d): (points, n) Distances to tokens.
    columns (Ints1d): (n,) The column of each of these tokens.
    n_columns (int): How many columns there are. Those without tokens are infinitely
        far.
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
