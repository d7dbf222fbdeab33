"""What EP-Net can be told, as a component and when it is adapted."""

from collections.abc import Callable

from pydantic import Field

from ..recognizer.settings import AdaptSettings, ComponentSettings


class EPNetSettings(ComponentSettings):
    """The settings of the component. See the factory for what they mean."""

    tau: float = Field(ge=0)
    none_samples: int = Field(ge=0)
    hard_nones: float = Field(ge=0, le=1)
    dispersion_loss: bool
    overlaps: Callable


class EPNetAdaptSettings(AdaptSettings):
    """The settings of an adaptation. The profiles are in `profiles.cfg`.

    assignment (Callable): Which prototypes new types begin with, see `assignment.py`.
    lr (float): The learning rate.
    batch_size (Optional[int]): Sentences in a step. If null all, or parts of a large
        support set.
    max_steps (int): Steps that are never exceeded.
    target_loss (float): Stop when the loss is lower, over the last three passes.
    patience (int): Stop when the loss hasn't fallen for as many passes over the
        support set. It is the loss after a pass, without dropout and always of the
        same None spans. 0 for never.
    average (int): Take the moving average of the weights over about as many steps.
        0 for the last weights.
    none_samples (int): None spans of each sentence.
    resample_nones (bool): Whether to sample them anew in each step.
    hard_nones (float): Share of them that overlaps an entity.
    dispersion_loss (bool): Whether to train the prototypes to be dispersed.
    tau (Optional[float]): Mean squared distance wanted between prototypes. The
        component's own if null.
    dropout (float): The dropout rate.
    overlaps (Callable): The component's setting of that name after the adaptation.
    """

    assignment: Callable
    lr: float = Field(gt=0)
    batch_size: int | None = Field(ge=1)
    max_steps: int = Field(ge=1)
    target_loss: float = Field(ge=0)
    patience: int = Field(ge=0)
    average: int = Field(ge=0)
    none_samples: int = Field(ge=1)
    resample_nones: bool
    hard_nones: float = Field(ge=0, le=1)
    dispersion_loss: bool
    tau: float | None = Field(ge=0)
    dropout: float = Field(ge=0, lt=1)
    overlaps: Callable
