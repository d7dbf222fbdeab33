"""What new types begin with: prototypes of the source that fit them."""

from typing import Any, NamedTuple

import numpy
from spacy.language import Language

from ..gold import SpanPool
from ..models.head import get_prototypes, project_spans
from ..types import TokenVectors
from .assignment import (
    deal_rows,
    get_cosines,
    get_distances,
    get_log_shares,
    get_weights,
    get_words,
    list_free,
    match_rows,
)
from .encoding import encode_docs
from .settings import AdaptSettings


class Start(NamedTuple):
    """What a type begins with."""

    row: int  # of the prototype table
    origins: dict[str, float]  # source types that it begins as, and their shares
    prototype: Any = None  # (d1,) what is put into the row, or None to leave it


class Evidence(NamedTuple):
    """What the support set says about some types."""

    points: Any  # (entities, d1) the projected entities
    members: Any  # (types, entities) rows that take the mean over a type's entities
    prototypes: Any  # (P, d1)


def choose_starts(
    nlp: Language,
    name: str,
    labels: list[str],
    kept: list[dict[str, int]],
    tokens: TokenVectors,
    pool: SpanPool,
    settings: AdaptSettings,
) -> dict[str, Start]:
    """Choose what new types begin with.

    nlp (Language): The pipeline.
    name (str): The recogniser.
    labels (List[str]): The new types.
    kept (List[Dict[str, int]]): Types that stay, whose rows can't be taken.
    tokens (TokenVectors): The support set.
    pool (SpanPool): Its spans.
    settings (AdaptSettings): How to choose.
    RETURNS (Dict[str, Start]): What each type begins with. A type that the recogniser
        has been trained on begins with the prototype that it had then.
    """
    pipe: Any = nlp.get_pipe(name)
    known: dict[str, int] = pipe.cfg["ever_assigned"]
    taken = {row for generation in kept for row in generation.values()}
    same = {n: known[n] for n in labels if n in known and known[n] not in taken}
    starts = {label: Start(row, {label: 1.0}) for label, row in same.items()}
    new = [label for label in labels if label not in same]
    if not new:
        return starts
    taken |= set(same.values())
    used = {label: row for label, row in known.items() if row not in taken}
    evidence = get_evidence(pipe, labels, new, tokens, pool)
    free = list_free({*taken, *used.values()}, len(evidence.prototypes))
    if settings.assignment == "mixture" and known:
        starts |= mix(
            nlp, name, new, known, evidence, [*free, *used.values()], settings
        )
    else:
        rows = choose_rows(nlp, name, new, used, free, evidence, settings)
        names = {row: label for label, row in known.items()}
        for label, row in rows.items():
            starts[label] = Start(row, {names[row]: 1.0} if row in names else {})
    return {label: starts[label] for label in labels}


def get_evidence(
    pipe: Any, labels: list[str], new: list[str], tokens: TokenVectors, pool: SpanPool
) -> Evidence:
    """See where the entities of the support set are."""
    ops, head = pipe.model.ops, pipe.model.get_ref("head")
    columns = ops.to_numpy(pool.targets)
    first = int(columns.min())  # after None and the types that stay
    is_member = [columns == labels.index(label) + first for label in new]
    members = numpy.stack([flags / max(1, flags.sum()) for flags in is_member])
    return Evidence(
        ops.to_numpy(project_spans(head, tokens, pool.entities)),
        members,
        ops.to_numpy(get_prototypes(head)),
    )


def choose_rows(
    nlp: Language,
    name: str,
    new: list[str],
    used: dict[str, int],
    free: list[int],
    evidence: Evidence,
    settings: AdaptSettings,
) -> dict[str, int]:
    """Choose a prototype of the table for each new type.

    used (Dict[str, int]): Source types whose prototypes can be taken.
    free (List[int]): Prototypes that no type has had.
    RETURNS (Dict[str, int]): The row of each type.
    """
    rows, size = [*used.values()], len(evidence.prototypes)
    if settings.assignment in ("free", "mixture"):
        return deal_rows(new, free, rows, size=size, seed=settings.seed)
    if settings.assignment == "random":
        return deal_rows(new, rows, free, size=size, seed=settings.seed)
    centroids = evidence.members @ evidence.points
    costs = get_distances(centroids, evidence.prototypes[rows])
    if settings.assignment == "names" and used:
        costs = costs - settings.name_weight * compare_names(nlp, name, new, [*used])
    return match_rows(new, costs, rows, free, size=size)


def mix(
    nlp: Language,
    name: str,
    new: list[str],
    known: dict[str, int],
    evidence: Evidence,
    rows: list[int],
    settings: AdaptSettings,
) -> dict[str, Start]:
    """Begin each new type as a mixture of the source types that it is like: those
    that its entities are near to, and whose names are alike.

    known (Dict[str, int]): The source types.
    rows (List[int]): Where the mixtures can be put, the best places first.
    RETURNS (Dict[str, Start]): What each type begins with.
    """
    centres = evidence.prototypes[[*known.values()]]
    log_shares = get_log_shares(get_distances(evidence.points, centres))
    scores = evidence.members @ log_shares
    scores = scores + settings.name_weight * compare_names(nlp, name, new, [*known])
    weights = get_weights(scores)
    nothing, size = numpy.zeros((len(new), 0)), len(evidence.prototypes)
    places = match_rows(new, nothing, [], rows, size=size)
    return {
        label: Start(
            places[label],
            dict(zip(known, shares.tolist(), strict=True)),
            (shares @ centres).astype("f"),
        )
        for label, shares in zip(new, weights, strict=True)
    }


def compare_names(
    nlp: Language, name: str, labels: list[str], others: list[str]
) -> Any:
    """(labels, others) How alike the names of types are, to the pipeline's encoder."""
    docs = [nlp.make_doc(get_words(label)) for label in (*labels, *others)]
    pipe: Any = nlp.get_pipe(name)
    tokens = pipe.model.ops.to_numpy(encode_docs(nlp, name, docs))
    ends = numpy.cumsum([len(doc) for doc in docs])[:-1]
    vectors = numpy.stack([part.mean(axis=0) for part in numpy.split(tokens, ends)])
    # All names have much in common. What sets them apart is what counts.
    vectors -= vectors[len(labels) :].mean(axis=0)
    return get_cosines(vectors[: len(labels)], vectors[len(labels) :])
