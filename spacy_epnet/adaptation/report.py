"""What an adaptation did."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spacy.language import Language

from .settings import AdaptSettings
from .support import Problem
from .tune import Tuning


class Assigned(NamedTuple):
    """The prototype that a type has begun with."""

    row: int
    origins: dict[str, float]  # source types that it has begun as, and their shares

    def show_origins(self, count: int = 3, least: float = 0.05) -> str:
        """Write what it has begun as, the largest shares first."""
        shares = sorted(self.origins.items(), key=lambda item: -item[1])
        shown = [f"{label} {p:.0%}" for label, p in shares[:count] if p >= least]
        return ", ".join(shown) or "no source type"


@dataclass
class AdaptReport:
    """What an adaptation did, and the pipeline that came of it.

    nlp (Language): The adapted pipeline.
    name (str): The adapted component.
    settings (AdaptSettings): How it was done.
    assignment (Dict[str, Assigned]): The prototype of each new type.
    counts (Dict[str, int]): How often each type is marked in the support set.
    tuning (Tuning): The loss of each step, and why it stopped.
    seconds (Dict[str, float]): What took how long.
    problems (List[Problem]): What is doubtful about the result, and why.
    """

    nlp: Language
    name: str
    settings: AdaptSettings
    assignment: dict[str, Assigned]
    counts: dict[str, int]
    tuning: Tuning
    seconds: dict[str, float]
    problems: list[Problem] = field(default_factory=list)

    @property
    def losses(self) -> list[float]:
        """RETURNS (List[float]): The loss of each pass over the support set."""
        return self.tuning.losses

    @property
    def steps(self) -> int:
        """RETURNS (int): How many steps were made."""
        return self.tuning.steps

    @property
    def stopped(self) -> str:
        """RETURNS (str): Why there were no more steps."""
        return self.tuning.stopped

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): Everything but the pipeline, for JSON."""
        return {
            "component": self.name,
            "settings": self.settings.to_dict(),
            "assignment": {
                label: assigned._asdict() for label, assigned in self.assignment.items()
            },
            "support": self.counts,
            "losses": self.losses,
            "steps": self.steps,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "problems": [problem._asdict() for problem in self.problems],
        }
