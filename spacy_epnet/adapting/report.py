"""The report of an adaptation."""

from dataclasses import dataclass, field
from typing import Any

from spacy.language import Language

from ..recognizer.pipeline import RecognizerPipeline
from ..recognizer.task import LearningReport
from .support import Problem


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

    source (RecognizerPipeline): The source pipeline.
    RETURNS (Dict[str, Any]): Its name, version and types.
    """
    meta, recognizer = source.nlp.meta, source.recognizer
    return {
        "name": f"{meta['lang']}_{meta['name']}",
        "version": meta["version"],
        "types": list(recognizer.labels),
        "corpora": {name: list(types) for name, types in recognizer.corpora.items()},
    }
