"""The settings of ESD."""

from typing import ClassVar

from pydantic import Field

from ...recognizer.settings import AdaptSettings, ModelSettings, RecognizerSettings


class ESDSettings(RecognizerSettings):
    """ESD: spans of up to `max_width` tokens attend to those of their sentence and of
    the support set, and take the type whose examples, as each span sees them, are
    nearest. None is of three kinds: beside entities, across their edges, and inside
    them.
    """

    none_samples: int = Field(
        40,
        ge=1,
        description="None spans that are sampled from each sentence in an update.",
    )
    hard_nones: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of them that overlap an entity, where there are any.",
    )
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
        learn_rate_scale: float = Field(
            10.0,
            gt=0,
            description="Learning rate of the model's own weights, which begin at "
            "random, as a multiple of the encoder's. For the Adam optimizer.",
        )

    class Adapt(AdaptSettings):
        """The settings of an adaptation. Nothing is fine-tuned."""

        none_samples: int = Field(
            40, ge=1, description="None spans of each sentence that are remembered."
        )
        hard_nones: float = Field(
            0.5, ge=0, le=1, description="Share of them that overlap an entity."
        )
