"""CP-Net: a prototype is the mean of its type's spans (appendix F of the paper).

All that is EP-Net's but how prototypes come about: they aren't trained, and nothing is
fine-tuned when types are exchanged.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from ..epnet.adaptation import gather_spans, number_columns
from ..epnet.head import begin_projecting, get_prototypes, project_spans, set_prototype
from ..epnet.prototype_recognizer import PrototypeRecognizer
from ..epnet.prototypes import NONE_ROW, get_free_row, join
from ..epnet.types import HeadOutput, ModelInput, Targets
from ..recognizer.candidates import find_docs, get_layout
from ..recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ..recognizer.gold import Gold
from ..recognizer.settings import AdaptSettings, ComponentSettings
from ..recognizer.span_pool import get_span_pool, sample_nones
from ..recognizer.task import AdaptTask, LearningReport
from ..types import Points
from .means import get_halves_loss, get_means

OWN_CONFIG = """
[component]
none_samples = 20
hard_nones = 0.0
inertia = 0.5
overlaps = {"@misc": "spacy-epnet.prefer_near.v1"}

[component.model]
@architectures = "spacy-epnet.EPNet.v1"
max_width = 10
width_size = 25
prototype_size = 512
depth = 3
n_prototypes = 101
initial_dispersion = 2.0
similarity = "euclidean"
learn_rate_scale = 1.0
edges = true
"""


class CPNetSettings(ComponentSettings):
    """The settings of the component. See the factory for what they mean."""

    none_samples: int = Field(ge=1)
    hard_nones: float = Field(ge=0, le=1)
    inertia: float = Field(ge=0, lt=1)
    overlaps: Callable


class CPNetAdaptSettings(AdaptSettings):
    """The settings of an adaptation.

    none_samples (int): None spans of each sentence, whose mean None's prototype is.
    hard_nones (float): Share of them that overlaps an entity.
    overlaps (Callable): The component's setting of that name after the adaptation.
    """

    none_samples: int = Field(ge=1)
    hard_nones: float = Field(ge=0, le=1)
    overlaps: Callable


@Language.factory(
    "cpnet_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_cpnet_ner(
    nlp: Language,
    name: str,
    model: Model[ModelInput, HeadOutput],
    none_samples: int,
    hard_nones: float,
    inertia: float,
    overlaps: Callable,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a recognizer with conventional prototypes: every span of up to
    `max_width` tokens takes the type whose examples have the nearest mean.

    model (Model[ModelInput, HeadOutput]): The model, see `spacy-epnet.EPNet.v1`.
    none_samples (int): None spans to sample from each sentence in an update.
    hard_nones (float): Share of them that overlaps an entity, where there are any.
    inertia (float): Share of the means so far in those after a batch of a training,
        by which the source's own types are recognized.
    overlaps (Callable[[Winner], float]): Which of two overlapping predictions is the
        better one, see `decoding.py`.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        CPNetRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        none_samples=none_samples,
        hard_nones=hard_nones,
        inertia=inertia,
        overlaps=overlaps,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class CPNetRecognizer(PrototypeRecognizer):
    """Pipeline component for few-shot named entity recognition with CP-Net."""

    settings_type = CPNetSettings
    adapt_type = CPNetAdaptSettings
    profiles = Path(__file__).with_name("cpnet.cfg")

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

    def learn(self, task: AdaptTask, settings: CPNetAdaptSettings) -> LearningReport:
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
