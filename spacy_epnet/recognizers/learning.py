"""What a recogniser learns from when it is adapted, and what it tells of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from spacy.tokens import Doc

from ..types import TokenVectors
from .gold import Gold

OnStep: TypeAlias = Callable[[int, float], object]


class Lesson(NamedTuple):
    """An encoded support set, and what is to be learned from it."""

    docs: list[Doc]
    golds: list[Gold]  # of each doc
    tokens: TokenVectors  # of all docs
    labels: list[str]  # the types to learn
    extends: bool  # whether they join those that are known, or replace them
    config: dict[str, Any]  # the settings, as they are in a config
    encode_texts: Callable[[list[str]], list[TokenVectors]]  # for all else
    on_step: OnStep  # told of each step and its loss


@dataclass
class Learning:
    """What a recogniser tells of how it has learned.

    summary (str): All in a sentence.
    columns (Tuple[str, ...]): What it tells of each type, as the header of a table.
    cells (Dict[str, Tuple[str, ...]]): The same for each type.
    details (Dict[str, Any]): Whatever else is worth keeping, for JSON.
    """

    summary: str
    columns: tuple[str, ...] = ()
    cells: dict[str, tuple[str, ...]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
