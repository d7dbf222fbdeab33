"""What a recognizer learns from when it is adapted, and what it tells of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from spacy.tokens import Doc
from thinc.api import Optimizer

from ..types import TokenVectors
from .gold import Gold

OnStep: TypeAlias = Callable[[int, float], object]

# Sentences that are learned from at once. A large support set is dealt out to parts of
# about the same size, so that the time it takes doesn't grow faster than the set.
MAX_SENTENCES = 64
MAX_TOKENS = 4096


class EncoderTraining(Protocol):
    """What trains a recognizer together with its encoder."""

    def update(self, optimizer: Optimizer, drop: float) -> None:
        """Learn from the support set."""

    def encode(self) -> TokenVectors:
        """Make the token vectors of the support set anew."""


class AdaptTask(NamedTuple):
    """An encoded support set, and what is to be learned from it."""

    docs: list[Doc]
    golds: list[Gold]  # of each doc
    tokens: TokenVectors  # of all docs
    labels: list[str]  # the types to learn
    extends: bool  # whether they join those that are known, or replace them
    config: dict[str, Any]  # the settings, as they are in a config
    encode_texts: Callable[[list[str]], list[TokenVectors]]  # for all else
    on_step: OnStep  # told of each step and its loss
    training: EncoderTraining | None  # if the recognizer trains its encoder


def split_evenly(lengths: Sequence[int]) -> list[slice]:
    """Deal sentences out to as few parts as need be, of about the same size.

    lengths (Sequence[int]): The tokens of each sentence.
    RETURNS (List[slice]): The places of each part.
    """
    count = len(lengths)
    n_parts = math.ceil(max(count / MAX_SENTENCES, sum(lengths) / MAX_TOKENS, 1))
    size = max(1, math.ceil(count / n_parts))
    return [slice(start, start + size) for start in range(0, count, size)]


def has_stopped_falling(losses: Sequence[float], patience: int) -> bool:
    """Whether the smallest loss is as many losses ago. Never with a patience of 0."""
    waited = len(losses) - 1 - losses.index(min(losses))
    return bool(patience) and waited >= patience


@dataclass
class LearningReport:
    """What a recognizer tells of how it has learned.

    summary (str): All in a sentence.
    columns (Tuple[str, ...]): What it tells of each type, as the header of a table.
    cells (Dict[str, Tuple[str, ...]]): The same for each type.
    details (Dict[str, Any]): Whatever else is worth keeping, for JSON.
    """

    summary: str
    columns: tuple[str, ...] = ()
    cells: dict[str, tuple[str, ...]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
