"""Convert tag sequences to entities and back."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from .labels import is_label

Scheme: TypeAlias = Literal["bio", "iob1", "bioes", "io"]


class Entity(NamedTuple):
    """An entity, by token or by character. The one at its end isn't part of it."""

    start: int
    end: int
    label: str


OUTSIDE = "O"
PREFIXES: dict[str, str] = {"bio": "BI", "iob1": "BI", "bioes": "BIESLU"}
# Prefixes of the first and of the last token. BIOES and BILUO differ in some letters.
FIRST, LAST = {"", "B", "S", "U"}, {"S", "U", "E", "L"}


class TagError(ValueError):
    """A sequence breaks the rules of its scheme."""

    def __init__(self, index: int, message: str):
        super().__init__(message)
        self.index = index  # of the tag that breaks them


def read_tags(tags: Sequence[str], scheme: Scheme) -> list[Entity]:
    """Find the entities of a sentence.

    scheme (Scheme): "bio" if every entity begins with B-, "iob1" if only one right
        after another of its type does, "bioes" if last and single tokens are marked
        as well, "io" if tags are bare types and a run of equal tags is one entity.
    """
    if scheme == "io":
        return _read_runs(tags)
    entities: list[Entity] = []
    start, label = 0, ""  # of the entity that has begun
    for i, tag in enumerate(tags):
        prefix, new = split_tag(tag, i, scheme)
        continues = prefix not in FIRST and new == label
        if prefix not in FIRST and not continues and scheme != "iob1":
            raise TagError(i, f"{tag} doesn't continue an entity of its type")
        if label and not continues:
            if scheme == "bioes":
                raise TagError(i, f"{tag} comes before the entity {label} has ended")
            entities.append(Entity(start, i, label))
        if not continues:
            start, label = i, new
        if prefix in LAST:
            entities.append(Entity(start, i + 1, label))
            label = ""
    if label:
        if scheme == "bioes":
            raise TagError(len(tags) - 1, f"the entity {label} has no end")
        entities.append(Entity(start, len(tags), label))
    return entities


def _read_runs(tags: Sequence[str]) -> list[Entity]:
    entities: list[Entity] = []
    start = 0
    for tag, run in groupby(tags):
        end = start + len([*run])
        if tag != OUTSIDE:
            entities.append(Entity(start, end, tag))
        start = end
    return entities


def split_tag(tag: str, index: int, scheme: Scheme) -> tuple[str, str]:
    """Split a tag into its prefix and its type, which O has none of."""
    if tag == OUTSIDE:
        return "", ""
    prefix, label = tag[:1], tag[2:]
    if not has_prefix(tag) or prefix not in PREFIXES[scheme] or not is_label(label):
        expected = ", ".join(f"{letter}-TYPE" for letter in PREFIXES[scheme])
        raise TagError(index, f"{tag!r} is none of O, {expected}")
    return prefix, label


def has_prefix(tag: str) -> bool:
    """Check whether a tag has a prefix such as B-."""
    return tag[1:2] in ("-", "_") and tag[0] in "BIESLU"


def write_tags(length: int, entities: Iterable[Entity]) -> list[str]:
    """Write the BIO tags of a sentence of so many tokens."""
    tags = [OUTSIDE] * length
    for start, end, label in entities:
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def detect_scheme(sentences: Iterable[Sequence[str]]) -> Scheme | None:
    """Detect the scheme of the tags of sentences: BIO if several fit, or None if these
    are no tags, because none has a prefix, and none is O.
    """
    prefixes = set()
    marks_begin = continues_nothing = has_outside = False
    for tags in sentences:
        previous = OUTSIDE
        for tag in tags:
            if tag != OUTSIDE:
                prefixes.add(tag[0] if has_prefix(tag) else "")
                follows_own = previous[2:] == tag[2:] and previous != OUTSIDE
                marks_begin |= tag[0] == "B" and not follows_own
                continues_nothing |= tag[0] == "I" and not follows_own
            has_outside |= tag == OUTSIDE
            previous = tag
    if prefixes == {""}:
        return "io" if has_outside else None
    if prefixes & LAST:
        return "bioes"
    return "iob1" if continues_nothing and not marks_begin else "bio"
