"""What is annotated: records, as files of each format have them.

A reader gives records as they lie in a file, because it runs in one process that keeps
all others busy. What a record means is found out where it is annotated.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..corpora.files import BOM, Progress, decode, open_binary
from ..errors import CorpusError, MissingExtraError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

MOST_BYTES = 2**26  # of a record, because a file may be one line without an end
ROWS_AT_ONCE = 1000


class Item(NamedTuple):
    """A record as it was read, or why it couldn't be."""

    file: str
    number: int  # in the file, from 1
    format: str  # a key of `FORMATS`
    content: Any
    reason: str | None = None

    @property
    def id(self) -> str:
        return f"{self.file}:{self.number}"


class Record(NamedTuple):
    """A record to annotate."""

    id: str
    text: str
    fields: dict[str, Any]  # all that it has, the text too
    words: list[str] | None = None  # if it is parted into tokens
    spaces: list[bool] | None = None


class RecordError(ValueError):
    """A record that can't be annotated, and why."""


Contents: TypeAlias = Iterator[tuple[int, Any, str | None]]  # number, content, reason


class Format(NamedTuple):
    """How records are read, and how they are understood later."""

    suffixes: tuple[str, ...]
    read: Callable[[Path, Progress], Contents]
    understand: Callable[[Any, str], tuple]  # content and field of the text -> Record
    read_header: Callable[[Path], list[str]] | None = None


def read_items(path: Path, format_name: str, progress: Progress) -> Iterator[Item]:
    """Read the records of a file. If it breaks off, the last one says why.

    path (Path): The file.
    format_name (str): A key of `FORMATS`.
    progress (Callable[[int], object]): Called with the bytes read from the disk.
    YIELDS (Item): The records.
    """
    number = 0
    try:
        for number, content, reason in FORMATS[format_name].read(path, progress):
            yield Item(show_path(path), number, format_name, content, reason)
    except CorpusError as err:
        reason = f"{err.reason}. Nothing is read of the file from here on"
        yield Item(show_path(path), number + 1, format_name, None, reason)


def show_path(path: Path) -> str:
    """A path as text, whatever bytes are in it."""
    return os.fsencode(path).decode("utf8", "backslashreplace")


def understand(item: Item, text_field: str) -> Record:
    """Find out what is in a record.

    item (Item): The record as it was read.
    text_field (str): The field with the text.
    RETURNS (Record): The record. A `RecordError` says why there is none.
    """
    if item.reason is not None:
        raise RecordError(item.reason)
    return Record(item.id, *FORMATS[item.format].understand(item.content, text_field))


# Lines


def read_lines(path: Path, progress: Progress) -> Contents:
    """Read a record from each line. Nothing but a line feed ends one."""
    with open_binary(path, progress) as file:
        for number, line in enumerate(_cut_lines(file), 1):
            reason = f"longer than {MOST_BYTES} bytes" if line is None else None
            yield number, line, reason


def read_filled_lines(path: Path, progress: Progress) -> Contents:
    """Read a record from each line that isn't blank."""
    for number, line, reason in read_lines(path, progress):
        if reason or line.strip():
            yield number, line, reason


def _cut_lines(file: IO) -> Iterator[bytes | None]:
    """Lines with what ends them, and None for each that is too long to be kept."""
    while line := file.readline(MOST_BYTES):
        if len(line) < MOST_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(MOST_BYTES)
        yield None


def understand_line(content: bytes, text_field: str) -> tuple:
    text = _decode(content)
    return text, {text_field: text}


def understand_json(content: bytes, text_field: str) -> tuple:
    try:
        fields = json.loads(_decode(content))
    except (ValueError, RecursionError) as err:  # numbers can be too long, too
        raise RecordError(f"not JSON: {err}") from err
    if not isinstance(fields, dict):
        raise RecordError("not a JSON object")
    return understand_row(fields, text_field)


def _decode(content: bytes) -> str:
    try:
        text = decode(content, Path(), None)
    except CorpusError as err:
        raise RecordError(err.reason) from err
    return text.removesuffix("\n").removesuffix("\r").removeprefix(BOM)


# Rows


def understand_row(fields: dict[str, Any], text_field: str) -> tuple:
    if text_field not in fields:
        raise RecordError(f"no field {text_field!r}")
    text = fields[text_field]
    if not isinstance(text, str):
        raise RecordError(f"the field {text_field!r} isn't a text")
    return text, fields


