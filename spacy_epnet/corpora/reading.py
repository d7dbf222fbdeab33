"""What readers give and the converter takes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..errors import CorpusError
from .tags import Entity, is_label, is_offset

Meta: TypeAlias = dict[str, str | int]
META_KEY = "epnet_source"  # of `doc.user_data`


class Sentence(NamedTuple):
    """Words with their entities, which may overlap."""

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
    line: int | None = None


class TextDocument(NamedTuple):
    """Running text, with entities by character."""

    text: str
    spans: list[Entity]  # by character
    meta: Meta | None = None
    line: int | None = None


Document: TypeAlias = TokenDocument | TextDocument


def check_span(start: Any, end: Any, label: Any, text: str) -> Entity:
    """Refuse an entity that can't be one.

    start (Any): Its first character.
    end (Any): The character after its last one.
    label (Any): Its type.
    text (str): The text that it is in.
    RETURNS (Entity): The entity.
    """
    if not (is_offset(start) and is_offset(end) and is_label(label)):
        found = f"{start!r}, {end!r}, {label!r}"
        raise ValueError(f"not a span with a start, an end and a label: {found}")
    if not 0 <= start <= end <= len(text):
        where = f"{label} from {start} to {end}"
        raise ValueError(f"{where} is no part of the text, which ends at {len(text)}")
    return start, end, label


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
    comment (Optional[str]): What rows that are no tokens begin with.
    repair_tags (bool): Whether an I- that continues nothing begins an entity.
    notes (Counter): What else a reader did to the data, and how often.
    """

    on_error: Callable[[CorpusError], None] = raise_error
    progress: Callable[[int], object] = lambda count: None
    columns: tuple[int, int] = (0, -1)
    separator: str | None = None
    comment: str | None = None
    repair_tags: bool = False
    notes: Counter[str] = field(default_factory=Counter)
