"""How far tokens are from types."""

from typing import Any

from thinc.api import get_array_module
from thinc.types import Floats2d

from ...types import Ints1d, TokenVectors


def get_square_distances(points: Any, centres: Any) -> Floats2d:
    """(points, centres) Squared Euclidean distances."""
    xp: Any = get_array_module(points)
    norms = (points * points).sum(axis=1, keepdims=True)
    distances = norms - 2 * (points @ centres.T) + (centres * centres).sum(axis=1)
    return xp.maximum(distances, 0)


def get_means(vectors: TokenVectors, columns: Ints1d, n_columns: int) -> Floats2d:
    """(columns, d) The mean of the tokens of each column, which has to have some."""
    return get_membership(columns, n_columns, like=vectors) @ vectors


def get_membership(columns: Any, n_columns: int, *, like: Floats2d) -> Floats2d:
    """(columns, n) What each token counts in the mean of each column."""
    xp: Any = get_array_module(like)
    flags = columns[None] == xp.arange(n_columns)[:, None]
    counts = xp.maximum(1, flags.sum(axis=1, keepdims=True))
    return (flags / counts).astype(like.dtype)


def get_nearest_by_column(distances: Any, columns: Any, n_columns: int) -> Floats2d:
    """(points, columns) The smallest distance to a token of each column.

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
