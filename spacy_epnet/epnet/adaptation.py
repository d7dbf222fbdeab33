"""The paper's Adapt step: prototypes for new types, fine-tuned on their examples."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..corpora.mixing import split_type
from ..recognizer.layout import get_layout
from ..recognizer.span_pool import SpanPool, get_span_pool
from ..recognizer.task import AdaptTask, LearningReport
from .assignment import (
    Assignment,
    Evidence,
    get_cosines,
    get_words,
    list_free,
)
from .finetuning import Tuning
from .head import get_prototypes, project_spans
from .prototypes import NONE_ROW, Generation, join, list_rows
from .settings import EPNetAdaptSettings


@dataclass
class EPNetReport(LearningReport):
    """What EP-Net tells of an adaptation.

    assignments (Dict[str, Assignment]): What each type has begun with.
    tuning (Tuning): The loss of each pass, and why it stopped.
    """

    assignments: dict[str, Assignment] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)


def describe_learning(
    assignments: dict[str, Assignment], tuning: Tuning
) -> EPNetReport:
    """Say in words and numbers what was done."""
    first, last = tuning.losses[0], tuning.losses[-1]
    return EPNetReport(
        f"{tuning.steps} steps, loss {first:.4f} to {last:.4f}: {tuning.stopped}",
        ("prototype", "begun as"),
        {
            label: (str(assigned.row), assigned.show_origins())
            for label, assigned in assignments.items()
        },
        {
            "steps": tuning.steps,
            "stopped": tuning.stopped,
            "losses": tuning.losses,
            "assignment": {
                label: {"row": assigned.row, "origins": assigned.origins}
                for label, assigned in assignments.items()
            },
        },
        assignments,
        tuning,
    )


def gather_spans(
    head: Model, task: AdaptTask, old: dict[str, int], *, max_width: int
) -> SpanPool:
    """The spans of a support set.

    head (Model): The head.
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
    if not old:
        return pool
    rows = list_rows(old, ops=head.ops)
    distances, _ = head.predict((task.tokens, pool.nones, rows))
    return pool._replace(none_targets=distances.argmin(axis=1).astype("i"))


def number_columns(task: AdaptTask, old: dict[str, int]) -> dict[str, int]:
    """The column of the distances of each new type, after None and those that stay."""
    return {label: i for i, label in enumerate(task.labels, len(old) + 1)}


def assign_prototypes(
    head: Model,
    task: AdaptTask,
    pool: SpanPool,
    settings: EPNetAdaptSettings,
    *,
    kept: list[Generation],
    known: dict[str, int],
    families: dict[str, str],
    name_vectors: dict[tuple[str, ...], Floats2d],
) -> dict[str, Assignment]:
    """Choose what new types begin with.

    head (Model): The head.
    task (AdaptTask): The support set.
    pool (SpanPool): Its spans.
    settings (EPNetAdaptSettings): How to choose.
    kept (List[Generation]): Types that stay, whose rows can't be taken.
    known (Dict[str, int]): The rows of all types that the source has been trained on.
    families (Dict[str, str]): The corpora of types that are called after one.
    name_vectors (Dict[Tuple[str, ...], Floats2d]): Names that this encoder has encoded
        before. Those that are new are added.
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
        known_names = [split_type(n)[1] if n in families else n for n in known]
        evidence = Evidence(
            head.ops.to_numpy(project_spans(head, task.tokens, pool.entities)),
            get_members(head.ops.to_numpy(pool.targets), [columns[n] for n in new]),
            prototypes,
            known,
            used,
            list_free({*taken, *used.values()}, len(prototypes)),
            lambda names: compare_names(
                task, names, tuple(known_names), name_vectors, ops=head.ops
            ),
            settings.seed,
        )
        chosen |= settings.assignment(new, evidence)
    return {label: chosen[label] for label in labels}


def get_members(targets: Any, columns: list[int]) -> Any:
    """(types, entities) Rows that take the mean over the entities of each type.

    targets (numpy.ndarray): (entities,) The column of each entity.
    columns (List[int]): The column of each type.
    """
    flags = numpy.stack([targets == column for column in columns])
    return flags / numpy.maximum(1, flags.sum(axis=1, keepdims=True))


def compare_names(
    task: AdaptTask,
    labels: list[str],
    others: tuple[str, ...],
    known: dict[tuple[str, ...], Floats2d],
    *,
    ops: Ops,
) -> Any:
    """(labels, others) How alike the names of types are, to the pipeline's encoder.

    task (AdaptTask): What encodes them.
    labels (List[str]): Names.
    others (Tuple[str, ...]): Names of the source's types, which are many and the same
        every time.
    known (Dict[Tuple[str, ...], Floats2d]): Names that are encoded already.
    ops (Ops): Where the arrays are made.
    """
    # Each by itself, so that it doesn't matter which have been encoded before.
    singles = [(label,) for label in labels]
    for names in (others, *singles):
        if names not in known:
            known[names] = encode_names(task, names, ops=ops)
    vectors, own = known[others], numpy.concatenate([known[name] for name in singles])
    # All names have much in common. What sets them apart is what counts.
    common = vectors.mean(axis=0)
    return get_cosines(own - common, vectors - common)


def encode_names(task: AdaptTask, names: Iterable[str], *, ops: Ops) -> Any:
    """(names, d2) A vector for the name of each type."""
    tokens = task.encode_texts([get_words(name) for name in names])
    return numpy.stack([ops.to_numpy(part).mean(axis=0) for part in tokens])


def choose_trained_rows(rows: dict[str, int], old: dict[str, int]) -> list[int]:
    """The prototypes that may move: None's only if no old type depends on it."""
    return [*rows.values()] if old else [NONE_ROW, *rows.values()]
