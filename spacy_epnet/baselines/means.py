"""Types as the means of their examples, and how points are trained for that."""

from collections.abc import Callable
from typing import Any, TypeAlias

from thinc.api import get_array_module
from thinc.types import Floats2d

from ..recognizer.distances import get_cross_entropy, get_square_distances
from ..recognizer.gold import UNKNOWN
from ..types import Ints1d, Points

EpisodeLoss: TypeAlias = Callable[[Any, Any, Any], tuple[float, Points]]


def get_means(points: Points, columns: Ints1d, n_columns: int) -> Floats2d:
    """(columns, d) Return the mean of the points of each column."""
    return get_membership(columns, n_columns, like=points) @ points


def get_membership(columns: Any, n_columns: int, *, like: Floats2d) -> Floats2d:
    """(columns, n) Return what each point counts in the mean of each column."""
    xp: Any = get_array_module(like)
    flags = columns[None] == xp.arange(n_columns)[:, None]
    counts = xp.maximum(1, flags.sum(axis=1, keepdims=True))
    return (flags / counts).astype(like.dtype)


def get_episode_loss(
    points: Any, columns: Any, is_support: Any
) -> tuple[float, Points]:
    """Find the mean cross-entropy of points whose logits are negative squared distances
    to the means of the support set's types, and its gradient with respect to the
    points. Points of types without support don't count. Both are zero if none counts.
    """
    xp: Any = get_array_module(points)
    support = is_support & (columns != UNKNOWN)
    types = xp.unique(columns[support])
    query = ~is_support & xp.isin(columns, types)
    gradient = xp.zeros_like(points)
    if not query.any():
        return 0.0, gradient
    membership: Any = get_membership(
        xp.searchsorted(types, columns[support]), len(types), like=points
    )
    means, asked = membership @ points[support], points[query]
    targets = xp.searchsorted(types, columns[query])
    distances: Any = get_square_distances(asked, means)
    loss, d_logits = get_cross_entropy(-distances, targets)
    # Each logit is -(x - m)², so that x gets -2 (x - m) of it, and m the opposite.
    d_asked, d_means = d_logits.sum(axis=1)[:, None], d_logits.sum(axis=0)[:, None]
    gradient[query] = 2 * (d_logits @ means - d_asked * asked)
    gradient[support] = membership.T @ (2 * (d_logits.T @ asked - d_means * means))
    return loss, gradient


def choose_half(docs: Any) -> Any:
    """(n,) Return which points are of one half of the docs, chosen at random."""
    xp: Any = get_array_module(docs)
    n_docs = int(docs.max()) + 1 if len(docs) else 0
    return (xp.random.permutation(n_docs) < n_docs / 2)[docs]


def get_halves_loss(
    points: Any, columns: Any, docs: Any, get_loss: EpisodeLoss = get_episode_loss
) -> tuple[float, Points]:
    """Let either half of the docs be the support set of the other one: the mean loss of
    both, and its gradient with respect to the points.
    """
    xp: Any = get_array_module(points)
    is_first = choose_half(docs)
    total, d_total = 0.0, xp.zeros_like(points)
    for is_support in (is_first, ~is_first):
        loss, d_points = get_loss(points, columns, is_support)
        total += loss / 2
        d_total += d_points / 2
    return total, d_total
