"""One setting after another: what each value gives."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import srsly
from spacy.util import dot_to_dict

from ..errors import Errors
from ..recognizers.settings import merge
from .benchmark import Profile
from .plots import Line
from .results import Results, get_spread, show_spread

SECTION = "adapt"


class Setting(NamedTuple):
    """A setting of an adaptation, and the values that it is to have."""

    name: str  # without the section, such as lr
    values: list[Any]


def read_setting(text: str) -> Setting:
    """Read what is to be varied.

    text (str): The setting and its values, such as "adapt.lr=1e-4,5e-4".
    RETURNS (Setting): The setting.
    """
    name, _, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not name.startswith(f"{SECTION}.") or not all(parts):
        expected = "a setting and its values, such as adapt.lr=1e-4,5e-4"
        raise ValueError(
            Errors.EP009.format(setting="--set", value=text, expected=expected)
        )
    return Setting(name.removeprefix(f"{SECTION}."), [read_value(p) for p in parts])


def read_value(text: str) -> Any:
    """A number, true, false or null, or else the text itself."""
    try:
        return srsly.json_loads(text)
    except ValueError:
        return text


def list_profiles(
    settings: list[Setting], base: str, changes: dict[str, Any]
) -> dict[str, Profile]:
    """List all ways to choose the values.

    settings (List[Setting]): What is varied.
    base (str): The profile that they change.
    changes (Dict[str, Any]): What else differs from it.
    RETURNS (Dict[str, Profile]): The ways, by what is chosen, such as "lr=0.001".
    """
    profiles = {}
    for values in product(*(setting.values for setting in settings)):
        chosen = dict(zip((setting.name for setting in settings), values, strict=True))
        title = ", ".join(f"{n}={show_value(v)}" for n, v in chosen.items())
        profiles[title] = Profile(base, merge(changes, dot_to_dict(chosen)))
    return profiles


def show_value(value: Any) -> str:
    """Write a value as in a config."""
    return value if isinstance(value, str) else srsly.json_dumps(value)


class Outcome(NamedTuple):
    """What the values of a sweep give on some targets."""

    values: list[str]
    shots: list[int]
    # Mean over targets for each support set, by value and shots
    averages: dict[tuple[str, int], list[float]]

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
            shots: max(
                (value for value in self.values if (value, shots) in self.averages),
                key=lambda value: fmean(self.averages[value, shots]),
            )
            for shots in self.shots
        }


def summarize(results: Results, targets: Iterable[str]) -> Outcome:
    """Take the results on some targets together.

    results (Results): All results, with a profile for each value.
    targets (Iterable[str]): The targets.
    RETURNS (Outcome): What the values give. Support sets that aren't measured on every
        target are left out.
    """
    wanted = {*targets}
    found: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for run in results.runs.values():
        if run["target"] in wanted and "failed" not in run:
            key = run["profile"], run["shots"], run["support"]
            found[key][run["target"]] = run["f"]
    averages: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (value, shots, _), scores in found.items():
        if len(scores) == len(wanted):
            averages[value, shots].append(fmean(scores.values()))
    header = results.header
    return Outcome(list(header["profiles"]), header["shots"], dict(averages))


def make_table(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    """Make a table with a row for each value.

    outcome (Outcome): What they give.
    RETURNS (Tuple[List[str], List[List[str]]]): Header and rows.
    """
    rows = [
        [value]
        + [
            show_spread(get_spread(outcome.averages[value, shots]))
            if (value, shots) in outcome.averages
            else ""
            for shots in outcome.shots
        ]
        for value in outcome.values
    ]
    return ["setting", *(f"{shots}-shot" for shots in outcome.shots)], rows
