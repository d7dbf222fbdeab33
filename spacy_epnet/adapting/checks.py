"""Check whether an adaptation has learned its own examples."""

from collections import Counter

from spacy.tokens import Span

from ..recognizer.annotation import Prediction
from ..recognizer.base import FewShotRecognizer
from ..recognizer.task import AdaptTask
from ..types import TokenVectors
from .support import Problem

# Share of a type's own examples below which it hasn't been learned.
LEARNED = 0.5


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
