"""None's three kinds: what is beside entities, across their edges, and inside them."""

from typing import Any

from thinc.api import Ops, get_array_module
from thinc.backends import get_array_ops

from ...recognizer.distances import get_cross_entropy
from ...types import Ints1d, Points, Spans

DISJOINT, OVERLAPPING, INSIDE = range(3)
# The columns of None's kinds. Those of types come after.
N_KINDS = 3


def find_kinds(nones: Spans, entities: Spans, length: int, *, ops: Ops) -> Ints1d:
    """(nones,) Find the kind of spans that are no entities, in a batch of `length`
    tokens whose entities don't overlap: DISJOINT from all entities, INSIDE one of them,
    or else OVERLAPPING, which may be all around one.
    """
    xp: Any = ops.xp
    starts, ends = nones[:, 0], nones.sum(axis=1)
    begun = _count_until(entities[:, 0], length, ops=ops)
    ended = _count_until(entities.sum(axis=1), length, ops=ops)
    # Entities that have begun before a span ends, but not ended before it begins.
    n_touched = begun[ends - 1] - ended[starts]
    is_inside = (begun[starts] > ended[starts]) & (begun[ends - 1] == begun[starts])
    is_inside &= ended[ends - 1] == ended[starts]
    kinds = xp.where(is_inside, INSIDE, OVERLAPPING)
    return xp.where(n_touched == 0, DISJOINT, kinds).astype("i")


def _count_until(places: Ints1d, length: int, *, ops: Ops) -> Ints1d:
    """(length,) Count how many places are at or before each token."""
    xp: Any = ops.xp
    return xp.cumsum(xp.bincount(places, minlength=length + 1))[:length]


def get_probabilities(distances: Any) -> Any:
    """(M, 1 + types) Return how probable None and each type are for spans, from the
    distances to them. If all are infinite, a span is None.
    """
    xp: Any = get_array_module(distances)
    finite = distances.copy()
    finite[~xp.isfinite(distances).any(axis=1), 0] = 0
    return get_array_ops(distances).softmax(-finite, axis=1)


def get_loss(distances: Any, columns: Any) -> tuple[float, Points]:
    """Find the mean cross-entropy of spans whose logits are negative distances, and its
    gradient with respect to the distances. Spans that are infinitely far from their
    own kind of None, or type, don't count. Both are zero if none counts.
    """
    xp: Any = get_array_module(distances)
    targets = xp.maximum(columns - (N_KINDS - 1), 0)
    counts = xp.isfinite(distances[xp.arange(len(distances)), targets])
    gradient = xp.zeros_like(distances)
    if not counts.any():
        return 0.0, gradient
    loss, d_logits = get_cross_entropy(-distances[counts], targets[counts])
    gradient[counts] = -d_logits
    return loss, gradient
