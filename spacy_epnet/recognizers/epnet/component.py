"""EP-Net as a pipeline component: entities by the nearest prototype."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, Span
from spacy.training import Example

from ...types import Bools2d, Points, Spans, TokenVectors
from ..annotation import Prediction, deal_to_docs
from ..base import FewShotRecognizer
from ..gold import Gold
from ..layout import get_layout
from ..learning import Lesson
from .adaptation import (
    EPNetLearning,
    assign_prototypes,
    choose_trained_rows,
    describe_learning,
    gather_spans,
)
from .decoding import Winner, drop_overlaps, prefer_near
from .finetuning import tune
from .head import measure_spans, project_spans, set_prototype
from .losses import get_dispersion_loss, get_span_loss
from .model import get_table_size
from .pool import get_span_pool, sample_nones
from .prototypes import NONE_ROW, Generation, fit_generations, join, list_rows
from .scopes import find_docs, get_families, get_scopes
from .search import find_winners
from .settings import EPNetAdaptSettings, EPNetSettings
from .types import HeadOutput, Rows, Targets


class EPNetRecognizer(FewShotRecognizer):
    """Pipeline component for few-shot named entity recognition with EP-Net."""

    settings_type = EPNetSettings
    adapt_type = EPNetAdaptSettings
    profiles = Path(__file__).with_name("profiles.cfg")
    fixed_when_extending = frozenset({"overlaps"})

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recogniser. See the factory for the settings."""
        super().__init__(*args, **kwargs)
        # The rows of types that there have been, by the type that had each last.
        self.learned |= {"generations": [{}], "ever_assigned": {}}

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

    # What can be recognised

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest entity that can be predicted, in tokens."""
        return self.model.attrs["max_width"]

    @property
    def limits(self) -> str:
        """RETURNS (str): What is true of entities that can't be predicted."""
        return (
            f"longer than max_width = {self.max_width} tokens, or beginning or ending "
            "in whitespace"
        )

    def can_predict(self, ent: Span) -> bool:
        """Whether an entity is a candidate."""
        is_short = ent.end - ent.start <= self.max_width
        return is_short and not (ent[0].is_space or ent[-1].is_space)

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognise the entities of docs that are encoded already. See the base."""
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
            kept += drop_overlaps(winners, self.cfg["overlaps"])
            n_older += len(generation)
        labels = ["", *self.labels]  # column 0 is None's
        # Only distances can be compared between generations.
        predictions = [
            Prediction(
                winner.start, winner.end, labels[winner.column], winner.probability
            )
            for winner in drop_overlaps(kept, prefer_near)
        ]
        return deal_to_docs(predictions, docs)

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

    def embed(self, tokens: TokenVectors, spans: Spans) -> Points:
        """Project spans to the space of the prototypes. See the base."""
        return project_spans(self.model.get_ref("head"), tokens, spans)

    def rate(self, tokens: TokenVectors, spans: Spans) -> list[dict[str | None, float]]:
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

    # Learning

    @property
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether there are weights."""
        return get_table_size(self.model) is not None

    @property
    def loss_parts(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Where `update` puts the parts of the loss."""
        return {"L_s": f"{self.name}_spans", "L_d": f"{self.name}_dispersion"}

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make the weights. See the base."""
        rows = list_rows(self.prototypes, ops=self.model.ops)
        self.model.initialize(X=(docs, self.model.ops.alloc2i(0, 2), rows))
        self.set_output(int(rows.max()) + 1)

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, up to the gradients. See the base."""
        ops = self.model.ops
        pool = get_span_pool(
            golds,
            get_layout(docs, ops=ops),
            {label: i for i, label in enumerate(self.labels, 1)},
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

    def learn(self, lesson: Lesson, settings: EPNetAdaptSettings) -> EPNetLearning:
        """Hand prototypes to new types, and fine-tune them. See the base."""
        head = self.model.get_ref("head")
        kept = self.generations if lesson.extends else []
        old = join(kept)
        pool = gather_spans(head, lesson, old, max_width=self.max_width)
        known = self.learned["ever_assigned"]
        assignments = assign_prototypes(
            head,
            lesson,
            pool,
            settings,
            kept=kept,
            known=known,
            families=get_families(self.corpora),
        )
        rows = {label: assigned.row for label, assigned in assignments.items()}
        self.learned["generations"] = [*kept, rows]
        self.set_labels([*old, *rows])
        for assigned in assignments.values():
            if assigned.prototype is not None:
                set_prototype(head, assigned.row, assigned.prototype)
        tuning = tune(
            head,
            lesson.tokens,
            pool,
            list_rows({**old, **rows}, ops=self.model.ops),
            settings,
            tau=self.cfg["tau"] if settings.tau is None else settings.tau,
            trained_rows=choose_trained_rows(rows, old),
            trains_projection=not lesson.extends,
            on_step=lesson.on_step,
        )
        if not lesson.extends:
            self.cfg["overlaps"] = lesson.config["overlaps"]
        return describe_learning(assignments, tuning)
