"""EP-Net as a pipeline component: entities by the nearest prototype."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats1d, Floats2d

from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.settings import RecognizerSettings
from ..recognizer.spans import get_layout, get_span_pool, sample_nones
from ..recognizer.task import AdaptTask, LearningReport
from .assignment import (
    Assignment,
    assign_prototypes,
    choose_trained_rows,
    gather_spans,
    keep_named,
)
from .finetuning import Tuning, tune
from .losses import get_loss, get_names_loss
from .model import set_prototype
from .names import (
    check_names,
    describe,
    get_known_names,
    list_names,
)
from .prototype_recognizer import PrototypeRecognizer
from .prototypes import (
    find_scope,
    get_families,
    join,
    list_rows,
)
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
    summary = f"{tuning.steps} steps"
    if tuning.losses:
        summary += f", loss {tuning.losses[0]:.4f} to {tuning.losses[-1]:.4f}"
    return EPNetReport(
        f"{summary}: {tuning.stopped}",
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


class EPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    settings_type: ClassVar[type[RecognizerSettings]] = EPNetSettings

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        # Vectors of type names. Copies share them, as they share the encoder.
        self.name_vectors: dict[tuple[str, ...], Floats2d] = {}
        # A vector of the name of each type, while it is trained on a source domain.
        self.training_names: dict[str, Floats1d] = {}
        if self.model.attrs["names"]:
            # What each type that it is trained on is called in words, and whether the
            # map from there to prototypes has been trained.
            self.learned |= {"names": {}, "maps_names": False}

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
        names: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Initialize the component for training. See the base.

        names (Optional[Mapping[str, Iterable[str]]]): Names in words of each label, the
            usual one first, and descriptions. By default the words in the label itself.
        """
        check_names(self.name, names, takes_names=self.model.attrs["names"])
        super().initialize(get_examples, nlp=nlp, labels=labels)
        if self.model.attrs["names"]:
            given, families = names or {}, get_families(self.corpora)
            words = get_known_names(self.labels, families)
            self.learned["names"] = {
                label: [*given.get(label, ())] or [name]
                for label, name in zip(self.labels, words, strict=True)
            }

    def on_renamed(self, label: str, new: str) -> None:
        """Let a label keep its prototype and what it is in words. See the base."""
        super().on_renamed(label, new)
        names = self.learned.get("names", {})
        if label in names:
            names[new] = names.pop(label)

    def get_training_state(self) -> dict[str, Floats1d]:
        """Return the vectors of names. See the base."""
        return self.training_names

    def set_training_state(self, state: dict[str, Floats1d]) -> None:
        """Restore the vectors of names. See the base."""
        names = self.learned.get("names", {})
        self.training_names = {label: state[label] for label in names if label in state}

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        parts = {"L_s": f"{self.name}_spans", "L_d": f"{self.name}_dispersion"}
        if self.model.attrs["names"]:
            parts["L_n"] = f"{self.name}_names"
        return parts

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
            hard_share=self.cfg.get("hard_nones", 0.0),
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        scope = find_scope(docs, spans, targets, self.prototypes, self.corpora, ops=ops)
        inputs: tuple[Any, ...] = (docs, spans, scope.rows)
        names = self.training_names if self.cfg["name_weight"] else {}
        learns_names = bool(names) and names.keys() >= {*scope.labels}
        if learns_names:
            self.learned["maps_names"] = True
            drawn: list[Any] = [names[label] for label in scope.labels]
            inputs += (ops.asarray2f(numpy.stack(drawn)),)  # type: ignore[arg-type]
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        outputs, backprop = self.model.begin_update(inputs)
        tau = self.cfg["tau"] if self.cfg["dispersion_loss"] else None
        parts, d_outputs = get_loss(
            outputs[:2], scope.targets, tau=tau, scopes=scope.flags
        )
        if self.model.attrs["names"]:
            parts["L_n"] = 0.0
        if learns_names:
            parts["L_n"], d_named = get_names_loss(
                outputs[2],
                scope.targets,
                scope.flags,
                weight=self.cfg["name_weight"],
                narrow_share=self.cfg["narrow_share"],
            )
            d_outputs += (d_named,)
        backprop(d_outputs)
        return parts

    @property
    def knows_names(self) -> bool:
        """RETURNS (bool): Whether it knows types whose names others can be like."""
        return bool(self.known_names)

    def list_names(
        self, labels: list[str], texts: Mapping[str, str]
    ) -> list[tuple[str, ...]]:
        """List the names that haven't been encoded before. See the base."""
        new = [label for label in labels if label not in self.learned["ever_assigned"]]
        names = list_names(self.known_names, [describe(n, texts) for n in new])
        return [name for name in names if name not in self.name_vectors]

    @property
    def known_names(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The names of all types that it was trained on."""
        families, names = get_families(self.corpora), self.learned.get("names", {})
        known = get_known_names(self.learned["ever_assigned"], families)
        return tuple(
            names.get(label, [name])[0]
            for label, name in zip(self.learned["ever_assigned"], known, strict=True)
        )

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
            maps_names=self.learned.get("maps_names", False),
        )
        rows = {label: assigned.row for label, assigned in assignments.items()}
        self.learned["generations"] = [*kept, rows]
        self.set_labels([*old, *rows])
        for assigned in assignments.values():
            if assigned.prototype is not None:
                set_prototype(head, assigned.row, assigned.prototype)
        every = list_rows({**old, **rows}, ops=self.model.ops)
        pool = keep_named(head, task, pool, every, old)
        tuning = tune(
            head,
            task.tokens,
            pool,
            every,
            settings,
            tau=self.cfg["tau"] if settings.tau is None else settings.tau,
            trained_rows=choose_trained_rows(rows, old, pool),
            trains_projection=not task.extends,
            on_step=task.on_step,
        )
        if not task.extends and "overlaps" in task.config:
            self.cfg["overlaps"] = task.config["overlaps"]
        return describe_learning(assignments, tuning)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        # The encoder may be another one.
        self.name_vectors, self.training_names = {}, {}


make_epnet_ner = register_factory("epnet_ner", EPNetRecognizer)
