"""EP-Net as a pipeline component: entities by the nearest prototype."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats2d

from ..recognizer.gold import Gold
from ..recognizer.layout import find_docs, get_layout
from ..recognizer.settings import ComponentSettings
from ..recognizer.span_pool import get_span_pool, sample_nones
from ..recognizer.task import AdaptTask
from ..types import Bools2d
from .adaptation import (
    EPNetReport,
    assign_prototypes,
    choose_trained_rows,
    describe_learning,
    gather_spans,
)
from .finetuning import tune
from .head import set_prototype
from .losses import get_dispersion_loss, get_span_loss
from .prototype_recognizer import PrototypeRecognizer
from .prototypes import join, list_rows
from .scopes import get_families, get_scopes
from .settings import EPNetAdaptSettings, EPNetSettings
from .types import HeadOutput, Targets


class EPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    settings_type: ClassVar[type[ComponentSettings]] = EPNetSettings
    adapt_type = EPNetAdaptSettings
    profiles = Path(__file__).with_name("profiles.cfg")

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        # Of types, by their names. Copies share them, as they share the encoder.
        self.name_vectors: dict[tuple[str, ...], Floats2d] = {}

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        return {"L_s": f"{self.name}_spans", "L_d": f"{self.name}_dispersion"}

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, up to the gradients. See the base."""
        self.name_vectors.clear()
        ops = self.model.ops
        pool = get_span_pool(
            golds,
            get_layout(docs, ops=ops),
            self.columns,
            max_width=self.max_width,
            ops=ops,
        )
        pool = sample_nones(
            pool,
            count=self.cfg["none_samples"],
            hard_share=self.cfg["hard_nones"],
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        rows = list_rows(self.prototypes, ops=ops)
        outputs, backprop = self.model.begin_update((docs, spans, rows))
        scopes = get_scopes(docs, self.corpora, self.labels, ops=ops)
        if scopes is not None:
            scopes = scopes[find_docs(spans[:, 0], docs, ops=ops)]
        parts, d_outputs = self.get_loss([], (targets, outputs), scopes=scopes)
        backprop(d_outputs)
        return parts

    def get_loss(
        self,
        examples: Iterable[Example],
        scores: tuple[Targets, HeadOutput],
        *,
        scopes: Bools2d | None = None,
    ) -> tuple[dict[str, float], HeadOutput]:
        """Find the loss and its gradient.

        examples (Iterable[Example]): Not needed.
        scores (Tuple[Targets, HeadOutput]): The targets of the spans chosen from a
            batch, and what the model gave for them.
        scopes (Optional[Bools2d]): Which columns of the distances count for each span,
            if not all.
        RETURNS (Tuple[Dict[str, float], HeadOutput]): The parts of the loss, and its
            gradient with respect to the model's outputs.
        """
        targets, (distances, prototypes) = scores
        span_loss, d_distances = get_span_loss(distances, targets, scopes)
        if self.cfg["dispersion_loss"] and len(targets):
            dispersion, d_prototypes = get_dispersion_loss(prototypes, self.cfg["tau"])
        else:
            dispersion, d_prototypes = 0.0, prototypes * 0
        return {"L_s": span_loss, "L_d": dispersion}, (d_distances, d_prototypes)

    def learn(self, task: AdaptTask, settings: EPNetAdaptSettings) -> EPNetReport:
        """Hand prototypes to new types, and fine-tune them. See the base."""
        head = self.model.get_ref("head")
        kept = self.generations if task.extends else []
        old = join(kept)
        pool = gather_spans(head, task, old, max_width=self.max_width)
        known = self.learned["ever_assigned"]
        assignments = assign_prototypes(
            head,
            task,
            pool,
            settings,
            kept=kept,
            known=known,
            families=get_families(self.corpora),
            name_vectors=self.name_vectors,
        )
        rows = {label: assigned.row for label, assigned in assignments.items()}
        self.learned["generations"] = [*kept, rows]
        self.set_labels([*old, *rows])
        for assigned in assignments.values():
            if assigned.prototype is not None:
                set_prototype(head, assigned.row, assigned.prototype)
        tuning = tune(
            head,
            task.tokens,
            pool,
            list_rows({**old, **rows}, ops=self.model.ops),
            settings,
            tau=self.cfg["tau"] if settings.tau is None else settings.tau,
            trained_rows=choose_trained_rows(rows, old),
            trains_projection=not task.extends,
            on_step=task.on_step,
        )
        if not task.extends:
            self.cfg["overlaps"] = task.config["overlaps"]
        return describe_learning(assignments, tuning)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        # The encoder may be another one.
        self.name_vectors = {}
