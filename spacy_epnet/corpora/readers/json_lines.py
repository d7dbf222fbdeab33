"""JSON: what annotation tools export, and Few-NERD's episodes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import srsly

from ...errors import CorpusError
from ..documents import Document, Reading, Sentence, TextDocument, TokenDocument
from ..files import open_binary, read_lines, read_text
from ..tags import read_tags

REJECTED = "records that an annotator rejected or skipped"
PARTS = ("support", "query")


def read_json(path: Path, reading: Reading) -> Iterator[Document]:
    """Read JSON Lines, or a JSON array, of texts with spans or of episodes.

    path (Path): The file.
    reading (Reading): How to read it.
    YIELDS (Document): The documents.
    """
    for line, record in _read_records(path, reading):
        try:
            if not isinstance(record, dict):
                raise ValueError("the record isn't an object")
            yield from _read_record(record, line, reading)
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            reason = str(err)
            if isinstance(err, KeyError):
                reason = f"{err.args[0]!r} is missing"
            reading.on_error(CorpusError(path, reason, line))


def _read_records(path: Path, reading: Reading) -> Iterator[tuple[int, Any]]:
    with open_binary(path) as file:
        is_array = file.read(1) == b"["
    if is_array:
        try:
            records = srsly.json_loads(read_text(path, reading.progress))
        except ValueError as err:
            raise CorpusError(path, f"malformed JSON: {err}") from err
        yield from enumerate(records, 1)
        return
    for number, line in read_lines(path, reading.progress, reading.on_error):
        if line and line.strip():
            try:
                record = srsly.json_loads(line)
            except ValueError as err:
                error = CorpusError(path, f"malformed JSON: {err}", number)
                reading.on_error(error)
            else:
                yield number, record


def _read_record(record: dict, line: int, reading: Reading) -> Iterator[Document]:
    if "support" in record and "query" in record:
        yield from _read_episode(record, line)
    elif record.get("answer", "accept") != "accept":
        reading.notes[REJECTED] += 1
    elif isinstance(record.get("data"), dict):
        yield _read_label_studio(record)
    else:
        yield _read_text(record)


def _read_episode(record: dict, line: int) -> Iterator[TokenDocument]:
    """Few-NERD: words and bare types of the support and the query sentences."""
    for part in PARTS:
        sentences = zip(record[part]["word"], record[part]["label"], strict=True)
        for words, tags in sentences:
            if len(words) != len(tags):
                raise ValueError(f"{len(words)} words but {len(tags)} labels")
            meta: dict[str, str | int] = {"episode": line, "part": part}
            yield TokenDocument([Sentence(words, read_tags(tags, "io"))], meta)


def _read_text(record: dict) -> TextDocument:
    """Prodigy: "spans" of objects. Doccano: "label" or "labels" of triples, or
    "entities" of objects with offsets. Label Studio's short form: "label" of objects.
    """
    keys = [key for key in ("spans", "label", "labels", "entities") if key in record]
    spans = (record[keys[0]] or []) if keys else []
    return TextDocument(_get_text(record), [_read_span(span) for span in spans])


def _read_label_studio(record: dict) -> TextDocument:
    """Label Studio: the text under "data", the spans under the first annotation that
    wasn't cancelled.
    """
    annotations = [
        annotation
        for annotation in record.get("annotations") or record.get("completions") or []
        if not annotation.get("was_cancelled")
    ]
    results = annotations[0]["result"] if annotations else []
    spans = [
        _read_span(result["value"])
        for result in results
        if "start" in result.get("value", {})
    ]
    return TextDocument(_get_text(record["data"]), spans)


def _read_span(span: Any) -> tuple[int, int, str]:
    if isinstance(span, dict):
        start = span.get("start", span.get("start_offset"))
        end = span.get("end", span.get("end_offset"))
        labels = span.get("labels")
        label = labels[0] if labels else span.get("label")
    else:
        start, end, label = span
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(label, str)):
        raise ValueError(f"not a span with a start, an end and a label: {span}")
    return start, end, label


def _get_text(record: dict) -> str:
    text = record["text"] if "text" in record else record["data"]
    if not isinstance(text, str):
        raise ValueError("the text isn't a string")
    return text
