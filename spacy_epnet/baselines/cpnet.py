"""CP-Net: a prototype is the mean of its type's spans (appendix F of the paper).

All that is EP-Net's but how prototypes come about: they aren't trained, and nothing is
fine-tuned when types are exchanged.
"""

from collections.abc import Callable
from typing import Any

from pydantic import Field
from spacy.tokens import Doc

from ..epnet.assignment import gather_spans, number_columns
from ..epnet.component import PrototypeRecognizer
from ..epnet.model import begin_projecting, get_prototypes, project_spans, set_prototype
from ..epnet.prototypes import NONE_ROW, get_free_row, join
from ..epnet.settings import PREFER_NEAR, PREFER_PROBABLE, EPNetSettings
from ..epnet.types import Targets
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.settings import AdaptSettings, RecognizerSettings
from ..recognizer.spans import find_docs, get_layout, get_span_pool, sample_nones
from ..recognizer.task import AdaptTask, LearningReport
from ..types import Points
from .means import get_halves_loss, get_means


class CPNetSettings(RecognizerSettings):
    """CP-Net: each span of up to `max_width` tokens takes the type whose examples have
    the nearest mean.
    """

    none_samples: int = Field(
        40,
        ge=1,
        description="None spans that are sampled from each sentence in an update. The "
        "paper's are 20 for 1-shot and 40 for 5-shot targets.",
    )
    hard_nones: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of them that overlap an entity, where there are any.",
    )
    inertia: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Share of the former means in the means after a batch of a "
        "training, by which the source's own types are recognized.",
    )
    overlaps: Callable[..., Any] = Field(
        PREFER_NEAR, description="Which of two overlapping predictions is kept."
    )

    class Model(EPNetSettings.Model):
        """The settings of the model."""

        initial_dispersion: float = Field(
            2.0,
            gt=0,
            description="Mean squared distance between the initial prototypes.",
        )

    class Adapt(AdaptSettings):
        """The settings of an adaptation. Nothing is fine-tuned. Of overlapping spans
        the more probable one is right more often, on source types that were held out.
        """

        none_samples: int = Field(
            40,
            ge=1,
            description="None spans of each sentence, whose mean is None's prototype.",
        )
        hard_nones: float = Field(
            0.5, ge=0, le=1, description="Share of them that overlap an entity."
        )
        overlaps: Callable[..., Any] = Field(
            PREFER_PROBABLE,
            description="The component's setting of that name after the adaptation.",
        )


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
        """Move the prototypes of types to the means of their points.

        points (Points): The points.
        targets (Targets): The column of each.
        rows (Dict[int, int]): The row of each column. Others stay as they are.
        inertia (float): Share of the former prototypes in the new ones.
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
