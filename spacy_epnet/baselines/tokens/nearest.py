"""Token-level recognizers whose tokens take the type of the nearest one."""

from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...types import TokenVectors
from ..memory import Memory
from .distances import get_nearest_by_column, normalize
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
