"""The settings of the paper's other systems."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from ..epnet.settings import PREFER_NEAR, PREFER_PROBABLE, EPNetSettings
from ..recognizer.settings import (
    AdaptSettings,
    ModelSettings,
    Profile,
    RecognizerSettings,
)

Distance: TypeAlias = Literal["divergence", "means"]
Transfer: TypeAlias = Literal["copy", "even"]

# Settings that several systems have, with defaults of their own.
EPNET, EPNET_ADAPT = EPNetSettings.model_fields, EPNetSettings.Adapt.model_fields
NoneSamples = Annotated[int, EPNET_ADAPT["none_samples"]]
HardNones = Annotated[float, EPNET_ADAPT["hard_nones"]]
LearnRateScale = Annotated[
    float,
    Field(
        gt=0,
        description="Learning rate of the model's own weights, as a multiple of the "
        "pretrained encoder's. For the Adam optimizer.",
    ),
]
TransferSetting = Annotated[
    Transfer,
    Field(
        description="How transitions between the source's types are transferred to "
        'others: each is a "copy" of its abstract one, or those that have the same one '
        'share it evenly ("even").'
    ),
]
Temperature = Annotated[
    float,
    Field(
        gt=0,
        description="Power of the transitions. The smaller, the less they count.",
    ),
]


# Systems that compare spans


class CPNetSettings(RecognizerSettings):
    """CP-Net: each span of up to `max_width` tokens takes the type whose examples have
    the nearest mean.
    """

    none_samples: NoneSamples = 40
    hard_nones: HardNones = 0.5
    inertia: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Share of the former means in the means after a batch of a "
        "training, by which the source's own types are recognized.",
    )
    overlaps: Annotated[Callable[..., Any], EPNET["overlaps"]] = PREFER_NEAR

    class Model(EPNetSettings.Model):
        """The settings of the model."""

        initial_dispersion: float = Field(
            2.0,
            gt=0,
            description="Mean squared distance between the initial prototypes.",
        )

    class Adapt(AdaptSettings):
        """The settings of an adaptation. Nothing is fine-tuned. Of overlapping spans
        the more probable one is right more often, on source types that were held out.
        """

        none_samples: NoneSamples = 40
        hard_nones: HardNones = 0.5
        overlaps: Annotated[Callable[..., Any], EPNET_ADAPT["overlaps"]] = (
            PREFER_PROBABLE
        )


class ESDSettings(RecognizerSettings):
    """ESD: spans of up to `max_width` tokens attend to those of their sentence and of
    the support set, and take the type whose examples, as each span sees them, are
    nearest. None is of three kinds: beside entities, across their edges, and inside
    them.
    """

    none_samples: NoneSamples = 40
    hard_nones: HardNones = 0.5
    memory_size: int = Field(
        20,
        ge=1,
        description="Spans of each type that are remembered from a training, for the "
        "recognition of the source's own types. All entities of a support set are.",
    )
    beam_size: int = Field(
        5,
        ge=1,
        description="Selections of spans that are followed to resolve overlaps.",
    )
    delta: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Minimum probability that has to be left of a span that overlaps "
        "one selected before it, so that it is added.",
    )

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.ESD.v1"

        max_width: int = Field(
            10, gt=0, description="Longest candidate span, in tokens."
        )
        span_size: int = Field(
            256,
            gt=0,
            description="Size of a span and of the hidden layer that makes it.",
        )
        learn_rate_scale: LearnRateScale = 10.0

    class Adapt(AdaptSettings):
        """The settings of an adaptation. Nothing is fine-tuned."""

        none_samples: NoneSamples = 40
        hard_nones: HardNones = 0.5


# Systems that compare tokens


class TransitionSettings(RecognizerSettings):
    """The types of a sentence are chosen together, by which type follows which."""

    transfer: TransferSetting = "even"
    temperature: Temperature = 0.01


class TokenEPNetSettings(EPNetSettings, TransitionSettings):
    """EP-Net with token-level prototypes: each token takes the type of the nearest
    prototype, the types of a sentence are chosen together, and a run of tokens of one
    type is an entity.
    """

    # Tokens don't overlap.
    hard_nones: ClassVar[float] = 0.0  # type: ignore[misc]
    overlaps: ClassVar[None] = None  # type: ignore[misc]

    transfer: TransferSetting = "copy"
    temperature: Temperature = 1.0

    class Model(EPNetSettings.Model):
        """The settings of the model."""

        max_width: int = Field(
            1, ge=1, le=1, description="Always 1: a span is a token."
        )
        edges: bool = Field(
            False,
            description="Whether a token is also its own first and last token, which "
            "adds nothing.",
        )

    class Adapt(EPNetSettings.Adapt):
        """The settings of an adaptation."""

        hard_nones: ClassVar[float] = 0.0  # type: ignore[misc]
        overlaps: ClassVar[None] = None  # type: ignore[misc]
        profiles: ClassVar = {
            name: profile._replace(
                changes={
                    key: value
                    for key, value in profile.changes.items()
                    if key not in ("hard_nones", "overlaps")
                }
            )
            for name, profile in EPNetSettings.Adapt.profiles.items()
        }


class TokenSettings(RecognizerSettings):
    """A token takes the type of what it is nearest to, and a run of tokens of one type
    is an entity.
    """

    memory_size: int = Field(
        100,
        ge=1,
        description="Tokens of each type that are remembered from a training, for the "
        "recognition of the source's own types. All tokens of a support set are.",
    )


class ProtoNetSettings(TokenSettings):
    """ProtoNet: a token takes the type whose tokens have the nearest mean, by squared
    Euclidean distance. None is a type like others.
    """

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenMemory.v1"


class ProtoNetPDSettings(TokenSettings, TransitionSettings):
    """ProtoNet+P&D: ProtoNet with pair-wise embeddings and label dependency. Tokens
    attend to those that are remembered before they are compared with the means of
    types, and the types of a sentence are chosen together. The temperature was
    published as 1.0, at which transitions outweigh what tokens are like. Its default
    was chosen on types that were held out from the source.
    """

    transfer: TransferSetting = "copy"
    temperature: Temperature = 0.1

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenPairs.v1"

        attention_size: int = Field(
            64, gt=0, description="Size of the vectors by which tokens are compared."
        )
        learn_rate_scale: LearnRateScale = 10.0


class NNShotSettings(TokenSettings):
    """NNShot: a token takes the type of the nearest token that is remembered, by the
    squared Euclidean distance of normalized vectors. The vectors are trained by a
    classifier, which isn't used afterwards.
    """

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenClassifier.v1"

        learn_rate_scale: LearnRateScale = 10.0


class StructShotSettings(NNShotSettings, TransitionSettings):
    """StructShot: NNShot that chooses the types of all tokens of a sentence together.
    Which type follows which is learned of the source's types, and transferred to
    others.
    """


class ContainerSettings(TokenSettings, TransitionSettings):
    """CONTaiNER: tokens of one type are trained to have similar Gaussians, with the
    encoder, in training and on the support set. Then a token takes the type of the
    nearest one, by the encoder's own vectors, and the types of a sentence are chosen
    together.
    """

    distance: Distance = Field(
        "divergence",
        description='What is minimized between tokens of one type: the "divergence" of '
        'their Gaussians, or the distance of their "means".',
    )

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenGaussians.v1"

        embedding_size: int = Field(128, gt=0, description="Dimensions of a Gaussian.")
        learn_rate_scale: float = Field(
            1.0,
            gt=0,
            description="Learning rate of what makes Gaussians, as a multiple of the "
            "encoder's. Not more than the encoder's: the encoder's own vectors are "
            "compared, and with more this layer would learn in their place.",
        )

    class Adapt(AdaptSettings):
        """The settings of an adaptation, which trains the encoder, too. As published,
        but for the limit of steps, of which nothing is published.
        """

        # A single example says nothing about a variance.
        profiles: ClassVar = {"default": Profile(one_shot={"distance": "means"})}

        lr: float = Field(0.00005, gt=0, description="Learning rate.")
        max_steps: int = Field(
            50, ge=0, description="Maximum number of steps, each on the support set."
        )
        patience: int = Field(
            1,
            ge=0,
            description="Stop when the loss, without dropout, hasn't fallen for as "
            "many steps. 0 for never.",
        )
        distance: Distance = Field(
            "divergence",
            description="The component's setting of that name from then on.",
        )
        dropout: float = Field(0.0, ge=0, lt=1, description="Dropout rate.")
