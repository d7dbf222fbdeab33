"""Settings: declared once, as pydantic classes with defaults and descriptions.

A recognizer has one class, whose parts are the sections of a config:

    class MySettings(RecognizerSettings):    [components.my_ner]
        class Model(ModelSettings):          [components.my_ner.model]
        class Adapt(AdaptSettings):          [adapt]

The factory's signature and its default config are made of it (`factory.py`), the
arguments of the function that builds the model (`takes`), all checks, the config that
`spacy epnet init-config` writes, and docs/settings.md.
"""

from collections import UserDict
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, NamedTuple, TypeVar
from weakref import ReferenceType, ref

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from spacy import registry
from spacy.language import Language
from thinc.api import Model

from ..errors import InvalidSettingError, SettingError

# From as many examples of the rarest type on, it isn't one-shot any more.
SEVERAL_SHOTS = 3

SettingsT = TypeVar("SettingsT", bound="Settings")
ModelT = TypeVar("ModelT", bound=Model[Any, Any])


class Settings(BaseModel):
    """Settings whose values are checked when they are set.

    The default of a registered function is its block in a config.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        # spaCy imports every recognizer at every start.
        defer_build=True,
    )

    @classmethod
    def get_defaults(cls) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The defaults, as they stand in a config."""
        return {
            name: deepcopy(field.default) for name, field in cls.model_fields.items()
        }


class ModelSettings(Settings):
    """The settings of a model, besides the layer that makes token vectors."""

    # The registered function that builds the model.
    architecture: ClassVar[str]


class Profile(NamedTuple):
    """A way to adapt: settings that differ from the defaults."""

    changes: Mapping[str, Any] = {}
    one_shot: Mapping[str, Any] = {}  # if the rarest type has one or two examples
    extend: Mapping[str, Any] = {}  # if types are added to others


class AdaptSettings(Settings):
    """The settings of every adaptation."""

    profiles: ClassVar[Mapping[str, Profile]] = {"default": Profile()}

    remember: bool = Field(
        True,
        description="Whether the pipeline keeps the support set, so that it can "
        "explain its predictions.",
    )
    seed: int = Field(0, ge=0, description="Seed of all random numbers.")


class RecognizerSettings(Settings):
    """The settings of every recognizer in a pipeline."""

    class Model(ModelSettings):
        """The settings of its model."""

    class Adapt(AdaptSettings):
        """The settings of its adaptations."""

    threshold: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Minimum probability of a predicted entity's type.",
    )
    overwrite_ents: bool = Field(
        False,
        description="Whether predictions replace entities that are in `doc.ents` "
        "already and overlap them. Otherwise those stay.",
    )
    spans_key: str | None = Field(
        None,
        description="Key of `doc.spans` for all predictions and their probabilities. "
        "By default the component's name.",
    )


class ComponentConfig(UserDict[str, Any]):
    """The settings of a component, as they are in the config of its pipeline.

    A value that is set is checked, and written to that config, so that it is saved with
    the pipeline. Registered functions are given as a block, such as {"@misc": "..."}.

    schema (Type[Settings]): What is checked.
    values (Mapping[str, Any]): The settings that differ from the defaults.
    """

    def __init__(self, schema: type[Settings], values: Mapping[str, Any]):
        super().__init__()
        self.data.update(resolve_settings(schema, values))
        self.schema = schema
        self._nlp: ReferenceType[Language] | None = None
        self._name = ""

    def follow(self, nlp: Language, name: str) -> None:
        """Write changes to the config of a pipeline.

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


def resolve_settings(
    schema: type[SettingsT], values: Mapping[str, Any], *, prefix: str = ""
) -> SettingsT:
    """Add the defaults to settings, resolve registered functions, and check them.

    schema (Type[Settings]): What they must be.
    values (Mapping[str, Any]): The settings that differ from the defaults.
    prefix (str): What is put before their names in messages.
    RETURNS (Settings): All settings, ready to be used.
    """
    config = {"settings": {**schema.get_defaults(), **values}}
    return check_settings(schema, registry.resolve(config)["settings"], prefix=prefix)


def make_parameters(schema: type[Settings]) -> list[Parameter]:
    """Make the parameters of a function that takes settings.

    RETURNS (List[Parameter]): A parameter for each, with its default.
    """
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=schema.get_defaults()[name],
            annotation=field.annotation,
        )
        for name, field in schema.model_fields.items()
    ]


def takes(
    schema: type[SettingsT],
) -> Callable[[Callable[[Any, SettingsT], ModelT]], Callable[..., ModelT]]:
    """Let a function that builds a model be called as a config does: with token
    vectors, and each setting as an argument.

    schema (Type[Settings]): The settings, which the function gets checked.
    RETURNS (Callable): The decorator.
    """

    def decorate(
        build: Callable[[Any, SettingsT], ModelT],
    ) -> Callable[..., ModelT]:
        @wraps(build)
        def build_from_config(tok2vec: Any, **values: Any) -> ModelT:
            return build(tok2vec, check_settings(schema, values))

        first, *_ = signature(build).parameters.values()
        parameters = [first, *make_parameters(schema)]
        build_from_config.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return build_from_config

    return decorate


def make_adapt_config(
    schema: type[AdaptSettings],
    profile: str,
    changes: Mapping[str, Any],
    *,
    shots: int,
    extends: bool,
    fixed: Collection[str] = (),
) -> dict[str, Any]:
    """Take a profile and change some of its settings.

    schema (Type[AdaptSettings]): The settings of the recognizer, with its profiles.
    profile (str): The name of one.
    changes (Mapping[str, Any]): The settings that differ from it. Those of a registered
        function can be changed one by one, unless another function is named.
    shots (int): How often the rarest type is marked in the support set.
    extends (bool): Whether types are added to others.
    fixed (Collection[str]): Settings that can't be changed then.
    RETURNS (Dict[str, Any]): The settings, whose functions aren't resolved yet.
    """
    if profile not in schema.profiles:
        raise InvalidSettingError("profile", profile, " or ".join(schema.profiles))
    if extends and set(fixed) & set(changes):
        names = ", ".join(sorted(set(fixed) & set(changes)))
        raise SettingError(
            "These settings can't be changed when types are added to others, because "
            f"the others would no longer be recognized as before: {names}."
        )
    chosen = schema.profiles[profile]
    values = merge(schema.get_defaults(), chosen.changes)
    if shots < SEVERAL_SHOTS:
        values = merge(values, chosen.one_shot)
    if extends:
        values = merge(values, chosen.extend)
    return merge(values, changes)


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
