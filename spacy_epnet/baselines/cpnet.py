"""CP-Net: a prototype is the mean of its type's spans (appendix F of the paper).

All that is EP-Net's but how prototypes come about: they aren't trained, and nothing is
fine-tuned when types are exchanged.
"""

from typing import Any

from spacy.tokens import Doc

from ..epnet.assignment import gather_spans, number_columns
from ..epnet.model import begin_projecting, get_prototypes, project_spans, set_prototype
from ..epnet.prototype_recognizer import PrototypeRecognizer
from ..epnet.prototypes import NONE_ROW, get_free_row, join
from ..epnet.types import Targets
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.spans import find_docs, get_layout, get_span_pool, sample_nones
from ..recognizer.task import AdaptTask, LearningReport
from ..types import Points
from .means import get_halves_loss, get_means
from .settings import CPNetSettings


class CPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with CP-Net."""

    settings_type = CPNetSettings

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Let spans be near the means of their types, up to the gradients. See the
        base.
        """
        ops, head = self.model.ops, self.model.get_ref("head")
        tokens, backprop_tokens = self.model.get_ref("flat_tokens").begin_update(docs)
        columns = self.columns
        layout = get_layout(docs, ops=ops)
        pool = get_span_pool(golds, layout, columns, max_width=self.max_width, ops=ops)
        pool = sample_nones(
            pool,
            count=self.cfg["none_samples"],
            hard_share=self.cfg["hard_nones"],
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        points, backprop = begin_projecting(head, tokens, spans)
        numbers = find_docs(spans[:, 0], docs, ops=ops)
        loss, d_points = get_halves_loss(points, targets, numbers)
        backprop_tokens(backprop(d_points))
        rows = {0: NONE_ROW, **{columns[n]: r for n, r in self.prototypes.items()}}
        self.move_prototypes(points, targets, rows, inertia=self.cfg["inertia"])
        return {self.name: loss}

    def move_prototypes(
        self, points: Points, targets: Targets, rows: dict[int, int], *, inertia: float
    ) -> None:
        """Move the prototypes in the rows of some columns to the means of their points,
        but for a share of the former prototypes, the inertia.
        """
        head = self.model.get_ref("head")
        means: Any = get_means(points, targets, max(rows) + 1)
        before: Any = get_prototypes(head)
        for column in {*targets.tolist()} & {*rows}:
            row = rows[column]
            mean = inertia * before[row] + (1 - inertia) * means[column]
            set_prototype(head, row, mean.astype("f"))

    def learn(self, task: AdaptTask, settings: CPNetSettings.Adapt) -> LearningReport:
        """Take the means of the support set's spans. See the base."""
        ops, head = self.model.ops, self.model.get_ref("head")
        kept = self.generations if task.extends else []
        old = join(kept)
        pool = gather_spans(head, task, old, max_width=self.max_width)
        pool = sample_nones(
            pool,
            count=settings.none_samples,
            hard_share=settings.hard_nones,
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        rows: dict[str, int] = {}
        for label in task.labels:
            rows[label] = get_free_row({*old.values(), *rows.values()})
        self.learned["generations"] = [*kept, rows]
        self.set_labels([*old, *rows])
        columns = number_columns(task, old)
        moved = {columns[label]: row for label, row in rows.items()}
        if not old:
            # Otherwise older types depend on None's.
            moved[0] = NONE_ROW
            self.cfg["overlaps"] = task.config["overlaps"]
        points = project_spans(head, task.tokens, spans)
        self.move_prototypes(points, targets, moved, inertia=0.0)
        counts = {label: int((targets == columns[label]).sum()) for label in rows}
        n_nones = int((targets == 0).sum())
        return LearningReport(
            f"prototypes are the means of {sum(counts.values())} entities and "
            f"{n_nones} other spans",
            ("prototype", "spans"),
            {label: (str(rows[label]), str(n)) for label, n in counts.items()},
            {"spans": counts, "none_spans": n_nones},
        )


make_cpnet_ner = register_factory("cpnet_ner", CPNetRecognizer)
