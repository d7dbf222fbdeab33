"""Vary settings of the adaptation or the training, and measure each choice."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.util import dot_to_dict, load_config, load_model_from_config

from ..corpora.corpus import Corpus
from ..errors import InvalidSettingError, SettingError
from ..recognizer.pipeline import find_recognizer
from ..recognizer.settings import merge
from .benchmark import Benchmark, Profile, Target
from .plots import Line
from .results import Results, format_spread, format_value, get_spread

SECTION = "adapt"
HELD_OUT = "held-out"
HELD_OUT_TITLE = "the held-out types"
TARGETS_TITLE = "the targets"


class Setting(NamedTuple):
    """A setting of an adaptation or a training, and the values that it is to have."""

    name: str  # as in a config, such as adapt.lr
    values: list[Any]

    @property
    def is_adapting(self) -> bool:
        """RETURNS (bool): Whether it is one of an adaptation."""
        return self.name.startswith(f"{SECTION}.")

    @property
    def title(self) -> str:
        """RETURNS (str): What it is called in tables, such as lr."""
        if self.is_adapting:
            return self.name.removeprefix(f"{SECTION}.")
        return self.name.rpartition(".")[2]


def read_setting(text: str) -> Setting:
    """Read a setting and its values, such as "adapt.lr=1e-4,5e-4"."""
    name, _, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if "." not in name or not all(parts):
        expected = "a setting and its values, such as adapt.lr=1e-4,5e-4"
        raise InvalidSettingError("--set", text, expected)
    return Setting(name, [read_value(part) for part in parts])


def read_value(text: str) -> Any:
    """Read a number, true, false or null, or else the text itself."""
    try:
        return srsly.json_loads(text)
    except ValueError:
        return text


def read_varied(texts: list[str]) -> list[Setting]:
    """Read all that is to be varied, each setting once. See `read_setting`."""
    if not texts:
        raise SettingError(
            "There is nothing to vary. Give --set, such as --set adapt.lr=1e-4,5e-4."
        )
    settings = [read_setting(text) for text in texts]
    for name, count in Counter(setting.name for setting in settings).items():
        if count > 1:
            expected = f"{name} once, with all of its values"
            raise InvalidSettingError("--set", texts, expected)
    return settings


def combine(settings: list[Setting]) -> dict[str, dict[str, Any]]:
    """List all ways to choose values, by what is chosen, such as "lr=0.001". If nothing
    is varied, there is one, without a name.
    """
    ways = {}
    for values in product(*(setting.values for setting in settings)):
        chosen = list(zip(settings, values, strict=True))
        title = ", ".join(f"{s.title}={format_value(v)}" for s, v in chosen)
        ways[title] = {setting.name: value for setting, value in chosen}
    return ways


def list_profiles(
    settings: list[Setting], base: str, changes: dict[str, Any]
) -> dict[str, Profile]:
    """List the ways to adapt: a profile with some changes, and what is varied."""
    ways = combine([setting for setting in settings if setting.is_adapting])
    return {
        title: Profile(base, merge(changes, dot_to_dict(chosen).get(SECTION, {})))
        for title, chosen in ways.items()
    }


class Outcome(NamedTuple):
    """Results of the values of a sweep on some targets."""

    values: list[str]
    shots: list[int]
    # Mean over targets for each support set, by value and shots
    averages: dict[tuple[str, int], list[float]]
    failed: Counter[tuple[str, int]]  # runs without a result

    def get_lines(self) -> dict[str, Line]:
        """Make a curve for each number of shots that has results."""
        lines = {}
        for shots in self.shots:
            places = [
                i for i, v in enumerate(self.values) if (v, shots) in self.averages
            ]
            spreads = [get_spread(self.averages[self.values[i], shots]) for i in places]
            means, stds = ([s[key] for s in spreads] for key in ("mean", "std"))
            if places:
                lines[f"{shots}-shot"] = Line(places, means, stds)
        return lines

    def choose(self) -> dict[int, str]:
        """Choose the best value for each number of shots."""
        return {
            shots: max(known, key=lambda value: fmean(self.averages[value, shots]))
            for shots in self.shots
            if (known := [v for v in self.values if (v, shots) in self.averages])
        }


def summarize(measured: Mapping[str, Results], targets: Iterable[str]) -> Outcome:
    """Summarize the results of sources, with a profile for each way to adapt them, on
    some targets. Support sets count that were measured on every target with every
    value, but for values that never have a result.
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


