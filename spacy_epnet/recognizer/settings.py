"""Settings: configs that spaCy's registry resolves and pydantic checks."""

from collections import UserDict
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import ReferenceType, ref

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from spacy import registry
from spacy.language import Language
from spacy.util import load_config

from ..errors import InvalidSettingError, SettingError

# From as many examples of the rarest type on, it isn't one-shot any more.
SEVERAL_SHOTS = 3
# Sections of a profile with the values that differ then.
ONE_SHOT, EXTEND = "one_shot", "extend"

SettingsT = TypeVar("SettingsT", bound="Settings")


class Settings(BaseModel):
    """Settings whose values are checked when they are set."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class ComponentSettings(Settings):
    """The settings of every recognizer in a pipeline.

    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in `doc.ents`
        already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    """

    threshold: float = Field(ge=0, le=1)
    overwrite_ents: bool
    spans_key: str | None


class AdaptSettings(Settings):
    """The settings of every adaptation.

    remember (bool): Whether to keep the support set in the pipeline, so that it can
        explain what it recognizes.
    seed (int): Decides all that is random.
    """

    remember: bool
    seed: int = Field(ge=0)


class ComponentConfig(UserDict[str, Any]):
    """The settings of a component, as they are in the config of its pipeline.

    A value that is set is checked, and written to that config, so that it is saved with
    the pipeline. Registered functions are given as a block, such as {"@misc": "..."}.

    schema (Type[Settings]): What is checked.
    values (Mapping[str, Any]): The settings, their functions resolved.
    """

    def __init__(self, schema: type[Settings], values: Mapping[str, Any]):
        check_settings(schema, values)
        super().__init__()
        self.data.update(values)
        self.schema = schema
        self._nlp: ReferenceType[Language] | None = None
        self._name = ""

    def follow(self, nlp: Language, name: str) -> None:
        """Write changes to the config of a pipeline.

        nlp (Language): The pipeline.
        name (str): The component's name in it.
        """
        self._nlp, self._name = ref(nlp), name

    def __setitem__(self, key: str, value: Any) -> None:
        (resolved,) = registry.resolve({"block": {"value": value}})["block"].values()
        check_settings(self.schema, {**self.data, key: resolved})
        if callable(value):
            raise InvalidSettingError(key, value, "a block of a config")
        self.data[key] = resolved
        nlp = self._nlp() if self._nlp is not None else None
        if nlp is not None and self._name in nlp.component_names:
            nlp.get_pipe_config(self._name)[key] = value

    def __getstate__(self) -> dict[str, Any]:
        # A copy, or the same in another process, belongs to another pipeline.
        return {**self.__dict__, "_nlp": None}


def check_settings(
    schema: type[SettingsT], values: Mapping[str, Any], *, prefix: str = ""
) -> SettingsT:
    """Check settings, and say what is wrong in words of ours.

    schema (Type[Settings]): What they must be.
    values (Mapping[str, Any]): The settings.
    prefix (str): What is put before their names in messages.
    RETURNS (Settings): The settings.
    """
    unknown = sorted(set(values) - set(schema.model_fields))
    if unknown:
        raise SettingError(
            "There are no such settings: "
            f"{', '.join(prefix + name for name in unknown)}. There are: "
            f"{', '.join(schema.model_fields)}."
        )
    try:
        return schema(**values)
    except ValidationError as err:
        problem = err.errors()[0]
        setting = ".".join(map(str, problem["loc"][:1]))
        expected = problem["msg"].removeprefix("Input should be ")
        if problem["type"] == "callable_type":
            expected = 'a registered function, such as {"@misc": "NAME"}'
        raise InvalidSettingError(
            prefix + setting, values.get(setting), expected
        ) from None


@cache
def read_profiles(path: Path) -> dict[str, dict[str, Any]]:
    """Read the ways to adapt that come with a recognizer.

    path (Path): The file.
    RETURNS (Dict[str, Dict[str, Any]]): Their settings. The values that differ with one
        shot are under `one_shot`, those that differ when types are added to others
        under `extend`.
    """
    return load_config(path)


def make_adapt_config(
    path: Path,
    profile: str,
    changes: Mapping[str, Any],
    *,
    shots: int,
    extends: bool,
    fixed: Collection[str] = (),
) -> dict[str, Any]:
    """Take a profile and change some of its settings.

    path (Path): The profiles of the recognizer.
    profile (str): The name of one.
    changes (Mapping[str, Any]): The settings that differ from it. Those of a registered
        function can be changed one by one, unless another function is named.
    shots (int): How often the rarest type is marked in the support set.
    extends (bool): Whether types are added to others.
    fixed (Collection[str]): Settings that can't be changed then.
    RETURNS (Dict[str, Any]): The settings, whose functions aren't resolved yet.
    """
    profiles = read_profiles(path)
    if profile not in profiles:
        raise InvalidSettingError("profile", profile, " or ".join(profiles))
    if extends and set(fixed) & set(changes):
        names = ", ".join(sorted(set(fixed) & set(changes)))
        raise SettingError(
            "These settings can't be changed when types are added to others, because "
            f"the others would no longer be recognized as before: {names}."
        )
    values = dict(profiles[profile])
    for_one_shot, for_extension = values.pop(ONE_SHOT, {}), values.pop(EXTEND, {})
    for part, counts in (
        (for_one_shot, shots < SEVERAL_SHOTS),
        (for_extension, extends),
        (changes, True),
    ):
        if counts:
            values = merge(values, part)
    return values


def merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change some settings of a config, and of the blocks in it."""
    merged = dict(values)
    for key, new in changes.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            # Another function has other settings.
            is_other = any(name.startswith("@") for name in new)
            merged[key] = dict(new) if is_other else {**old, **new}
        else:
            merged[key] = new
    return merged


def resolve_adapt_settings(
    schema: type[SettingsT], config: Mapping[str, Any]
) -> SettingsT:
    """Resolve and check the settings of an adaptation.

    schema (Type[Settings]): What they must be.
    config (Mapping[str, Any]): The settings.
    RETURNS (Settings): The settings, ready to be used.
    """
    resolved = registry.resolve({"adapt": dict(config)})["adapt"]
    return check_settings(schema, resolved, prefix="adapt.")
