"""Which prototypes new types begin with: those of source types that fit them.

A way to assign is a registered function, which others can add:

    @spacy.registry.misc("my_assignment.v1")
    def make_my_assignment() -> Assign: ...
"""

import random
from collections.abc import Callable, Iterable
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

import numpy

from ..errors import InvalidSettingError
from .prototypes import NONE_ROW

# Names decide alone long before, and what is much larger is no number in the end.
MAX_NAME_WEIGHT = 1_000_000


class Assignment(NamedTuple):
    """What a type begins with."""

    row: int  # of the prototype table
    origins: dict[str, float]  # source types that it begins as, and their shares
    prototype: Any = None  # (d1,) what is put into the row, or None to leave it

    def describe_origins(self, most: int = 3, least: float = 0.05) -> str:
        """Write what the type begins as, the largest shares first."""
        shares = sorted(self.origins.items(), key=lambda item: -item[1])
        shown = [f"{label} {p:.0%}" for label, p in shares[:most] if p >= least]
        return ", ".join(shown) or "no source type"


class Evidence(NamedTuple):
    """What there is to decide by."""

    points: Any  # (entities, d1) the projected entities of the support set
    members: Any  # (types, entities) rows that take the mean over a type's entities
    prototypes: Any  # (P, d1)
    known: dict[str, int]  # the rows of source types
    used: dict[str, int]  # those of them that can be taken
    free: list[int]  # rows that no type has had
    name_cosines: Any  # (types, known) how alike their names are
    seed: int


# Chooses what new types begin with.
Assign: TypeAlias = Callable[[list[str], Evidence], dict[str, Assignment]]


def make_random_assignment() -> Assign:
    """Assign the prototypes of source types at random, as the paper does. Those that no
    type has had come last.
    """

    def assign(labels: list[str], evidence: Evidence) -> dict[str, Assignment]:
        names = {row: label for label, row in evidence.known.items()}
        rows = draw_rows(
            labels,
            [*evidence.used.values()],
            evidence.free,
            size=len(evidence.prototypes),
            seed=evidence.seed,
        )
        return {
            label: Assignment(row, {names[row]: 1.0} if row in names else {})
            for label, row in rows.items()
        }

    return assign


def make_mixture_assignment(name_weight: float) -> Assign:
    """Begin each type as a mixture of the source types that it is like: those that its
    entities are near to, and whose names are alike.

    name_weight (float): What the cosine of two types' names is worth against their
        squared distance.
    """
    if not 0 <= name_weight <= MAX_NAME_WEIGHT:
        raise InvalidSettingError(
            "adapt.assignment.name_weight",
            name_weight,
            f"a number from 0 to {MAX_NAME_WEIGHT}",
        )

    def assign(labels: list[str], evidence: Evidence) -> dict[str, Assignment]:
        known, size = evidence.known, len(evidence.prototypes)
        if not known:
            free = draw_rows(labels, evidence.free, [], size=size, seed=evidence.seed)
            return {label: Assignment(row, {}) for label, row in free.items()}
        centers = evidence.prototypes[[*known.values()]]
        log_shares = get_log_shares(get_distances(evidence.points, centers))
        scores = evidence.members @ log_shares
        scores = scores + name_weight * evidence.name_cosines
        rows = chain(evidence.free, evidence.used.values(), count(size))
        return {
            label: Assignment(
                row,
                dict(zip(known, shares.tolist(), strict=True)),
                (shares @ centers).astype("f"),
            )
            for label, shares, row in zip(
                labels, get_weights(scores), rows, strict=False
            )
        }

    return assign


def draw_rows(
    labels: list[str], first: list[int], others: list[int], *, size: int, seed: int
) -> dict[str, int]:
    """Assign rows of the prototype table at random.

    labels (List[str]): The types.
    first (List[int]): Rows that are assigned before the others.
    others (List[int]): The other rows.
    size (int): Rows of the table. Those after them are named when there are too few.
    seed (int): Decides which type gets which row.
    RETURNS (Dict[str, int]): The row of each type.
    """
    rng = random.Random(seed)
    rows = rng.sample(first, len(first)) + rng.sample(others, len(others))
    return dict(zip(labels, chain(rows, count(size)), strict=False))


def list_free(taken: Iterable[int], size: int) -> list[int]:
    """Return rows of the table that are neither None's nor taken."""
    others = {NONE_ROW, *taken}
    return [row for row in range(size) if row not in others]


def get_distances(points: Any, centers: Any) -> Any:
    """(points, centers) Measure squared distances, one center after the other, so that
    memory doesn't grow with both.
    """
    distances = [((points - center) ** 2).sum(axis=-1) for center in centers]
    return numpy.stack(distances, axis=1)


def get_log_shares(distances: Any) -> Any:
    """(points, centers) Return the log-softmax of negative distances."""
    logits = distances.min(axis=1, keepdims=True) - distances
    return logits - numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))


def get_weights(scores: Any) -> Any:
    """(types, centers) Return the softmax of scores."""
    return numpy.exp(get_log_shares(-scores))


def get_cosines(vectors: Any, others: Any) -> Any:
    """Return the cosine of each vector with each of the others."""
    return _normalize(vectors) @ _normalize(others).T


def _normalize(vectors: Any) -> Any:
    norms = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.maximum(norms, 1e-12)
