"""The task of an adaptation, and the report of what was learned."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from spacy.tokens import Doc
from thinc.api import Optimizer
from thinc.types import Floats2d

from ..types import TokenVectors
from .gold import Gold

OnStep: TypeAlias = Callable[[int, float], object]

# Sentences that are learned from at once. A large support set is split into parts of
# about the same size, so that the time it takes doesn't grow faster than the set.
MAX_SENTENCES = 64
MAX_TOKENS = 4096


class EncoderTraining(Protocol):
    """Trains a recognizer together with its encoder."""

    def update(self, optimizer: Optimizer, drop: float) -> None:
        """Learn from the support set."""

    def encode(self) -> TokenVectors:
        """Make the token vectors of the support set anew."""


class AdaptTask(NamedTuple):
    """An encoded support set, and what is to be learned from it.

    docs (List[Doc]): The support set.
    golds (List[Gold]): The annotation of each doc.
    tokens (TokenVectors): The token vectors of all docs.
    labels (List[str]): The types to learn.
    extends (bool): Whether they join those that are known, or replace them.
    config (Dict[str, Any]): The settings, as in a config.
    texts (Mapping[str, str]): What types are in words, if it is known.
    names (Mapping[Tuple[str, ...], Floats2d]): The vectors of the names that the
        recognizer's `list_names` asked for.
    on_step (Callable[[int, float], object]): Called with each step and its loss.
    training (Optional[EncoderTraining]): Trains the recognizer together with its
        encoder, if it does that.
    """

    docs: list[Doc]
    golds: list[Gold]
    tokens: TokenVectors
    labels: list[str]
    extends: bool
    config: dict[str, Any]
    texts: Mapping[str, str] = {}
    names: Mapping[tuple[str, ...], Floats2d] = {}
    on_step: OnStep = lambda step, loss: None
    training: EncoderTraining | None = None


def split_evenly(lengths: Sequence[int]) -> list[slice]:
    """Split sentences into as few parts as necessary, of about the same size.

    lengths (Sequence[int]): The tokens of each sentence.
    RETURNS (List[slice]): The sentences of each part.
    """
    count = len(lengths)
    n_parts = math.ceil(max(count / MAX_SENTENCES, sum(lengths) / MAX_TOKENS, 1))
    size = max(1, math.ceil(count / n_parts))
    return [slice(start, start + size) for start in range(0, count, size)]


def has_stopped_falling(losses: Sequence[float], patience: int) -> bool:
    """Check whether the smallest loss is `patience` losses ago. Never with 0."""
    waited = len(losses) - 1 - losses.index(min(losses))
    return bool(patience) and waited >= patience


@dataclass
class LearningReport:
    """Report of what a recognizer learned.

    summary (str): All in a sentence.
    columns (Tuple[str, ...]): The header of a table of the types.
    cells (Dict[str, Tuple[str, ...]]): The row of each type.
    details (Dict[str, Any]): Whatever else is worth keeping, for JSON.
    """

    summary: str
    columns: tuple[str, ...] = ()
    cells: dict[str, tuple[str, ...]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
