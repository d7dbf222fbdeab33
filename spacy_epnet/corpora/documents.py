"""Documents as readers of all formats return them, and how to read."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..errors import CorpusError
from .files import Progress
from .labels import is_label, is_offset
from .tags import Entity

Meta: TypeAlias = dict[str, str | int]


class Sentence(NamedTuple):
    """Words and their entities, which may overlap."""

    words: list[str]
    entities: list[Entity]  # by word
    spaces: list[bool] | None = None  # whether one follows each word, if known
    unknown: Sequence[int] = ()  # words that may or may not be in an entity


class TokenDocument(NamedTuple):
    """Sentences of one document."""

    sentences: list[Sentence]
    meta: Meta | None = None
    line: int | None = None


class TextDocument(NamedTuple):
    """Running text, with entities by character."""

    text: str
    spans: list[Entity]
    meta: Meta | None = None
    line: int | None = None


Document: TypeAlias = TokenDocument | TextDocument


def check_span(start: object, end: object, label: object, text: str) -> Entity:
    """Make an entity by character, or refuse one that isn't in its text."""
    if not (is_offset(start) and is_offset(end) and is_label(label)):
        found = f"{start!r}, {end!r}, {label!r}"
        raise ValueError(f"not a span with a start, an end and a label: {found}")
    if not 0 <= start <= end <= len(text):
        span = f"{label} from {start} to {end}"
        raise ValueError(f"{span} isn't in the text, which ends at {len(text)}")
    return Entity(start, end, label)


def raise_error(error: CorpusError) -> None:
    raise error


@dataclass
class Reading:
    """Options of readers, and what they report."""

    # Called for what can't be read. If it returns, that is left out.
    on_error: Callable[[CorpusError], None] = raise_error
    progress: Progress = lambda count: None
    columns: tuple[int, int] = (0, -1)  # of the word and the tag
    separator: str | None = None  # of columns, detected by default
    comment: str | None = None  # the prefix of rows to ignore
    repair_tags: bool = False  # whether an I- that continues nothing begins an entity
    notes: Counter[str] = field(default_factory=Counter)  # what was changed or left out
