"""Results of several benchmarks side by side."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy
import srsly

from ..errors import Errors
from .results import get_spread, show_spread

# Differences up to which all signs are tried, and how many are otherwise.
MAX_EXACT, N_DRAWS = 14, 20_000


class Case(NamedTuple):
    """What is measured: a support set of a target."""

    target: str
    shots: int | None
    support: int


Scores: TypeAlias = dict[Case, float]  # F1 in per cent


class Comparison(NamedTuple):
    """The F1 of several systems, each by its name. The first is compared with all."""

    targets: list[str]
    scores: dict[str, Scores]

    def get_table(self) -> tuple[list[str], list[list[str]]]:
        """RETURNS (Tuple[List[str], List[List[str]]]): Header and rows of a table: F1
        of each target, the average over those that all systems have, and the mean
        difference to the first system with the probability that chance alone gives one
        as large.
        """
        targets = [*self.shared, *(t for t in self.targets if t not in self.shared)]
        header = ["", "shots", *targets, "average"]
        header += ["difference"] if len(self.scores) > 1 else []
        rows = []
        for shots in self.list_shots():
            for name in self.scores:
                groups = {t: self.get_values(name, t, shots) for t in targets}
                if not any(groups.values()):
                    continue
                cells = [
                    show_spread(get_spread(g)) if g else "" for g in groups.values()
                ]
                means = [fmean(groups[t]) for t in self.shared if groups[t]]
                is_whole = means and len(means) == len(self.shared)
                cells.append(f"{fmean(means):.1f}" if is_whole else "")
                if len(self.scores) > 1:
                    cells.append(self.show_difference(name, shots))
                rows.append([name, "given" if shots is None else str(shots), *cells])
        return header, rows

    @property
    def shared(self) -> list[str]:
        """RETURNS (List[str]): The targets that all systems have."""
        found = [{case.target for case in scores} for scores in self.scores.values()]
        return [t for t in self.targets if all(t in names for names in found)]

    def list_shots(self) -> list[int | None]:
        """RETURNS (List[Optional[int]]): The kinds of support sets, smallest first."""
        kinds = {case.shots for scores in self.scores.values() for case in scores}
        return sorted(kinds, key=lambda shots: shots or 0)

    def get_values(self, name: str, target: str, shots: int | None) -> list[float]:
        """RETURNS (List[float]): The F1 of each support set."""
        scores = self.scores[name]
        return [f for case, f in scores.items() if case[:2] == (target, shots)]

    def get_differences(self, name: str, shots: int | None) -> list[float]:
        """RETURNS (List[float]): How much more F1 a system has than the first one, for
        each support set that both have.
        """
        first, other = self.scores[next(iter(self.scores))], self.scores[name]
        shared = (case for case in other if case.shots == shots and case in first)
        return [other[case] - first[case] for case in shared]

    def show_difference(self, name: str, shots: int | None) -> str:
        """Write the difference of a system to the first one."""
        differences = self.get_differences(name, shots)
        if not differences or name == next(iter(self.scores)):
            return ""
        p = get_p_value(differences)
        return f"{fmean(differences):+.1f} (p {'< 0.001' if p < 0.001 else f'{p:.3f}'})"

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All figures of the table, for JSON."""
        return {
            "targets": self.targets,
            "systems": [
                {
                    "name": name,
                    "shots": shots,
                    "f": {
                        target: get_spread(values)
                        for target in self.targets
                        if (values := self.get_values(name, target, shots))
                    },
                    "difference": fmean(differences),
                    "p": get_p_value(differences),
                }
                for shots in self.list_shots()
                for name in self.scores
                if (differences := self.get_differences(name, shots))
            ],
        }


def read_comparison(files: Mapping[str, Path]) -> Comparison:
    """Read results that `spacy epnet benchmark` has written.

    files (Mapping[str, Path]): The files, by the names of the systems. If a file has
        several profiles, the name gets theirs added.
    RETURNS (Comparison): The results. All are of the same corpora.
    """
    corpora: dict[str, dict[str, Any]] = {}
    scores: dict[str, Scores] = {}
    for name, path in files.items():
        try:
            data = srsly.read_json(path)
            header, runs = data["benchmark"], data["runs"].values()
            profiles = list(header["profiles"])
            found = {target["name"]: target for target in header["targets"]}
            for run in runs:
                full = name if len(profiles) == 1 else f"{name}, {run['profile']}"
                case = Case(run["target"], run["shots"], run["support"])
                if "failed" not in run:
                    scores.setdefault(full, {})[case] = float(run["f"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(Errors.EP027.format(path=path)) from None
        for target, hashes in found.items():
            if corpora.setdefault(target, hashes) != hashes:
                raise ValueError(Errors.EP047.format(path=path, target=target))
    return Comparison(list(corpora), scores)


def get_p_value(differences: list[float]) -> float:
    """How probable it is that chance alone makes a mean difference as large: each
    difference may have either sign then. It is never less than what chance can show.

    differences (List[float]): Differences of pairs.
    RETURNS (float): The share of all ways to choose the signs, or of many of them, in
        which the mean is as far from 0.
    """
    values = numpy.asarray(differences, dtype="float64")
    if len(values) <= MAX_EXACT:
        signs = numpy.asarray(list(product((1, -1), repeat=len(values))))
    else:
        rng = numpy.random.default_rng(0)
        signs = rng.choice((1, -1), size=(N_DRAWS, len(values)))
        signs[0] = 1  # as it was measured
    sums = numpy.abs(signs @ values)
    return float((sums >= abs(values.sum()) - 1e-9).mean())
