"""Results of a benchmark: kept after every run, and shown as tables."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import srsly

from ..corpora.files import load_json, read_text
from ..errors import OutputError
from ..writing import write_whole


@contextmanager
def refuse_others(message: str) -> Iterator[None]:
    """Say that a file has something else than results, if reading it fails."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        raise OutputError(message) from None


class ResultsFile(ABC):
    """Results so far, in a file that is complete at any time. If it has results of the
    same benchmark, whose header has all that they depend on, they are taken over.
    """

    def __init__(self, path: Path | None, header: dict[str, Any]):
        self.path = path
        self.header = header = _as_read(header)
        self.runs: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            text = read_text(path)
            with refuse_others(
                f"The file '{path}' is there, but it has no results of a benchmark. "
                "Choose another file for the results."
            ):
                known = load_json(text)
                found, self.runs = dict(known["benchmark"]), dict(known["runs"])
                differing = [key for key in header if found.get(key) != header[key]]
                if not differing:
                    self.summarize()
            if differing:
                raise OutputError(
                    f"The file '{path}' has results of another benchmark, which "
                    f"differs in: {', '.join(differing)}. Choose another file, or "
                    "remove it to begin anew."
                )

    def keep(self, key: str, result: dict[str, Any]) -> None:
        """Keep the result of a run, on the disk as well."""
        self.runs[key] = _as_read(result)
        if self.path is not None:
            with write_whole(self.path) as path:
                srsly.write_json(path, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return all results, and what is needed to repeat them, for JSON."""
        summary = self.summarize()
        return {"benchmark": self.header, "summary": summary, "runs": self.runs}

    @abstractmethod
    def summarize(self) -> Any:
        """Summarize all runs, for JSON."""


class Results(ResultsFile):
    """The results of the K-shot protocol."""

    @property
    def failed(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): Why there is no result, for each run without."""
        return {key: run["failed"] for key, run in self.runs.items() if "failed" in run}

    def _group(self, *, failed: bool) -> dict[tuple[str, Any, str], list[Any]]:
        groups = defaultdict(list)
        for run in self.runs.values():
            if ("failed" in run) == failed:
                groups[run["profile"], run["shots"], run["target"]].append(run)
        return groups

    def summarize(self) -> list[dict[str, Any]]:
        """Compute means and standard deviations over the support sets, for each
        profile, number of shots and target.
        """
        failed = self._group(failed=True)
        return [
            {
                "profile": profile,
                "shots": shots,
                "target": target,
                "supports": len(runs),
                "failed": len(failed[profile, shots, target]),
                **get_spreads(runs, "prf"),
                "per_type": {
                    label: get_spreads([run["per_type"][label] for run in runs], "prf")
                    for label in runs[0]["per_type"]
                },
                "seconds": get_spreads(
                    [run["seconds"] for run in runs], runs[0]["seconds"]
                ),
            }
            for (profile, shots, target), runs in self._group(failed=False).items()
        ]

    def get_overview(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of a table of F1, with a column for each
        target and the average over them.
        """
        by_row: dict[tuple[str, Any], dict[str, str]]
        by_row = {(run["profile"], run["shots"]): {} for run in self.runs.values()}
        means: dict[tuple[str, Any], list[float]] = defaultdict(list)
        for (profile, shots, target), runs in self._group(failed=True).items():
            by_row[profile, shots][target] = f"all {len(runs)} failed"
        for group in self.summarize():
            row = group["profile"], group["shots"]
            by_row[row][group["target"]] = format_f1(group)
            means[row].append(group["f"]["mean"])
        targets = [target["name"] for target in self.header["targets"]]
        header = ["profile", "shots", *targets]
        header += ["average"] if len(targets) > 1 else []
        rows = []
        for (profile, shots), shown in by_row.items():
            cells = [shown.get(target, "") for target in targets]
            if len(targets) > 1:
                measured = means[profile, shots]
                is_complete = len(measured) == len(targets)
                cells.append(f"{fmean(measured):.1f}" if is_complete else "")
            rows.append([profile, "given" if shots is None else str(shots), *cells])
        return header, rows


def to_markdown(header: list[str], rows: list[list[str]]) -> str:
    """Write a table for a page."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _as_read(data: dict[str, Any]) -> dict[str, Any]:
    """Return data as it will be read from the file, because JSON rounds."""
    read: dict[str, Any] = srsly.json_loads(srsly.json_dumps(data))
    return read


def get_spread(values: list[float]) -> dict[str, float]:
    """Compute mean and standard deviation."""
    return {"mean": fmean(values), "std": pstdev(values)}


def get_spreads(
    results: list[dict[str, Any]], keys: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Compute mean and standard deviation of some keys."""
    return {key: get_spread([result[key] for result in results]) for key in keys}


def format_spread(spread: dict[str, float]) -> str:
    """Format a mean with its standard deviation."""
    return f"{spread['mean']:.1f} ± {spread['std']:.1f}"


def format_f1(group: dict[str, Any]) -> str:
    """Format the F1 of a group of runs, and how many of them failed."""
    if not group["f"]:
        return f"all {group['failed']} failed"
    failed = f" ({group['failed']} failed)" if group["failed"] else ""
    return format_spread(group["f"]) + failed


def format_value(value: Any) -> str:
    """Format a setting as in a config."""
    if callable(value):
        return getattr(value, "__qualname__", str(value))
    return value if isinstance(value, str) else srsly.json_dumps(value)
