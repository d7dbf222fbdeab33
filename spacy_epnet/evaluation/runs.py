"""Find the artifacts in the folder of a run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import srsly

from ..corpora.files import read_lines, read_text
from ..errors import EvaluationError
from ..recognizer.pipeline import is_pipeline

ADVICE = (
    "Give the folder of a run, such as training/demo after: python -m spacy project "
    "run all"
)


@dataclass
class RunFolder:
    """Artifacts found in a run folder.

    path (Path): The folder.
    pipeline (Optional[Path]): A pipeline in it, the adapted one if there are several.
    benchmarks (Dict[str, Dict]): Results of `spacy epnet benchmark`, by file.
    episodes (Dict[str, Dict]): Results of `spacy epnet episodes`, by file.
    adaptations (Dict[str, Dict]): Reports of `spacy epnet adapt`, by file.
    logs (Dict[str, List[Dict]]): Logs of trainings, by file.
    """

    path: Path
    pipeline: Path | None = None
    benchmarks: dict[str, Any] = field(default_factory=dict)
    episodes: dict[str, Any] = field(default_factory=dict)
    adaptations: dict[str, Any] = field(default_factory=dict)
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """RETURNS (List[Path]): The files that were read."""
        found = (self.benchmarks, self.episodes, self.adaptations, self.logs)
        return [self.path / name for files in found for name in files]


def read_folder(path: Path) -> RunFolder:
    """Find out what a folder has to show. Files of other kinds are passed over."""
    if not path.is_dir():
        raise EvaluationError(f"Can't report on '{path}': there is no folder. {ADVICE}")
    run = RunFolder(path)
    folders = [path, *sorted(p for p in path.iterdir() if p.is_dir())]
    # An empty folder may become a pipeline, but is none.
    pipelines = [p for p in folders if (p / "meta.json").exists() and is_pipeline(p)]
    # What a training leaves is a source, beside which there may be what became of it.
    pipelines.sort(key=lambda p: p.name in ("model-best", "model-last"))
    run.pipeline = pipelines[0] if pipelines else None
    for file in sorted(path.glob("*.json")):
        data = _parse(read_text(file, errors="replace"))
        if {"benchmark", "summary", "runs"} <= {*data}:
            by_episodes = "episodes" in _as_dict(data["benchmark"])
            (run.episodes if by_episodes else run.benchmarks)[file.name] = data
        elif {"component", "learning", "support"} <= {*data}:
            run.adaptations[file.name] = data
    for file in sorted(path.glob("*.jsonl")):
        lines = read_lines(file, lambda count: None, lambda error: None)
        rows = [_parse(line) for _, line in lines if line]
        rows = [row for row in rows if "losses" in row]
        if rows:
            run.logs[file.name] = rows
    if not (run.pipeline or run.benchmarks or run.episodes or run.adaptations):
        reason = "there are neither pipelines nor results in it"
        raise EvaluationError(f"Can't report on '{path}': {reason}. {ADVICE}")
    return run


def _parse(text: str) -> dict[str, Any]:
    """Parse a JSON object, or return an empty one if it is something else."""
    try:
        return _as_dict(srsly.json_loads(text))
    except ValueError:
        return {}


def _as_dict(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}