class Training(NamedTuple):
    """A source to measure, which is trained before if it has to be."""

    title: str  # the values of the training's settings, such as "tau=2"
    model: str
    results: Path | None
    folder: Path | None = None  # that it is trained into, if it is
    overrides: Mapping[str, Any] = {}  # of the training's config


@dataclass
class Sweep:
    """A sweep over values of settings, all on the same support sets.

    The corpus of held-out types, which the source hasn't seen, becomes a target, too.
    """

    model: str  # the source, or the config of its training
    settings: list[Setting]
    profiles: dict[str, Profile]
    targets: list[Target]
    held_out: Path | None
    overrides: dict[str, Any]  # of the training's config
    output: Path | None  # the file of the results, or a folder for all
    name: str | None

    def __post_init__(self) -> None:
        self.trains = is_config(self.model)  # a source for each choice
        self.groups = {TARGETS_TITLE: [target.name for target in self.targets]}
        if self.held_out is not None:
            # A folder of a target may be called so, too.
            names = {HELD_OUT: f"{HELD_OUT}#2"}
            targets = [t._replace(name=names.get(t.name, t.name)) for t in self.targets]
            self.targets = [*targets, Target(HELD_OUT, self.held_out, self.held_out)]
            self.groups = {
                HELD_OUT_TITLE: [HELD_OUT],
                TARGETS_TITLE: [target.name for target in targets],
            }

    def check(self, *, choose_on_query: bool) -> None:
        """Find out ahead what would stop the sweep."""
        names = [each.name for each in self.settings if not each.is_adapting]
        if names and not self.trains:
            raise SettingError(
                f"{', '.join(names)} are settings of the training. To vary them, give "
                "the config of a training, such as configs/source.cfg, in place of a "
                "source that is trained."
            )
        if self.trains and (self.output is None or self.output.is_file()):
            raise SettingError(
                "A source is trained for each value. Give --output a folder for them "
                "and their results. What was interrupted goes on from what is in it."
            )
        if not self.targets or (choose_on_query and not self.groups[TARGETS_TITLE]):
            raise SettingError(
                "There is nothing to measure on. Give DEV and TEST of a target, or "
                "--held-out a corpus of types that the source hasn't seen."
            )
        if not self.trains:
            return
        for path in {path for target in self.targets for path in target[1:]}:
            Corpus(path)
        config = load_config(self.model, overrides=self.overrides, interpolate=True)
        nlp = load_model_from_config(config, auto_fill=True)
        pipe = find_recognizer(nlp, self.name).recognizer
        for profile in self.profiles.values():
            profile.describe(pipe)

    def list_trainings(self) -> list[Training]:
        """List the sources to measure."""
        if self.output is None or not self.trains:
            return [Training("", self.model, self.output)]
        trainings = []
        ways = combine([each for each in self.settings if not each.is_adapting])
        for title, values in ways.items():
            # A value may be a path.
            folder = self.output / title.replace("/", "_")
            best, results = folder / "model-best", folder / "results.json"
            overrides = {**self.overrides, **values}
            trainings.append(Training(title, str(best), results, folder, overrides))
        return trainings

    def make_benchmark(
        self, nlp: Language, shots: list[int], supports: int
    ) -> Benchmark:
        """Make the benchmark of a source that hasn't seen the held-out types."""
        if self.held_out is not None:
            pipe = find_recognizer(nlp, self.name).recognizer
            known = sorted({*Corpus(self.held_out).totals} & {*pipe.labels})
            if known:
                raise SettingError(
                    f"The types of '{self.held_out}' aren't held out, because the "
                    f"source was trained on them: {', '.join(known)}. Give a corpus of "
                    "other types, or leave these out with --drop-types of spacy epnet "
                    "convert."
                )
        seeds = list(range(supports))
        return Benchmark(nlp, self.targets, self.profiles, shots, seeds, name=self.name)

    def summarize(self, measured: Mapping[str, Results]) -> dict[str, Outcome]:
        """Summarize the results of each source, on held-out types and on targets."""
        return {
            title: summarize(measured, names)
            for title, names in self.groups.items()
            if names
        }


def is_config(model: str) -> bool:
    """Whether a source is still to be trained."""
    return Path(model).suffix == ".cfg"


def split_options(args: list[str]) -> tuple[list[str], list[str]]:
    """Split options of the adaptation, such as --adapt.lr, from others."""
    adapting: list[str] = []
    training: list[str] = []
    chosen = training
    for arg in args:
        if arg.startswith("--"):
            chosen = adapting if arg.startswith(f"--{SECTION}.") else training
        chosen.append(arg)
    return adapting, training
