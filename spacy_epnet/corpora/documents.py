"""What readers give and the converter takes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..errors import CorpusError
from .tags import Entity

Meta: TypeAlias = dict[str, str | int]


class Sentence(NamedTuple):
    """Words with their entities."""

    words: list[str]
    entities: list[Entity]
    spaces: list[bool] | None = None  # whether a space follows each word, if known
    unknown: Sequence[
        int
    ] = ()  # tokens of which nobody knows whether they are entities


class TokenDocument(NamedTuple):
    """Sentences that belong together."""

    sentences: list[Sentence]
    meta: Meta | None = None


class TextDocument(NamedTuple):
    """Running text, with entities by character."""

    text: str
    spans: list[tuple[int, int, str]]
    meta: Meta | None = None


Document: TypeAlias = TokenDocument | TextDocument


def raise_error(error: CorpusError) -> None:
    raise error


@dataclass
class Reading:
    """How a file is read, and what was noticed on the way.

    on_error (Callable[[CorpusError], None]): Told of what is wrong. If it returns,
        the sentence or document is left out and reading goes on.
    progress (Callable[[int], object]): Called with the bytes read from the disk.
    columns (Tuple[int, int]): Where the word and the tag are in a row.
    separator (Optional[str]): What stands between columns. Found out by default.
    notes (Counter): What else a reader did to the data, and how often.
    """

    on_error: Callable[[CorpusError], None] = raise_error
    progress: Callable[[int], object] = lambda count: None
    columns: tuple[int, int] = (0, -1)
    separator: str | None = None
    notes: Counter[str] = field(default_factory=Counter)
