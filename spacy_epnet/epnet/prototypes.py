"""The prototype table: its geometry, who owns which row, and where a type counts."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy
from spacy.tokens import Doc
from thinc.api import Ops, get_array_module

from ..corpora.labels import get_corpus, split_type
from ..recognizer.spans import find_docs
from ..types import Bools2d, Spans
from .types import Prototypes, Rows, Targets

NONE_ROW = 0

# The row of each label of those that were learned together. Every generation is decided
# as if it were alone, so that what an older one recognizes doesn't depend on the
# younger ones.
Generation: TypeAlias = dict[str, int]


def get_initial_scale(dispersion: float, width: int) -> float:
    """Return the standard deviation that gives normal prototypes a wanted dispersion.

    dispersion (float): The mean squared distance wanted between prototypes.
    width (int): The size of a prototype.
    RETURNS (float): The standard deviation of each number.
    """
    return math.sqrt(dispersion / (2 * width))


def get_dispersion(prototypes: Prototypes) -> float:
    """Return the mean squared distance over all ordered pairs, i = j included.

    It follows from the mean and the norms alone, without looking at pairs.
    """
    xp: Any = get_array_module(prototypes)
    mean = xp.mean(prototypes, axis=0)
    mean_square = xp.sum(prototypes * prototypes) / len(prototypes)
    return float(2 * (mean_square - xp.sum(mean * mean)))


def join(generations: Iterable[Generation]) -> dict[str, int]:
    """Return the row of each label, the older generations first."""
    return {label: row for labels in generations for label, row in labels.items()}


def list_rows(labels: dict[str, int], *, ops: Ops) -> Rows:
    """Return the rows in use: None's, then those of the labels."""
    return ops.asarray1i([NONE_ROW, *labels.values()])


def fit_generations(
    generations: Iterable[Generation],
    labels: Collection[str],
    families: Mapping[str, str],
) -> list[Generation]:
    """Give new labels a row in a generation, and drop what isn't a label.

    labels (Collection[str]): The labels that there are to be.
    families (Mapping[str, str]): The corpus of labels that are judged among their own.
        They have a generation to themselves, all others are in the youngest.
    RETURNS (List[Generation]): The generations, at least one.
    """
    kept = [
        {label: row for label, row in generation.items() if label in labels}
        for generation in generations
    ]
    kept = [generation for generation in kept if generation]
    taken = join(kept)
    row = get_free_row(taken.values())
    for label in labels:
        if label not in taken:
            family = families.get(label)
            find_home(kept, family, families)[label] = taken[label] = row
            row = get_free_row(taken.values(), row)
    return kept or [{}]


def find_home(
    generations: list[Generation], family: str | None, families: Mapping[str, str]
) -> Generation:
    """Return the youngest generation of a family, or a new one if it has none."""
    for generation in reversed(generations):
        if families.get(next(iter(generation))) == family:
            return generation
    generations.append({})
    return generations[-1]


def get_free_row(taken: Collection[int], row: int = NONE_ROW + 1) -> int:
    """Return the first row, from a given one on, that is neither None's nor taken."""
    while row in taken:
        row += 1
    return row


def get_families(corpora: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the corpus that each label is called after.

    corpora (Mapping[str, Sequence[str]]): The labels of each corpus. One corpus may
        have some of another one's.
    """
    every = (label for labels in corpora.values() for label in labels)
    return {label: split_type(label)[0] for label in every}


class Scope(NamedTuple):
    """What the spans of a batch are judged among."""

    rows: Rows
    labels: list[str]  # of the rows but None's
    targets: Targets
    flags: Bools2d | None  # (M, R) which columns count for each span, if not all


def find_scope(
    docs: list[Doc],
    spans: Spans,
    targets: Targets,
    prototypes: dict[str, int],
    corpora: Mapping[str, Sequence[str]],
    *,
    ops: Ops,
) -> Scope:
    """Find what the spans of a batch are judged among: types of other corpora than the
    batch's count for none of them, and are left out.

    targets (Targets): The column of each span among all prototypes.
    prototypes (Dict[str, int]): The row of each label.
    corpora (Mapping[str, Sequence[str]]): The labels of each corpus.
    """
    rows, labels = list_rows(prototypes, ops=ops), [*prototypes]
    flags = get_scopes(docs, corpora, labels, ops=ops)
    if flags is None:
        return Scope(rows, labels, targets, None)
    used = flags.any(axis=0)
    numbers = ops.asarray1i(used.cumsum() - 1)
    kept = [n for n, is_used in zip(labels, used[1:].tolist(), strict=True) if is_used]
    own = flags[:, used][find_docs(spans[:, 0], docs, ops=ops)]
    return Scope(rows[used], kept, numbers[targets], own)


def get_scopes(
    docs: list[Doc],
    corpora: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    *,
    ops: Ops,
) -> Bools2d | None:
    """Find which columns of the distances count for each doc.

    corpora (Mapping[str, Sequence[str]]): The labels of each corpus.
    labels (Sequence[str]): The labels, in the order of the columns after None's.
    RETURNS (Optional[Bools2d]): (docs, columns) Whether a column counts, or None if all
        do. They do for a doc that isn't from a corpus with labels among these.
    """
    scopes = numpy.ones((len(docs), len(labels) + 1), dtype=bool)
    rows: dict[str | None, Any] = {}
    for scope, doc in zip(scopes, docs, strict=True):
        corpus = get_corpus(doc)
        if corpus not in rows:
            own = set(corpora.get(corpus or "", ()))
            rows[corpus] = [label in own for label in labels]
        if any(rows[corpus]):
            scope[1:] = rows[corpus]
    xp: Any = ops.xp
    return None if scopes.all() else xp.asarray(scopes)
