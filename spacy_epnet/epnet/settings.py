"""The settings of EP-Net."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field

from ..recognizer.settings import (
    AdaptSettings,
    ModelSettings,
    Profile,
    RecognizerSettings,
)

# The paper's for 5-shot targets. The prototypes begin with it, and are held at it.
TAU = 3.0
# Registered functions, as they stand in a config.
PREFER_NEAR: Any = {"@misc": "spacy-epnet.prefer_near.v1"}
PREFER_PROBABLE: Any = {"@misc": "spacy-epnet.prefer_probable.v1"}
MIXTURE: Any = {"@misc": "spacy-epnet.mixture_assignment.v1", "name_weight": 20.0}

# Only the prototypes of the new types are trained, which is quick and needs more.
EXTEND = {
    "lr": 0.02,
    "batch_size": None,
    "max_steps": 300,
    "patience": 0,
    "none_samples": 100,
    "resample_nones": False,
    "dispersion_loss": False,
}


class EPNetSettings(RecognizerSettings):
    """EP-Net: each span of up to `max_width` tokens takes the type of the nearest
    prototype.
    """

    tau: float = Field(
        TAU,
        ge=0,
        description="Mean squared distance at which the prototypes are held. The "
        "paper's is 2 for 1-shot and 3 for 5-shot targets.",
    )
    none_samples: int = Field(
        40,
        ge=0,
        description="None spans that are sampled from each sentence in an update. The "
        "paper's are 20 for 1-shot and 40 for 5-shot targets.",
    )
    hard_nones: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of the None spans that overlap an entity, where there are "
        "any. The paper's is 0.",
    )
    dispersion_loss: bool = Field(
        True, description="Whether the prototypes are trained to be dispersed."
    )
    name_weight: float = Field(
        1.0,
        ge=0,
        description="Weight of the loss of spans that are compared with the names of "
        "types, if the model learns from names.",
    )
    narrow_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of the updates in which that loss leaves out some types at "
        "random, whose entities are None then.",
    )
    overlaps: Callable[..., Any] = Field(
        PREFER_NEAR, description="Which of two overlapping predictions is kept."
    )

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.EPNet.v1"

        max_width: int = Field(
            10, gt=0, description="Longest candidate span, in tokens (ε in the paper)."
        )
        width_size: int = Field(
            25, gt=0, description="Size of a width embedding (d3 in the paper)."
        )
        prototype_size: int = Field(
            512,
            gt=0,
            description="Size of a prototype and of the projection's layers (d1 in the "
            "paper).",
        )
        depth: int = Field(3, gt=0, description="Layers of the projection.")
        n_prototypes: int = Field(
            101,
            gt=0,
            description="Initial number of prototypes, None's included. The table "
            "grows when there are more types.",
        )
        initial_dispersion: float = Field(
            TAU,
            gt=0,
            description="Mean squared distance between the initial prototypes. Should "
            "be the component's tau.",
            json_schema_extra={"same_as": "tau"},
        )
        similarity: Literal["euclidean", "cosine"] = Field(
            "euclidean",
            description='"euclidean" for squared distances, "cosine" to compare '
            "directions only.",
        )
        learn_rate_scale: float = Field(
            10.0,
            gt=0,
            description="Learning rate of the model's own weights, as a multiple of "
            "the encoder's. The encoder is pretrained, the rest begins at random. For "
            "the Adam optimizer.",
        )
        names: bool = Field(
            False,
            description="Whether the model learns where a type's prototype lies by its "
            "name, so that a name alone can stand for a type. The paper's doesn't.",
        )
        edges: bool = Field(
            True,
            description="Whether a span is also represented by its first and last "
            "tokens. The paper has only the maximum over all of its tokens.",
        )

    class Adapt(AdaptSettings):
        """The settings of an adaptation. The defaults are what measures best on source
        types that were held out from training.
        """

        profiles: ClassVar = {
            "default": Profile(extend={**EXTEND, "target_loss": 0.0, "average": 0}),
            # As printed in the paper, which doesn't tell its step limit. On types that
            # were held out from a source, 800 steps did no better than 200.
            "paper": Profile(
                {
                    "assignment": {"@misc": "spacy-epnet.random_assignment.v1"},
                    "lr": 0.00005,
                    "batch_size": 8,
                    "max_steps": 200,
                    "target_loss": 0.0,
                    "patience": 1,
                    "average": 0,
                    "hard_nones": 0.0,
                    "tau": 3.0,
                    "dropout": 0.0,
                    "overlaps": PREFER_NEAR,
                },
                one_shot={"batch_size": 2, "none_samples": 20, "tau": 2.0},
                extend=EXTEND,
            ),
        }

        assignment: Callable[..., Any] = Field(
            MIXTURE,
            description="Which prototypes new types begin with.",
        )
        lr: float = Field(0.0005, gt=0, description="Learning rate.")
        batch_size: int | None = Field(
            None,
            ge=1,
            description="Sentences in a step. If null all, or parts of a large support "
            "set.",
        )
        max_steps: int = Field(150, ge=1, description="Maximum number of steps.")
        target_loss: float = Field(
            0.02,
            ge=0,
            description="Stop when the loss, averaged over the last three passes, is "
            "lower.",
        )
        patience: int = Field(
            0,
            ge=0,
            description="Stop when the loss hasn't fallen for as many passes over the "
            "support set. It is measured after a pass, without dropout and on the same "
            "None spans. 0 for never.",
        )
        average: int = Field(
            10,
            ge=0,
            description="Use the moving average of the weights over about as many "
            "steps. 0 for the last weights.",
        )
        none_samples: int = Field(
            40, ge=1, description="None spans that are sampled from each sentence."
        )
        resample_nones: bool = Field(
            True, description="Whether they are sampled anew in each step."
        )
        hard_nones: float = Field(
            0.5, ge=0, le=1, description="Share of them that overlap an entity."
        )
        dispersion_loss: bool = Field(
            True, description="Whether the prototypes are trained to be dispersed."
        )
        tau: float | None = Field(
            None,
            ge=0,
            description="Mean squared distance at which the prototypes are held. The "
            "component's if null.",
        )
        dropout: float = Field(0.3, ge=0, lt=1, description="Dropout rate.")
        overlaps: Callable[..., Any] = Field(
            PREFER_PROBABLE,
            description="The component's setting of that name after the adaptation.",
        )
