"""EP-Net as a pipeline component: entities by the nearest prototype."""

from typing import Any, ClassVar

from spacy.tokens import Doc
from thinc.types import Floats2d

from ..recognizer.candidates import find_docs, get_layout
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.settings import RecognizerSettings
from ..recognizer.span_pool import get_span_pool, sample_nones
from ..recognizer.task import AdaptTask
from .adaptation import (
    EPNetReport,
    assign_prototypes,
    choose_trained_rows,
    describe_learning,
    gather_spans,
    get_known_names,
    list_names,
)
from .finetuning import tune
from .head import set_prototype
from .losses import get_loss
from .prototype_recognizer import PrototypeRecognizer
from .prototypes import join, list_rows
from .scopes import get_families, get_scopes
from .settings import EPNetSettings


class EPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    settings_type: ClassVar[type[RecognizerSettings]] = EPNetSettings

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        # Vectors of type names. Copies share them, as they share the encoder.
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
        tau = self.cfg["tau"] if self.cfg["dispersion_loss"] else None
        parts, d_outputs = get_loss(outputs, targets, tau=tau, scopes=scopes)
        backprop(d_outputs)
        return parts

    def list_names(self, labels: list[str]) -> list[tuple[str, ...]]:
        """List the names that haven't been encoded before. See the base."""
        new = [label for label in labels if label not in self.learned["ever_assigned"]]
        names = list_names(self.known_names, new)
        return [name for name in names if name not in self.name_vectors]

    @property
    def known_names(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The names of all types that it was trained on."""
        families = get_families(self.corpora)
        return get_known_names(self.learned["ever_assigned"], families)

    def learn(self, task: AdaptTask, settings: EPNetSettings.Adapt) -> EPNetReport:
        """Assign prototypes to new types, and fine-tune them. See the base."""
        self.name_vectors |= task.names
        head = self.model.get_ref("head")
        kept = self.generations if task.extends else []
        old = join(kept)
        pool = gather_spans(head, task, old, max_width=self.max_width)
        assignments = assign_prototypes(
            head,
            task,
            pool,
            settings,
            kept=kept,
            known=self.learned["ever_assigned"],
            known_names=self.known_names,
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


make_epnet_ner = register_factory("epnet_ner", EPNetRecognizer)
