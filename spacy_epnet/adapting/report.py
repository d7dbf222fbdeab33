"""The report of an adaptation."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from spacy.language import Language
from spacy.tokens import Span

from ..recognizer.annotation import Prediction
from ..recognizer.base import FewShotRecognizer
from ..recognizer.pipeline import RecognizerPipeline
from ..recognizer.task import AdaptTask, LearningReport
from ..types import TokenVectors
from .support import Problem

# Share of a type's own examples below which it hasn't been learned.
LEARNED = 0.5


@dataclass
class AdaptReport:
    """Report of an adaptation, with the adapted pipeline.

    nlp (Language): The adapted pipeline.
    name (str): The adapted component.
    source (Dict[str, Any]): The source pipeline: its name, version and types, and the
        types of each corpus that it was trained on, if there were several.
    settings (Dict[str, Any]): The settings, as in a config.
    learning (LearningReport): What the recognizer learned.
    counts (Dict[str, int]): How often each new type is marked in the support set.
    seconds (Dict[str, float]): How long each step took.
    problems (List[Problem]): What is doubtful about the result, and why.
    """

    nlp: Language
    name: str
    source: dict[str, Any]
    settings: dict[str, Any]
    learning: LearningReport
    counts: dict[str, int]
    seconds: dict[str, float]
    problems: list[Problem] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): Everything but the pipeline, for JSON."""
        return {
            "component": self.name,
            "source": self.source,
            "settings": self.settings,
            "learning": self.learning.details,
            "support": self.counts,
            "seconds": self.seconds,
            "problems": [problem._asdict() for problem in self.problems],
        }


def describe_origin(source: RecognizerPipeline) -> dict[str, Any]:
    """Describe the pipeline that is adapted. See `AdaptReport`.

    RETURNS (Dict[str, Any]): Its name, version and types.
    """
    meta, recognizer = source.nlp.meta, source.recognizer
    return {
        "name": f"{meta['lang']}_{meta['name']}",
        "version": meta["version"],
        "types": list(recognizer.labels),
        "corpora": {name: list(types) for name, types in recognizer.corpora.items()},
    }


def find_confusions(
    recognizer: FewShotRecognizer, task: AdaptTask, tokens: TokenVectors
) -> list[Problem]:
    """Find types whose own examples aren't recognized after the adaptation.

    recognizer (FewShotRecognizer): The adapted recognizer.
    task (AdaptTask): What it has learned.
    tokens (TokenVectors): The token vectors of the support set.
    RETURNS (List[Problem]): A problem for each type that was mostly missed.
    """
    found: dict[str, Counter[str | None]] = {label: Counter() for label in task.labels}
    predictions = recognizer.recognize(task.docs, tokens)
    for gold, predicted in zip(task.golds, predictions, strict=True):
        for ent in gold.ents:
            if ent.label_ in found:
                found[ent.label_][_find_type(ent, predicted)] += 1
    problems = []
    for label, types in found.items():
        total = types.total()
        if types[label] < LEARNED * total:
            missed = f"only {types[label]} of its {total} examples are recognized"
            other, count = max(
                ((t, n) for t, n in types.items() if t != label),
                key=lambda pair: pair[1],
            )
            if other is None:
                reason = f"{count} are taken for no entity at all"
            else:
                reason = (
                    f"{count} are taken for {other}, from which they can hardly be "
                    "told apart"
                )
            advice = "Mark more examples that show what makes the type"
            what = f"{missed}, {reason}. {advice}"
            problems.append(Problem(label, what, is_fatal=False))
    return problems


def _find_type(ent: Span, predictions: list[Prediction]) -> str | None:
    for found in predictions:
        if (found.start, found.end) == (ent.start, ent.end):
            return found.label
    for found in predictions:
        if found.start < ent.end and ent.start < found.end:
            return found.label if found.label != ent.label_ else None
    return None
