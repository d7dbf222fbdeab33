"""The settings of the token-level recognizers."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from ...recognizer.settings import (
    AdaptSettings,
    ModelSettings,
    Profile,
    RecognizerSettings,
)
from .transitions import Transfer

Distance: TypeAlias = Literal["divergence", "means"]


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


class TransitionSettings(RecognizerSettings):
    """The types of a sentence are chosen together, by which type follows which."""

    transfer: Transfer = Field(
        "even",
        description="How transitions between the source's types are transferred to "
        'others: each is a "copy" of its abstract one, or those that have the same one '
        'share it evenly ("even").',
    )
    temperature: float = Field(
        0.01,
        gt=0,
        description="Power of the transitions. The smaller, the less they count.",
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
    types, and the types of a sentence are chosen together.
    """

    transfer: Transfer = Field(
        "copy", description=TransitionSettings.model_fields["transfer"].description
    )
    temperature: float = Field(
        0.1,
        gt=0,
        description=f"{TransitionSettings.model_fields['temperature'].description} It "
        "was published with 1.0, at which transitions outweigh what tokens are like. "
        "This one was chosen on types that were held out from the source.",
    )

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenPairs.v1"

        attention_size: int = Field(
            64, gt=0, description="Size of the vectors by which tokens are compared."
        )
        learn_rate_scale: float = Field(
            10.0,
            gt=0,
            description="Learning rate of the attention, which begins at random, as a "
            "multiple of the encoder's.",
        )


class NNShotSettings(TokenSettings):
    """NNShot: a token takes the type of the nearest token that is remembered, by the
    squared Euclidean distance of normalized vectors. The vectors are trained by a
    classifier, which isn't used afterwards.
    """

    class Model(ModelSettings):
        """The settings of the model."""

        architecture: ClassVar[str] = "spacy-epnet.TokenClassifier.v1"

        learn_rate_scale: float = Field(
            10.0,
            gt=0,
            description="Learning rate of the classifier, which begins at zero, as a "
            "multiple of the encoder's.",
        )


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
