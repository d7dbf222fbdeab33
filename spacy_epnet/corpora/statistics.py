"""What a conversion found and did."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .docs import OVERLAPPING, UNALIGNED
from .reading import Sentence


@dataclass
class Statistics:
    """Counts of a corpus.

    max_width (int): The longest entity that a recognizer can predict.
    """

    max_width: int
    files: int = 0
    docs: int = 0
    sentences: int = 0
    tokens: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    too_long: int = 0
    duplicates: int = 0
    skipped: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    hints: list[str] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set, repr=False)

    def add(self, sentences: Iterable[Sentence]) -> None:
        """Count a doc."""
        self.docs += 1
        words: list[str] = []
        for sentence in sentences:
            self.sentences += 1
            words += sentence.words
            for start, end, label in sentence.entities:
                self.entities[label] += 1
                self.too_long += end - start > self.max_width
        self.tokens += len(words)
        key = hash(tuple(words))
        self.duplicates += key in self._seen
        self._seen.add(key)

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The counts, for JSON."""
        total = sum(self.entities.values())
        return {
            "files": self.files,
            "docs": self.docs,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "entities": total,
            "entities_per_type": dict(self.entities.most_common()),
            "max_width": self.max_width,
            "too_long": self.too_long,
            "too_long_percent": round(100 * self.too_long / total, 3) if total else 0.0,
            "unaligned": self.notes[UNALIGNED],
            "overlapping": self.notes[OVERLAPPING],
            "duplicate_docs": self.duplicates,
            "dropped_per_type": dict(self.dropped.most_common()),
            "errors_skipped": self.skipped,
            "notes": {note: count for note, count in self.notes.items() if count},
        }