def read_csv(path: Path, progress: Progress) -> Contents:
    """Read a record from each row under a header."""
    with _open_csv(path, progress) as rows:
        _get_header(path, rows)
        for number in count(1):
            begin = rows.reader.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as err:
                end = rows.reader.line_num
                yield number, None, f"not CSV: {err}, in lines {begin}-{end}"
                continue
            if None in row:
                yield number, row, "more columns than the header has"
            elif not all(map(_is_unicode, filter(None, row.values()))):
                yield number, row, "not UTF-8"
            else:
                yield number, row, None


def read_csv_header(path: Path) -> list[str]:
    with _open_csv(path) as rows:
        return _get_header(path, rows)


def _get_header(path: Path, rows: csv.DictReader) -> list[str]:
    try:
        header = list(rows.fieldnames or [])
    except csv.Error as err:
        raise CorpusError(path, f"not CSV: {err}") from err
    if not all(map(_is_unicode, header)):
        raise CorpusError(path, "its header isn't UTF-8")
    return header


@contextmanager
def _open_csv(
    path: Path, progress: Progress = lambda count: None
) -> Iterator[csv.DictReader]:
    csv.field_size_limit(MOST_BYTES)
    name = path.name.lower().removesuffix(".gz")
    delimiter = "\t" if name.endswith(".tsv") else ","
    with open_binary(path, progress) as file:
        # What isn't UTF-8 gets through, and is found in the row that has it.
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        # If it weren't strict, a quote without an end would swallow all that follows.
        yield csv.DictReader(text, delimiter=delimiter, strict=True)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def read_parquet(path: Path, progress: Progress) -> Contents:
    """Read a record from each row."""
    with _open_parquet(path) as file:
        total, size = file.metadata.num_rows, path.stat().st_size
        number = told = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            for row, reason in _iter_rows(batch):
                number += 1
                # How much of the file was read isn't known, so it is shared out.
                progress(size * number // total - told)
                told = size * number // total
                yield number, row, reason


def _iter_rows(batch: "RecordBatch") -> Iterator[tuple[Any, str | None]]:
    """The rows of a table, and why there is none where a value is nothing that Python
    has, such as a date in the year 30,000.
    """
    try:
        yield from ((row, None) for row in batch.to_pylist())
        return
    except (ValueError, OverflowError):
        pass  # one of them
    for i in range(batch.num_rows):
        try:
            (row,) = batch.slice(i, 1).to_pylist()
        except (ValueError, OverflowError) as err:
            yield None, f"a value can't be read: {err}"
        else:
            yield row, None


def read_parquet_header(path: Path) -> list[str]:
    with _open_parquet(path) as file:
        return file.schema_arrow.names


@contextmanager
def _open_parquet(path: Path) -> Iterator["ParquetFile"]:
    import_pyarrow()
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError) as err:
        raise CorpusError(path, f"can't be read as Parquet: {err}") from err


def import_pyarrow() -> None:
    """Refuse what needs an extra that is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as err:
        raise MissingExtraError(
            "Parquet files need PyArrow: pip install 'spacy-epnet[parquet]'"
        ) from err


# Docs


def read_docs(path: Path, progress: Progress) -> Contents:
    """Read a record from each doc. Its tokens are kept, and not its annotation."""
    from spacy.vocab import Vocab

    from ..corpora import docbins

    for number, doc in enumerate(docbins.read_docs(path, Vocab(), progress), 1):
        content = {
            "text": doc.text,
            "words": [token.text for token in doc],
            "spaces": [bool(token.whitespace_) for token in doc],
            "fields": {k: v for k, v in doc.user_data.items() if isinstance(k, str)},
        }
        yield number, content, None


def understand_doc(content: dict[str, Any], text_field: str) -> tuple:
    fields = {**content["fields"], text_field: content["text"]}
    return content["text"], fields, content["words"], content["spaces"]


FORMATS = {
    "text": Format((".txt", ".text"), read_lines, understand_line),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), read_filled_lines, understand_json),
    "csv": Format((".csv", ".tsv"), read_csv, understand_row, read_csv_header),
    "parquet": Format(
        (".parquet", ".pq"), read_parquet, understand_row, read_parquet_header
    ),
    "spacy": Format((".spacy",), read_docs, understand_doc),
}
