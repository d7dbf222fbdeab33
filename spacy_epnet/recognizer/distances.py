"""Distances between points, and the loss of scores that follow from them."""

from typing import Any

from thinc.api import get_array_module
from thinc.types import Floats2d


def get_square_distances(points: Any, centers: Any) -> Floats2d:
    """(points, centers) Return squared Euclidean distances."""
    xp: Any = get_array_module(points)
    norms = (points * points).sum(axis=1, keepdims=True)
    distances = norms - 2 * (points @ centers.T) + (centers * centers).sum(axis=1)
    return xp.maximum(distances, 0)


def get_cross_entropy(scores: Any, targets: Any) -> tuple[float, Any]:
    """Cross-entropy of some points.

    scores (Floats2d): (n, columns) A score of each point for each column.
    targets (Ints1d): (n,) The column of each point, of which there is at least one.
    RETURNS (Tuple[float, Floats2d]): The mean loss, and its gradient with respect to
        the scores.
    """
    xp: Any = get_array_module(scores)
    logits = scores - scores.max(axis=1, keepdims=True)
    log_shares = logits - xp.log(xp.exp(logits).sum(axis=1, keepdims=True))
    places = xp.arange(len(targets))
    gradient = xp.exp(log_shares)
    gradient[places, targets] -= 1
    return -float(log_shares[places, targets].mean()), gradient / len(targets)
