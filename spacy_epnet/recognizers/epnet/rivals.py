"""Rivals: source types that none of the examples is like.

A user marks the types that matter, in a few sentences. What else there is in the domain
is None, but hardly any of it is in these sentences. The source knows much of it, such
as people, dates and units. So the prototypes of types that no example is like stay
where they are, and a span that is nearer to one of them is nothing:

    likelihood of None = that of None's own prototype + those of the rivals
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from thinc.api import get_array_module

from .assignment import get_distances, get_log_shares
from .prototypes import NONE_ROW
from .types import Distances


def choose_rivals(
    points: Any,
    members: Any,
    prototypes: Any,
    known: Mapping[str, int],
    families: Mapping[str, str],
    *,
    share: float,
) -> list[int]:
    """Find the source types that no new type is like.

    points (numpy.ndarray): (entities, d1) The projected entities of the support set.
    members (numpy.ndarray): (types, entities) Rows that take the mean over the entities
        of each type.
    prototypes (numpy.ndarray): (P, d1) All prototypes.
    known (Mapping[str, int]): The rows of source types.
    families (Mapping[str, str]): The corpora of those that are judged among their own.
    share (float): A rival is what less than this share of each type's entities belongs
        to, as the source judges them.
    RETURNS (List[int]): The rows of the rivals.
    """
    by_family: dict[str | None, list[int]] = defaultdict(list)
    for label, row in known.items():
        by_family[families.get(label)].append(row)
    rivals: list[int] = []
    for rows in by_family.values():
        distances = get_distances(points, prototypes[[NONE_ROW, *rows]])
        shares = members @ numpy.exp(get_log_shares(distances))[:, 1:]
        rivals += numpy.asarray(rows)[shares.max(axis=0) < share].tolist()
    return sorted(rivals)


def merge_rivals(
    distances: Distances, n_rivals: int
) -> tuple[Distances, Callable[[Distances], Distances]]:
    """Let rivals count as None.

    distances (Distances): From spans to None, to types, and to rivals.
    n_rivals (int): How many rivals there are.
    RETURNS (Tuple[Distances, Callable]): The distances to None and to types, where a
        span is as far from None as its likelihood says, and what takes their gradient
        to that of all distances.
    """
    if not n_rivals:
        return distances, lambda gradient: gradient
    xp: Any = get_array_module(distances)
    nones = xp.concatenate([distances[:, :1], distances[:, -n_rivals:]], axis=1)
    nearest = nones.min(axis=1, keepdims=True)
    likelihoods = xp.exp(nearest - nones)
    totals = likelihoods.sum(axis=1, keepdims=True)
    types = distances[:, 1:-n_rivals]

    def split(gradient: Distances) -> Distances:
        shares = gradient[:, :1] * (likelihoods / totals)
        return xp.concatenate([shares[:, :1], gradient[:, 1:], shares[:, 1:]], axis=1)

    return xp.concatenate([nearest - xp.log(totals), types], axis=1), split
