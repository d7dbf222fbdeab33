"""Results of several benchmarks side by side."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy

from ..corpora.files import load_json, read_text
from ..errors import EvaluationError, SettingError
from .results import format_f1, get_spread, refuse_others

# How many choices of signs are tried. Up to 14 differences have fewer, which are all
# tried.
N_RESAMPLES = 20_000


class Case(NamedTuple):
    """A support set of a target."""

    target: str
    shots: int | None
    support: int
    sentences: tuple[int, ...]


Scores: TypeAlias = dict[Case, float | None]  # F1 in per cent, or None if it failed


@dataclass
class Row:
    """The F1 of a system with support sets of one kind."""

    name: str
    shots: int | None  # mentions of each type, or None if support sets were given
    # "f", its mean and deviation over support sets, if any, and how many "failed"
    targets: dict[str, dict[str, Any]]
    average: float | None  # over the targets that all systems have
    difference: float | None  # to the first system on these
    p: float | None  # how probably chance alone gives one as large

    def show(self, targets: list[str]) -> list[str]:
        """Format the cells of a table."""
        cells = [self.name, "given" if self.shots is None else str(self.shots)]
        for target in targets:
            group = self.targets.get(target)
            cells.append("" if group is None else format_f1(group))
        cells.append("" if self.average is None else f"{self.average:.1f}")
        if self.difference is None or self.p is None:
            return [*cells, ""]
        shown = "< 0.001" if self.p < 0.001 else f"{self.p:.3f}"
        return [*cells, f"{self.difference:+.1f} (p {shown})"]


@dataclass
class Comparison:
    """The F1 of several systems, with the first of which the others are compared."""

    targets: list[str]  # those first that all systems have
    shared: list[str]  # those that all systems have
    rows: list[Row]  # few shots first

    def get_table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of a table."""
        header = ["system", "shots", *self.targets, "average", "difference"]
        return header, [row.show(self.targets) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, for JSON."""
        return asdict(self)


def make_rows(systems: dict[str, Scores], shared: list[str]) -> Iterator[Row]:
    """Summarize what each system has with support sets of each kind."""
    kinds = {case.shots for scores in systems.values() for case in scores}
    first = next(iter(systems.values()), {})
    for shots in sorted(kinds, key=lambda shots: shots or 0):
        for name, scores in systems.items():
            groups: dict[str, list[float | None]] = defaultdict(list)
            differences = []  # for support sets of the shared targets that both have
            for case, f in scores.items():
                if case.shots != shots:
                    continue
                groups[case.target].append(f)
                other = None if scores is first else first.get(case)
                if case.target in shared and f is not None and other is not None:
                    differences.append(f - other)
            targets = {target: summarize(values) for target, values in groups.items()}
            spreads: list[Any] = [targets.get(t, {}).get("f") for t in shared]
            is_whole = spreads and all(spreads)
            if targets:
                yield Row(
                    name,
                    shots,
                    targets,
                    fmean(s["mean"] for s in spreads) if is_whole else None,
                    fmean(differences) if differences else None,
                    get_p_value(differences) if differences else None,
                )


def summarize(values: list[float | None]) -> dict[str, Any]:
    """Compute mean and spread of results, and count failures."""
    measured = [value for value in values if value is not None]
    spread = get_spread(measured) if measured else None
    return {"f": spread, "failed": len(values) - len(measured)}


def read_comparison(files: Iterable[tuple[str, Path]]) -> Comparison:
    """Read the results of named systems, on the same corpora, that `spacy epnet
    benchmark` has written. Each of several profiles is a system with its name added.
    """
    corpora: dict[str, tuple[str, str]] = {}  # hashes of dev and test
    found: list[set[str]] = []
    scores: dict[str, Scores] = {}
    for name, path in files:
        text = read_text(path)
        with refuse_others(
            f"'{path}' has no results of `spacy epnet benchmark`, or none yet."
        ):
            data = load_json(text)
            own = read_scores(name, data)
            hashes = {
                str(target["name"]): (target["dev_sha256"], target["test_sha256"])
                for target in data["benchmark"]["targets"]
            }
        for system in own:
            if system in scores:
                raise SettingError(
                    f"'{path}' would be called '{system}', like another before. Give "
                    f"each a name of its own: NAME={path}"
                )
        for target, pair in hashes.items():
            if corpora.setdefault(target, pair) != pair:
                raise EvaluationError(
                    f"The results in '{path}' are of another '{target}' than those "
                    "before: its dev or test corpus differs, so that they can't be "
                    "compared."
                )
        scores |= own
        found.append(set(hashes))
    shared = [target for target in corpora if all(target in names for names in found)]
    others = [target for target in corpora if target not in shared]
    rows = list(make_rows(scores, shared))
    return Comparison([*shared, *others], shared, rows)


def read_scores(name: str, data: dict[str, Any]) -> dict[str, Scores]:
    """Read the scores of each profile, of which each has at least one."""
    profiles = list(data["benchmark"]["profiles"])
    names = {p: name if len(profiles) == 1 else f"{name}, {p}" for p in profiles}
    scores: dict[str, Scores] = {system: {} for system in names.values()}
    for run in data["runs"].values():
        shots, f = run["shots"], run.get("f")
        place = Case(
            str(run["target"]), shots, int(run["support"]), tuple(run["sentences"])
        )
        if not isinstance(shots, int | None) or not isinstance(f, int | float | None):
            raise TypeError("shots and F1 are numbers, if any")
        if f is not None and not 0 <= f <= 100:
            raise ValueError("F1 is in per cent")
        scores[names[run["profile"]]][place] = f
    if not scores or not all(scores.values()):
        raise ValueError("there are no results yet")
    return scores


def get_p_value(differences: list[float]) -> float:
    """Return the probability that chance alone makes a mean difference as large, if
    each difference may have either sign: the share of all choices of signs, or of many
    of them, in which the mean is as far from 0.
    """
    from scipy.stats import permutation_test  # takes a while

    if len(differences) < 2:
        return 1.0
    result = permutation_test(
        [differences],
        numpy.mean,
        permutation_type="samples",
        n_resamples=N_RESAMPLES,
        rng=0,
    )
    return float(result.pvalue)
