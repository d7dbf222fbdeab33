"""The paper's Adapt step: prototypes for new types, fine-tuned on their examples."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy
from thinc.api import Model
from thinc.types import Floats2d

from ..corpora.mixing import split_type
from ..recognizer.candidates import get_layout
from ..recognizer.span_pool import SpanPool, get_span_pool
from ..recognizer.task import AdaptTask, LearningReport
from .assignment import (
    Assignment,
    Evidence,
    get_cosines,
    list_free,
)
from .finetuning import Tuning
from .head import get_prototypes, project_spans
from .prototypes import NONE_ROW, Generation, join, list_rows
from .settings import EPNetSettings


@dataclass
class EPNetReport(LearningReport):
    """Report of an adaptation of EP-Net.

    assignments (Dict[str, Assignment]): The prototype that each type began with.
    tuning (Tuning): The loss of each pass, and why it stopped.
    """

    assignments: dict[str, Assignment] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)


def describe_learning(
    assignments: dict[str, Assignment], tuning: Tuning
) -> EPNetReport:
    """Describe an adaptation in words and numbers."""
    first, last = tuning.losses[0], tuning.losses[-1]
    return EPNetReport(
        f"{tuning.steps} steps, loss {first:.4f} to {last:.4f}: {tuning.stopped}",
        ("prototype", "begun as"),
        {
            label: (str(assigned.row), assigned.describe_origins())
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
    head: Model[Any, Any], task: AdaptTask, old: dict[str, int], *, max_width: int
) -> SpanPool:
    """List the spans of a support set.

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
) -> dict[str, Assignment]:
    """Choose what new types begin with.

    head (Model): The head.
    task (AdaptTask): The support set.
    pool (SpanPool): Its spans.
    settings (EPNetSettings.Adapt): How to choose.
    kept (List[Generation]): Types that stay, whose rows can't be taken.
    known (Dict[str, int]): The rows of all types that the source has been trained on.
    known_names (Tuple[str, ...]): Their names.
    name_vectors (Mapping[Tuple[str, ...], Floats2d]): The vectors of their names.
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
        evidence = Evidence(
            head.ops.to_numpy(project_spans(head, task.tokens, pool.entities)),
            get_members(head.ops.to_numpy(pool.targets), [columns[n] for n in new]),
            prototypes,
            known,
            used,
            list_free({*taken, *used.values()}, len(prototypes)),
            compare_names(new, known_names, name_vectors),
            settings.seed,
        )
        chosen |= settings.assignment(new, evidence)
    return {label: chosen[label] for label in labels}


def get_members(targets: Any, columns: list[int]) -> Any:
    """(types, entities) Return rows that take the mean over the entities of each type.

    targets (numpy.ndarray): (entities,) The column of each entity.
    columns (List[int]): The column of each type.
    """
    flags = numpy.stack([targets == column for column in columns])
    return flags / numpy.maximum(1, flags.sum(axis=1, keepdims=True))


def get_known_names(
    known: Iterable[str], families: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the names of source types, without the corpora that they are called after.

    known (Iterable[str]): The types.
    families (Mapping[str, str]): The corpora of types that are called after one.
    """
    return tuple(split_type(n)[1] if n in families else n for n in known)


def list_names(known: tuple[str, ...], labels: list[str]) -> list[tuple[str, ...]]:
    """List the names that are compared, those of a tuple encoded together.

    known (Tuple[str, ...]): Names of source types, which are the same every time.
    labels (List[str]): New types. Each is encoded by itself, so that its vector doesn't
        depend on the others.
    """
    return [known, *((label,) for label in labels)] if known and labels else []


def compare_names(
    labels: list[str],
    known: tuple[str, ...],
    vectors: Mapping[tuple[str, ...], Floats2d],
) -> Any:
    """(labels, known) Find how alike the names of types are to the pipeline's encoder.

    labels (List[str]): New types.
    known (Tuple[str, ...]): Names of source types.
    vectors (Mapping[Tuple[str, ...], Floats2d]): Vectors of what `list_names` gave.
    """
    if not known:
        return numpy.zeros((len(labels), 0))
    others: Any = vectors[known]
    own = numpy.concatenate([vectors[label,] for label in labels])
    # All names have much in common. What sets them apart is what counts.
    common = others.mean(axis=0)
    return get_cosines(own - common, others - common)


def choose_trained_rows(rows: dict[str, int], old: dict[str, int]) -> list[int]:
    """Return the prototypes that may move: None's only if no old type depends on it."""
    return [*rows.values()] if old else [NONE_ROW, *rows.values()]
