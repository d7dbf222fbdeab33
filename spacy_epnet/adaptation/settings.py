"""How to adapt, and the profiles that are shipped."""

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from spacy.util import load_config

from ..errors import Errors

PROFILES = Path(__file__).with_name("profiles.cfg")
# From as many examples of the rarest type on, it isn't one-shot any more.
SEVERAL_SHOTS = 3


@dataclass(frozen=True, kw_only=True)
class AdaptSettings:
    """The settings of an adaptation. The profiles are in `profiles.cfg`.

    assignment (str): Which prototypes new types begin with: those of "random" source
        types; those "nearest" to the support's entities; "names" for the nearest with
        names alike; a "mixture" of all that are near or have names alike; or "free"
        for prototypes that no type had.
    name_weight (float): What the cosine of two types' names is worth against their
        squared distance, for "names" and "mixture".
    lr (float): The learning rate.
    batch_size (Optional[int]): Sentences in a step. If null all, or parts of a large
        support set.
    max_steps (int): Steps that are never exceeded.
    target_loss (float): Stop when the loss is lower, over the last three passes.
    patience (int): Stop when the loss hasn't fallen for as many passes over the
        support set. 0 for never.
    restore_best (bool): Whether to go back to the pass with the smallest loss.
    average (int): Take the moving average of the weights over about as many steps.
        0 for the last weights.
    none_samples (Optional[int]): None spans of each sentence. All if null.
    resample_nones (bool): Whether to sample them anew in each step.
    hard_nones (float): Share of them that overlaps an entity.
    none_weight (float): What a None span weighs in the loss. An entity weighs 1.
    dispersion (str): Which prototypes the dispersion loss is put on: the "assigned",
        "all", or "off" for no dispersion loss.
    tau (Optional[float]): Mean squared distance wanted between these prototypes. The
        component's own if null.
    dropout (float): The dropout rate.
    trained_layers (int): Layers of the projection to train, from the last. With 0,
        only prototypes are trained.
    encoder_layers (int): Layers of the transformer to train, from the last. It has
        to run in each step then, which takes much longer, and no weights are averaged.
    encoder_lr (float): The learning rate of these layers.
    remember (bool): Whether to keep the support set in the pipeline, so that it can
        explain what it recognises.
    overlaps (str): The component's setting of that name after the adaptation.
    decision (str): Likewise.
    none_bias (float): Likewise.
    seed (int): Decides what is sampled and assigned at random.
    """

    assignment: Literal["random", "nearest", "names", "mixture", "free"]
    name_weight: float
    lr: float
    batch_size: int | None
    max_steps: int
    target_loss: float
    patience: int
    restore_best: bool
    average: int
    none_samples: int | None
    resample_nones: bool
    hard_nones: float
    none_weight: float
    dispersion: Literal["assigned", "all", "off"]
    tau: float | None
    dropout: float
    trained_layers: int
    encoder_layers: int
    encoder_lr: float
    remember: bool
    overlaps: Literal["distance", "probability", "certainty"]
    decision: Literal["nearest", "any"]
    none_bias: float
    seed: int

    def __post_init__(self) -> None:
        choices = {
            "assignment": ("random", "nearest", "names", "mixture", "free"),
            "dispersion": ("assigned", "all", "off"),
            "overlaps": ("distance", "probability", "certainty"),
            "decision": ("nearest", "any"),
        }
        for name, values in choices.items():
            self._check(name, getattr(self, name) in values, " or ".join(values))
        for name in ("restore_best", "resample_nones", "remember"):
            self._check(name, isinstance(getattr(self, name), bool), "true or false")
        for name in ("max_steps", "none_samples", "batch_size"):
            value = getattr(self, name)
            is_free = name != "max_steps" and value is None
            self._check(name, is_free or _is_whole(value, 1), "a whole number above 0")
        for name in ("patience", "average", "trained_layers", "encoder_layers", "seed"):
            is_valid = _is_whole(getattr(self, name), 0)
            self._check(name, is_valid, "0 or a whole number above 0")
        for name in ("lr", "encoder_lr"):
            value = getattr(self, name)
            self._check(name, _is_number(value) and value > 0, "a number above 0")
        self._check("none_bias", _is_number(self.none_bias), "a number")
        for name in ("name_weight", "none_weight", "target_loss", "tau"):
            value = getattr(self, name)
            is_valid = (_is_number(value) and value >= 0) or (
                name == "tau" and value is None
            )
            self._check(name, is_valid, "0 or a number above 0")
        for name, limit in (("hard_nones", 1.0), ("dropout", 0.99)):
            value = getattr(self, name)
            is_valid = _is_number(value) and 0 <= value <= limit
            self._check(name, is_valid, f"a number from 0 to {limit}")

        needs_layers = self.encoder_layers > 0 and self.trained_layers == 0
        self._check("trained_layers", not needs_layers, "above 0 with encoder_layers")
        is_lost = self.encoder_layers > 0 and self.restore_best
        self._check("restore_best", not is_lost, "false with encoder_layers")

    def _check(self, name: str, is_valid: bool, expected: str) -> None:
        if not is_valid:
            raise ValueError(
                Errors.EP009.format(
                    setting=f"adapt.{name}",
                    value=getattr(self, name),
                    expected=expected,
                )
            )

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The settings by name."""
        return asdict(self)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def make_settings(
    profile: str | AdaptSettings = "default",
    *,
    shots: int = 5,
    extends: bool = False,
    **changes: Any,
) -> AdaptSettings:
    """Take a profile and change some of its settings.

    profile (Union[str, AdaptSettings]): The name of a profile, or settings.
    shots (int): How often the rarest type is marked in the support set. Profiles
        have values for about one and for more.
    extends (bool): Whether types are added to others, for which profiles have values
        of their own.
    **changes: The settings that differ from it.
    RETURNS (AdaptSettings): The settings.
    """
    known = [field.name for field in fields(AdaptSettings)]
    unknown = sorted(set(changes) - set(known))
    if unknown:
        raise ValueError(
            Errors.EP020.format(unknown=", ".join(unknown), known=", ".join(known))
        )
    if isinstance(profile, AdaptSettings):
        return replace(profile, **changes)
    profiles = read_profiles()
    if profile not in profiles:
        raise ValueError(
            Errors.EP009.format(
                setting="profile", value=profile, expected=" or ".join(profiles)
            )
        )
    values = dict(profiles[profile])
    for_one_shot, for_extension = values.pop("one_shot"), values.pop("extend")
    if shots < SEVERAL_SHOTS:
        values |= for_one_shot
    if extends:
        values |= for_extension
    return AdaptSettings(**{**values, **changes})


@cache
def read_profiles() -> dict[str, dict[str, Any]]:
    """RETURNS (Dict[str, Dict[str, Any]]): The profiles that are shipped. Each has
    the values that differ with one shot under `one_shot`, and those that differ when
    types are added to others under `extend`.
    """
    return load_config(PROFILES)
