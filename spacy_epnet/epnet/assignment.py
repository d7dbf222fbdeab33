"""The spans of a support set, and the prototypes that new types begin with: those of
source types that fit them.

A way to assign is a registered function, which others can add:

    @spacy.registry.misc("my_assignment.v1")
    def make_my_assignment() -> Assign: ...
"""

import random
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

import numpy
from thinc.api import Model
from thinc.types import Floats2d

from ..errors import InvalidSettingError, SettingError
from ..recognizer.spans import SpanPool, get_layout, get_span_pool
from ..recognizer.task import AdaptTask
from .model import get_prototypes, map_names, project_spans
from .names import compare_names, describe, join_vectors
from .prototypes import NONE_ROW, Generation, join, list_rows
from .settings import EPNetSettings
from .types import Rows

# Names decide alone long before, and what is much larger is no number in the end.
MAX_NAME_WEIGHT = 1_000_000
# What a type begins as, beside source types, and how much of it.
OWN_NAME, NAME_SHARE = "its own name", 0.5


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
    named: Any  # (types, d1) where they lie by their names, or None if it isn't known
    seed: int


# Chooses what new types begin with.
Assign: TypeAlias = Callable[[list[str], Evidence], dict[str, Assignment]]


def gather_spans(
    head: Model[Any, Any], task: AdaptTask, old: dict[str, int], *, max_width: int
) -> SpanPool:
    """List the spans of a support set.

    task (AdaptTask): The support set.
    old (Dict[str, int]): Types that stay, whose columns come first. What isn't marked
        is what the recognizer takes it for, so that it isn't taught to be None.
    max_width (int): The longest span that can be predicted.
    RETURNS (SpanPool): The spans.
    """
    columns = number_columns(task, old)
    golds = [
        gold._replace(ents=[ent for ent in gold.ents if ent.label_ in columns])
        for gold in task.golds
    ]
    layout = get_layout(task.docs, ops=head.ops)
    pool = get_span_pool(golds, layout, columns, max_width=max_width, ops=head.ops)
    if not old or not len(pool.nones):
        return pool
    rows = list_rows(old, ops=head.ops)
    distances, _ = head.predict((task.tokens, pool.nones, rows))
    return pool._replace(none_targets=distances.argmin(axis=1).astype("i"))


def number_columns(task: AdaptTask, old: dict[str, int]) -> dict[str, int]:
    """Number the columns of new types, after None and those that stay."""
    return {label: i for i, label in enumerate(task.labels, len(old) + 1)}


def assign_prototypes(
    head: Model[Any, Any],
    task: AdaptTask,
    pool: SpanPool,
    settings: EPNetSettings.Adapt,
    *,
    kept: list[Generation],
    known: dict[str, int],
    known_names: tuple[str, ...],
    name_vectors: Mapping[tuple[str, ...], Floats2d],
    maps_names: bool,
) -> dict[str, Assignment]:
    """Choose what new types begin with.

    task (AdaptTask): The support set.
    settings (EPNetSettings.Adapt): How to choose.
    kept (List[Generation]): Types that stay, whose rows can't be taken.
    known (Dict[str, int]): The rows of all types that the source has been trained on.
    maps_names (bool): Whether the head knows where types lie by their names.
    RETURNS (Dict[str, Assignment]): What each type begins with. A type that the
        recognizer has been trained on begins with the prototype that it had then.
    """
    old = join(kept)
    taken = set(old.values())
    labels = task.labels
    same = {n: known[n] for n in labels if n in known and known[n] not in taken}
    chosen = {label: Assignment(row, {label: 1.0}) for label, row in same.items()}
    new = [label for label in labels if label not in same]
    if new:
        taken |= set(same.values())
        used = {label: row for label, row in known.items() if row not in taken}
        columns = number_columns(task, old)
        prototypes = head.ops.to_numpy(get_prototypes(head))
        names = [describe(label, task.texts) for label in new]
        evidence = Evidence(
            points=project_entities(head, task, pool),
            members=get_members(
                head.ops.to_numpy(pool.targets), [columns[n] for n in new]
            ),
            prototypes=prototypes,
            known=known,
            used=used,
            free=list_free({*taken, *used.values()}, len(prototypes)),
            name_cosines=compare_names(names, known_names, name_vectors),
            named=map_names(head, join_vectors(names, name_vectors))
            if maps_names
            else None,
            seed=settings.seed,
        )
        chosen |= settings.assignment(new, evidence)
    return {label: chosen[label] for label in labels}


def project_entities(head: Model[Any, Any], task: AdaptTask, pool: SpanPool) -> Any:
    """(entities, d1) Project the marked entities."""
    if not len(pool.entities):
        return numpy.zeros((0, get_prototypes(head).shape[1]), dtype="f")
    return head.ops.to_numpy(project_spans(head, task.tokens, pool.entities))


