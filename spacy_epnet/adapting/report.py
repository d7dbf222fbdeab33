"""What an adaptation did."""

from dataclasses import dataclass, field
from typing import Any

from spacy.language import Language

from ..recognizer.contract import Contract
from ..recognizer.task import LearningReport
from .support import Problem


@dataclass
class AdaptReport:
    """What an adaptation did, and the pipeline that came of it.

    nlp (Language): The adapted pipeline.
    name (str): The adapted component.
    source (Dict[str, Any]): What was adapted: its name, version and types, and the
        types of each corpus that it was trained on, if there were several.
    settings (Dict[str, Any]): How it was done, as in a config.
    learning (LearningReport): What the recognizer tells of it.
    counts (Dict[str, int]): How often each new type is marked in the support set.
    seconds (Dict[str, float]): What took how long.
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


def describe_origin(nlp: Language, pipe: Contract) -> dict[str, Any]:
    """Say what is adapted. See `AdaptReport`.

    nlp (Language): The source pipeline.
    pipe (Contract): Its recognizer.
    RETURNS (Dict[str, Any]): What is known of it.
    """
    return {
        "name": f"{nlp.meta['lang']}_{nlp.meta['name']}",
        "version": nlp.meta["version"],
        "types": list(pipe.labels),
        "corpora": {name: list(types) for name, types in pipe.corpora.items()},
    }
