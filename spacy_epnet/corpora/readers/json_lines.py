"""Read JSON: exports of annotation tools, and Few-NERD's episodes."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import isinf
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import CorpusError
from ..documents import (
    Document,
    Reading,
    Sentence,
    TextDocument,
    TokenDocument,
    check_span,
)
from ..files import BOM, decode, open_binary, read_lines, read_text
from ..labels import is_label, is_offset
from ..tags import Entity, read_tags

REJECTED = "records that weren't annotated, or that an annotator rejected or skipped"
SEVERAL = "records with several annotations, of which the first was taken"
SEVERAL_LABELS = "spans with several labels, of which the first was taken"
SUPPORT, QUERY = "support", "query"  # of an episode

Record: TypeAlias = dict[str, Any]  # whatever a file has


def read_json(path: Path, reading: Reading) -> Iterator[Document]:
    """Read JSON Lines, or a JSON array, of texts with spans or of episodes."""
    episodes = 0
    for position, line, record in _read_records(path, reading):
        try:
            if not isinstance(record, dict):
                raise ValueError("the record isn't an object")
            if SUPPORT in record and QUERY in record:
                episodes += 1
                documents = _read_episode(record, episodes, line)
            else:
                documents = _read_annotated(record, reading, line)
        except (LookupError, TypeError, ValueError, AttributeError) as err:
            reason = f"{err} is missing" if isinstance(err, KeyError) else str(err)
            reading.on_error(CorpusError(path, f"{position}{reason}", line))
        else:
            yield from documents


def _read_records(
    path: Path, reading: Reading
) -> Iterator[tuple[str, int | None, Any]]:
    """Read records, each with its position in words or the number of its line."""
    with open_binary(path) as file:
        opening = decode(file.read(64), path, 1, errors="ignore")
    if opening.lstrip(BOM).lstrip().startswith("["):
        try:
            records = parse_json(read_text(path, reading.progress))
        except ValueError as err:
            raise CorpusError(path, f"malformed JSON: {err}") from err
        for number, record in enumerate(records, 1):
            yield f"record {number}: ", None, record
        return
    for number, line in read_lines(path, reading.progress, reading.on_error):
        if line and line.strip():
            try:
                record = parse_json(line)
            except ValueError as err:
                error = CorpusError(path, f"malformed JSON: {err}", number)
                reading.on_error(error)
            else:
                yield "", number, record


def parse_json(text: str) -> Any:
    """Parse JSON, and refuse what would be lost: the first of two values of a key, and
    numbers for which there is no JSON.
    """
    try:
        return DECODER.decode(text)
    except RecursionError as err:
        raise ValueError("it is nested too deeply") from err


def _make_object(pairs: list[tuple[str, Any]]) -> Record:
    made = dict(pairs)
    if len(made) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {key!r} occurs more than once in an object")
    return made


def _parse_float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} isn't JSON")


DECODER = json.JSONDecoder(
    object_pairs_hook=_make_object,
    parse_float=_parse_float,
    parse_constant=_refuse_constant,
)


def _read_episode(record: Record, number: int, line: int | None) -> list[TokenDocument]:
    """Read an episode of Few-NERD: words and bare types of the sentences."""
    documents = []
    for part in (SUPPORT, QUERY):
        sentences = zip(record[part]["word"], record[part]["label"], strict=True)
        for words, tags in sentences:
            if len(words) != len(tags):
                raise ValueError(f"{len(words)} words but {len(tags)} labels")
            for word, tag in zip(words, tags, strict=True):
                if not isinstance(word, str) or not word:
                    raise ValueError(f"{word!r} isn't a word")
                if not is_label(tag):
                    raise ValueError(f"{tag!r} isn't a label")
            meta: dict[str, str | int] = {"episode": number, "part": part}
            sentence = Sentence(words, read_tags(tags, "io"))
            documents.append(TokenDocument([sentence], meta, line))
    return documents


def _read_annotated(
    record: Record, reading: Reading, line: int | None
) -> list[TextDocument]:
    """Read a text with spans, or nothing if it wasn't annotated."""
    if record.get("answer", "accept") != "accept":
        reading.notes[REJECTED] += 1
        return []
    if isinstance(record.get("data"), dict):
        return _read_label_studio(record, reading, line)
    spans: list[Any] = (
        record.get("spans")  # Prodigy
        or record.get("label")  # Doccano, and Label Studio's short form
        or record.get("labels")
        or record.get("entities")
        or []
    )
    text = _get_text(record)
    entities = [_read_span(span, text, reading) for span in spans]
    return [TextDocument(text, entities, line=line)]


def _read_label_studio(
    record: Record, reading: Reading, line: int | None
) -> list[TextDocument]:
    """Read Label Studio: text under "data", spans under "annotations"."""
    annotations = [
        annotation
        for annotation in record.get("annotations") or record.get("completions") or []
        if not annotation.get("was_canceled")
    ]
    if not annotations:
        reading.notes[REJECTED] += 1
        return []
    reading.notes[SEVERAL] += len(annotations) > 1
    text = _get_text(record["data"])
    values = [result.get("value", {}) for result in annotations[0]["result"]]
    spans = [_read_span(value, text, reading) for value in values if "start" in value]
    return [TextDocument(text, spans, line=line)]


def _read_span(span: object, text: str, reading: Reading) -> Entity:
    quoted = None
    if isinstance(span, dict):
        start = span.get("start", span.get("start_offset"))
        end = span.get("end", span.get("end_offset"))
        labels = span.get("labels") or [span.get("label")]
        if len(labels) > 1:
            reading.notes[SEVERAL_LABELS] += 1
        label, quoted = labels[0], span.get("text")
    elif isinstance(span, list) and len(span) == 3:
        start, end, label = span
    else:
        raise ValueError(f"not a span with a start, an end and a label: {span}")
    if isinstance(quoted, str) and is_offset(start) and is_offset(end):
        start, end = _find_quoted(quoted, start, end, text)
    return check_span(start, end, label, text)


def _find_quoted(quoted: str, start: int, end: int, text: str) -> tuple[int, int]:
    """Find the offsets of a quoted text. Some tools count them as JavaScript does."""
    words = quoted.split()
    if text[start:end].split() == words:
        return start, end
    offsets = _map_utf16_offsets(text)
    if 0 <= start <= end < len(offsets):
        first, last = offsets[start], offsets[end]
        if text[first:last].split() == words:
            return first, last
    reason = f"isn't where its span is, from {start} to {end}"
    raise ValueError(f"the text {quoted!r} {reason}")


@lru_cache(maxsize=1)
def _map_utf16_offsets(text: str) -> list[int]:
    """Map offsets of UTF-16, where an emoji counts twice, to those of characters."""
    units = (1 + (ord(char) > 0xFFFF) for char in text)
    offsets = [i for i, count in enumerate(units) for _ in range(count)]
    return [*offsets, len(text)]


def _get_text(record: Record) -> str:
    text = record["text"] if "text" in record else record["data"]
    if not isinstance(text, str):
        raise ValueError("the text isn't a string")
    return text