def get_members(targets: Any, columns: list[int]) -> Any:
    """(types, entities) Return rows that take the mean over the entities of each type.

    targets (numpy.ndarray): (entities,) The column of each entity.
    columns (List[int]): The column of each type.
    """
    flags = numpy.stack([targets == column for column in columns])
    return flags / numpy.maximum(1, flags.sum(axis=1, keepdims=True))


def keep_named(
    head: Model[Any, Any],
    task: AdaptTask,
    pool: SpanPool,
    rows: Rows,
    old: dict[str, int],
) -> SpanPool:
    """Let spans that aren't marked be of a type without examples if they are nearest to
    it, so that it isn't unlearned.

    rows (Rows): The prototypes in use, those of the old types before the new ones.
    old (Dict[str, int]): Types that stay.
    """
    unmarked = list_unmarked(number_columns(task, old), pool)
    if not unmarked or not len(pool.entities):
        return pool
    distances, _ = head.predict((task.tokens, pool.nones, rows))
    nearest = distances.argmin(axis=1).astype("i")
    xp: Any = head.ops.xp
    is_named = xp.isin(nearest, xp.asarray([*unmarked.values()]))
    return pool._replace(none_targets=xp.where(is_named, nearest, pool.none_targets))


def list_unmarked(columns: dict[str, int], pool: SpanPool) -> dict[str, int]:
    """Return the columns of types without examples."""
    marked = {*pool.targets.tolist()}
    return {label: column for label, column in columns.items() if column not in marked}


def choose_trained_rows(
    rows: dict[str, int], old: dict[str, int], pool: SpanPool
) -> list[int]:
    """Return the prototypes that may move: those of types with examples, and None's if
    no old type depends on it.
    """
    columns = {label: i for i, label in enumerate(rows, len(old) + 1)}
    unmarked = list_unmarked(columns, pool)
    trained = [row for label, row in rows.items() if label not in unmarked]
    return trained if old else [NONE_ROW, *trained]


def make_random_assignment() -> Assign:
    """Assign the prototypes of source types at random, as the paper does. Those that no
    type has had come last.
    """

    def assign(labels: list[str], evidence: Evidence) -> dict[str, Assignment]:
        check_marked(labels, evidence)
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
    entities are near to, and whose names are alike. If the source has learned where
    types lie by their names, each begins halfway between there and the mixture.

    name_weight (float): What the cosine of two types' names is worth against their
        squared distance. If it is 0, names don't count.
    """
    if not 0 <= name_weight <= MAX_NAME_WEIGHT:
        raise InvalidSettingError(
            "adapt.assignment.name_weight",
            name_weight,
            f"a number from 0 to {MAX_NAME_WEIGHT}",
        )

    def assign(labels: list[str], evidence: Evidence) -> dict[str, Assignment]:
        known, size = evidence.known, len(evidence.prototypes)
        if not name_weight:
            check_marked(labels, evidence)
        if not known:
            free = draw_rows(labels, evidence.free, [], size=size, seed=evidence.seed)
            return {label: Assignment(row, {}) for label, row in free.items()}
        centers = evidence.prototypes[[*known.values()]]
        distances = get_distances(evidence.points, centers)
        scores = evidence.members @ get_log_shares(distances)
        shares = get_weights(scores + name_weight * evidence.name_cosines)
        prototypes = shares @ centers
        origins: list[dict[str, float]] = [{} for _ in labels]
        if evidence.named is not None and name_weight:
            # Halfway measured better than either.
            shares *= 1 - NAME_SHARE
            prototypes += NAME_SHARE * (evidence.named - prototypes)
            origins = [{OWN_NAME: NAME_SHARE} for _ in labels]
        rows = chain(evidence.free, evidence.used.values(), count(size))
        return {
            label: Assignment(
                row,
                {**own, **dict(zip(known, each.tolist(), strict=True))},
                prototype.astype("f"),
            )
            for label, row, own, each, prototype in zip(
                labels, rows, origins, shares, prototypes, strict=False
            )
        }

    return assign


def check_marked(labels: list[str], evidence: Evidence) -> None:
    """Raise an error if a type has no examples, where its name says nothing."""
    marked = evidence.members.any(axis=1).tolist()
    named = [
        label for label, is_marked in zip(labels, marked, strict=True) if not is_marked
    ]
    if named:
        raise SettingError(
            f"There are no examples of {', '.join(named)}, and with these settings new "
            "types don't begin by their names. Mark some, or adapt with the profile "
            "default and a name_weight above 0."
        )


def draw_rows(
    labels: list[str], first: list[int], others: list[int], *, size: int, seed: int
) -> dict[str, int]:
    """Assign rows of the prototype table at random.

    first (List[int]): Rows that are assigned before the others.
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
