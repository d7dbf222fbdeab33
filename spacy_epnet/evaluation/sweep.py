"""Vary settings of the adaptation or the training, and measure each choice."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.util import dot_to_dict, load_config, load_model_from_config

from ..corpora.corpus import Corpus
from ..errors import InvalidSettingError, SettingError
from ..recognizer.pipeline import find_recognizer
from ..recognizer.settings import merge
from .benchmark import Benchmark, Profile, Target
from .outcomes import Outcome, summarize
from .results import Results, format_value

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


class Training(NamedTuple):
    """A source to measure, which is trained before if it has to be.

    title (str): The values of the training's settings, such as "tau=2".
    model (str): The source.
    results (Optional[Path]): The file of its results.
    folder (Optional[Path]): The folder that it is trained into, if it is.
    overrides (Dict[str, Any]): What differs from the config of the training.
    """

    title: str
    model: str
    results: Path | None
    folder: Path | None = None
    overrides: Mapping[str, Any] = {}


@dataclass
class Sweep:
    """A sweep over values of settings, all on the same support sets.

    model (str): The source, or the config of its training.
    settings (List[Setting]): What is varied.
    profiles (Dict[str, Profile]): The ways to adapt. See `list_profiles`.
    targets (List[Target]): What is measured on.
    held_out (Optional[Path]): A corpus of types that the source hasn't seen, to choose
        a value on. It becomes a target, too.
    overrides (Dict[str, Any]): What differs from the config in all trainings.
    output (Optional[Path]): The file of the results, or a folder for all.
    name (Optional[str]): The component, if there are several recognizers.
    """

    model: str
    settings: list[Setting]
    profiles: dict[str, Profile]
    targets: list[Target]
    held_out: Path | None
    overrides: dict[str, Any]
    output: Path | None
    name: str | None

    def __post_init__(self) -> None:
        self.trains = is_config(self.model)  # a source for each choice
        self._check_training()
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

    def _check_training(self) -> None:
        """Refuse to vary a training where there is none, or has no place."""
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

    def check(self, *, choose_on_query: bool) -> None:
        """Find out ahead what would stop the sweep."""
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
        """Make the benchmark of a source, with so many support sets of each kind."""
        if self.held_out is not None:
            check_held_out(nlp, self.held_out, self.name)
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


def check_held_out(nlp: Language, path: Path, name: str | None) -> None:
    """Refuse a corpus whose types the source knows."""
    pipe = find_recognizer(nlp, name).recognizer
    known = sorted({*Corpus(path).totals} & {*pipe.labels})
    if known:
        raise SettingError(
            f"The types of '{path}' aren't held out, because the source was trained on "
            f"them: {', '.join(known)}. Give a corpus of other types, or leave these "
            "out with --drop-types of spacy epnet convert."
        )
