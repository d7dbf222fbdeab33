"""EP-Net as a pipeline component: entities by the nearest prototype."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.types import Floats2d

from ..recognizer.annotation import Prediction, split_by_doc
from ..recognizer.base import Centers, FewShotRecognizer
from ..recognizer.factory import register_factory
from ..recognizer.gold import Gold
from ..recognizer.settings import RecognizerSettings
from ..recognizer.spans import find_docs, get_layout, get_span_pool, sample_nones
from ..recognizer.task import AdaptTask, LearningReport
from ..types import Points, Spans, TokenVectors
from .assignment import (
    Assignment,
    assign_prototypes,
    choose_trained_rows,
    describe,
    gather_spans,
    get_known_names,
    list_names,
)
from .decoding import Winner, find_winners, keep_best, prefer_near
from .finetuning import Tuning, tune
from .losses import get_loss
from .model import (
    get_prototypes,
    get_table_size,
    measure_spans,
    project_spans,
    set_prototype,
)
from .names import draw_names, is_drawn
from .prototypes import (
    NONE_ROW,
    Generation,
    fit_generations,
    get_families,
    get_scopes,
    join,
    list_rows,
    narrow,
)
from .settings import EPNetSettings
from .types import Rows


class PrototypeRecognizer(FewShotRecognizer):
    """Recognizes spans by the nearest prototype, however prototypes come about."""

    fixed_when_extending = frozenset({"overlaps"})

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recognizer. See the factories for the settings."""
        super().__init__(*args, **kwargs)
        # The rows of types that there have been, by the type that had each last.
        self.learned |= {"generations": [{}], "ever_assigned": {}}

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest candidate span, in tokens."""
        return self.model.attrs["max_width"]

    # The prototype table

    @property
    def generations(self) -> list[Generation]:
        """RETURNS (List[Generation]): Labels that were learned together."""
        return self.learned["generations"]

    @property
    def prototypes(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The row of the prototype table of each label."""
        return join(self.generations)

    @property
    def rows_in_use(self) -> list[Rows]:
        """RETURNS (List[Rows]): The rows of each generation, None's first."""
        ops = self.model.ops
        return [list_rows(labels, ops=ops) for labels in self.generations]

    def list_centers(self) -> Centers | None:
        """Take the prototypes: None's, those of the labels, and the free ones. See the
        contract.
        """
        points = get_prototypes(self.model.get_ref("head"))
        rows = {NONE_ROW: None, **{row: n for n, row in self.prototypes.items()}}
        free = [row for row in range(len(points)) if row not in rows]
        return Centers([*rows.values(), *("" for _ in free)], points[[*rows, *free]])

    def on_labels(self) -> None:
        """Assign new labels a free prototype, and note who has had which."""
        families = get_families(self.corpora)
        generations = fit_generations(self.generations, self.labels, families)
        rows = join(generations)
        known = self.learned["ever_assigned"].items()
        former = {label: row for label, row in known if row not in rows.values()}
        self.learned["generations"] = generations
        self.learned["ever_assigned"] = {**former, **rows}
        self.set_output(max(rows.values(), default=NONE_ROW) + 1)

    def on_renamed(self, label: str, new: str) -> None:
        """Let a label keep its prototype under another name."""
        names = {label: new}
        self.learned["generations"] = [
            {names.get(old, old): row for old, row in generation.items()}
            for generation in self.generations
        ]
        self.learned["ever_assigned"].pop(label, None)

    def check_learned(self) -> None:
        """Raise an error if labels and prototypes don't fit together."""
        if list(self.prototypes) != list(self.labels):
            raise ValueError("its labels and those of its prototypes differ")
        size = get_table_size(self.model)
        for label, row in self.prototypes.items():
            if size is not None and not 0 < row < size:
                raise ValueError(f"{label} is assigned row {row} of {size} prototypes")

    # Recognition

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        found = find_winners(
            self.model.get_ref("head"),
            tokens,
            get_layout(docs, ops=self.model.ops),
            self.rows_in_use,
            max_width=self.max_width,
            threshold=self.cfg["threshold"],
        )
        kept: list[Winner] = []
        n_older = 0
        for generation, winners in zip(self.generations, found, strict=True):
            winners = [w._replace(column=n_older + w.column) for w in winners]
            winners = self._take_in_scope(winners, docs)
            kept += keep_best(winners, self.cfg["overlaps"])
            n_older += len(generation)
        labels = ["", *self.labels]  # column 0 is None's
        # Only distances can be compared between generations.
        predictions = [
            Prediction(
                winner.start, winner.end, labels[winner.column], winner.probability
            )
            for winner in keep_best(kept, prefer_near)
        ]
        return split_by_doc(predictions, docs)

    def _take_in_scope(self, winners: list[Winner], docs: list[Doc]) -> list[Winner]:
        """Drop spans of types that aren't marked in the corpus that a doc is from."""
        ops = self.model.ops
        scopes = get_scopes(docs, self.corpora, self.labels, ops=ops)
        if scopes is None or not winners:
            return winners
        starts = ops.asarray1i([winner.start for winner in winners])
        columns = ops.asarray1i([winner.column for winner in winners])
        counts = scopes[find_docs(starts, docs, ops=ops), columns].tolist()
        return [winner for winner, c in zip(winners, counts, strict=True) if c]

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Project spans to the space of the prototypes. See the base."""
        return project_spans(self.model.get_ref("head"), tokens, spans)

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans: each label among those of its
        generation, and under None that no generation takes it for an entity. See the
        base.
        """
        head = self.model.get_ref("head")
        found: list[dict[str | None, float]] = [{None: 1.0} for _ in spans]
        measured = measure_spans(head, tokens, spans, self.rows_in_use)
        for labels, distances in zip(self.generations, measured, strict=True):
            likelihoods = self.model.ops.softmax(-distances, axis=1)
            for scores, row in zip(found, likelihoods.tolist(), strict=True):
                scores[None] = min(scores[None], row[0])
                scores.update(zip(labels, row[1:], strict=True))
        return found

    # The weights

    @property
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether there are weights."""
        return get_table_size(self.model) is not None

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make the weights. See the base."""
        rows = list_rows(self.prototypes, ops=self.model.ops)
        self.model.initialize(X=(docs, self.model.ops.alloc2i(0, 2), rows))
        self.set_output(int(rows.max()) + 1)


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
    first, last = (tuning.losses or [0.0])[0], (tuning.losses or [0.0])[-1]
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


class EPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    settings_type: ClassVar[type[RecognizerSettings]] = EPNetSettings

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        # Vectors of type names. Copies share them, as they share the encoder.
        self.name_vectors: dict[tuple[str, ...], Floats2d] = {}
        # Vectors of the names of each type, while it is trained on a source domain.
        self.training_names: dict[str, Floats2d] = {}
        if self.model.attrs["names"]:
            self.learned["names"] = {}  # of each type that it is trained on, in words

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Mapping[str, Iterable[str]] | Iterable[str] | None = None,
        names: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Initialize the component for training. See the base.

        names (Optional[Mapping[str, Iterable[str]]]): Names in words of each label, and
            descriptions. By default the words in the label itself.
        """
        super().initialize(get_examples, nlp=nlp, labels=labels)
        if self.model.attrs["names"]:
            given = names or {}
            self.learned["names"] = {
                label: [*given.get(label, [name])]
                for label, name in zip(self.labels, self.known_names, strict=True)
            }

    def get_training_state(self) -> dict[str, Floats2d]:
        """Return the vectors of names. See the base."""
        return self.training_names

    def set_training_state(self, state: dict[str, Floats2d]) -> None:
        """Restore the vectors of names. See the base."""
        self.training_names = state

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
            hard_share=self.cfg.get("hard_nones", 0.0),
            ops=ops,
        )
        spans, targets = pool.flatten(ops=ops)
        # Even if there is nothing to learn, the gradients of other components that
        # share the transformer may depend on this one to be passed on.
        rows = list_rows(self.prototypes, ops=ops)
        names = draw_names(
            self.training_names, self.columns, share=self.cfg["name_share"], ops=ops
        )
        inputs = (docs, spans, rows) if names is None else (docs, spans, rows, names)
        outputs, backprop = self.model.begin_update(inputs)
        scopes = get_scopes(docs, self.corpora, self.labels, ops=ops)
        if scopes is not None:
            scopes = scopes[find_docs(spans[:, 0], docs, ops=ops)]
            if is_drawn(self.cfg["narrow_share"], ops=ops):
                scopes, targets = narrow(scopes, targets, ops=ops)
        tau = self.cfg["tau"] if self.cfg["dispersion_loss"] else None
        parts, d_outputs = get_loss(outputs, targets, tau=tau, scopes=scopes)
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
        if not task.extends and "overlaps" in task.config:
            self.cfg["overlaps"] = task.config["overlaps"]
        return describe_learning(assignments, tuning)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        # The encoder may be another one.
        self.name_vectors = {}


make_epnet_ner = register_factory("epnet_ner", EPNetRecognizer)
