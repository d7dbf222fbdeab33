"""Summarize the results of a sweep."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from .plots import Line
from .results import Results, format_spread, get_spread


class Outcome(NamedTuple):
    """Results of the values of a sweep on some targets."""

    values: list[str]
    shots: list[int]
    # Mean over targets for each support set, by value and shots
    averages: dict[tuple[str, int], list[float]]
    failed: Counter[tuple[str, int]]  # runs without a result

    def get_lines(self) -> dict[str, Line]:
        """RETURNS (Dict[str, Line]): A curve for each number of shots."""
        return {
            f"{shots}-shot": self._get_line(shots)
            for shots in self.shots
            if any((value, shots) in self.averages for value in self.values)
        }

    def _get_line(self, shots: int) -> Line:
        places = [i for i, v in enumerate(self.values) if (v, shots) in self.averages]
        spreads = [get_spread(self.averages[self.values[i], shots]) for i in places]
        means, stds = ([s[key] for s in spreads] for key in ("mean", "std"))
        return Line(places, means, stds)

    def choose(self) -> dict[int, str]:
        """RETURNS (Dict[int, str]): The best value for each number of shots."""
        return {
            shots: max(known, key=lambda value: fmean(self.averages[value, shots]))
            for shots in self.shots
            if (known := [v for v in self.values if (v, shots) in self.averages])
        }


def summarize(measured: Mapping[str, Results], targets: Iterable[str]) -> Outcome:
    """Summarize the results on some targets.

    measured (Mapping[str, Results]): The results of each source, with a profile for
        each way to adapt it.
    targets (Iterable[str]): The targets.
    RETURNS (Outcome): What the values give, on support sets that are measured on every
        target with every value, but for values that never have a result.
    """
    wanted = {*targets}
    found: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    failed: Counter[tuple[str, int]] = Counter()
    for source, results in measured.items():
        for run in results.runs.values():
            if run["target"] not in wanted:
                continue
            value = join_titles(source, run["profile"])
            if "failed" in run:
                failed[value, run["shots"]] += 1
            else:
                found[value, run["shots"], run["support"]][run["target"]] = run["f"]
    whole: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    for (value, shots, support), scores in found.items():
        if len(scores) == len(wanted):
            whole[value, shots][support] = fmean(scores.values())
    averages = {}
    for (value, shots), scores_of_sets in whole.items():
        others = [{*sets} for (_, number), sets in whole.items() if number == shots]
        common = set.intersection(*others)
        own = [f for support, f in scores_of_sets.items() if support in common]
        if own:
            averages[value, shots] = own
    values = [
        join_titles(source, profile)
        for source, results in measured.items()
        for profile in results.header["profiles"]
    ]
    shots = next(iter(measured.values())).header["shots"]
    return Outcome(values, shots, averages, failed)


def join_titles(*titles: str) -> str:
    """Name a choice of values for the training and for the adaptation."""
    return ", ".join(filter(None, titles))


def make_table(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table, with a row for each value."""
    rows = [
        [value, *(format_cell(outcome, value, shots) for shots in outcome.shots)]
        for value in outcome.values
    ]
    return ["setting", *(f"{shots}-shot" for shots in outcome.shots)], rows


def format_cell(outcome: Outcome, value: str, shots: int) -> str:
    """Format the results of a value, and how many of its runs failed."""
    n_failed, averages = outcome.failed[value, shots], outcome.averages
    shown = [f"({n_failed} failed)"] if n_failed else []
    if (value, shots) in averages:
        shown.insert(0, format_spread(get_spread(averages[value, shots])))
    return " ".join(shown)
