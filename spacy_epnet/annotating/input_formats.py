"""Read records to annotate from files of each format.

One process reads records as bytes or rows and keeps all others busy. These parse them.
To add a format, write both functions and name them in `INPUT_FORMATS`.
"""

import csv
import io
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from spacy.vocab import Vocab

from ..corpora import docbins, files
from ..corpora.files import Progress, decode, open_binary, read_binary_lines
from ..corpora.readers.json_lines import parse_json
from ..errors import CorpusError, MissingExtraError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

ROWS_AT_ONCE = 1000

Content: TypeAlias = Any  # of a record as it was read: bytes of a line, or a row
# The number of each record, its content, and why it can't be annotated.
Contents: TypeAlias = Iterator[tuple[int, Content, str | None]]
Row: TypeAlias = dict[str, Any]


class Item(NamedTuple):
    """A record as it was read."""

    file: str  # as `escape_path` writes it
    number: int  # in the file, from 1
    format: str  # a key of `INPUT_FORMATS`
    content: Content
    reason: str | None = None  # why it can't be annotated

    @property
    def id(self) -> str:
        return f"{self.file}:{self.number}"


class Record(NamedTuple):
    """A record to annotate."""

    text: str
    fields: Row  # including the text
    words: list[str] | None = None  # if it is tokenized
    spaces: list[bool] | None = None  # whether one follows each of them


class RecordError(ValueError):
    """A record can't be annotated."""


class InputFormat(NamedTuple):
    """A format of files with records."""

    suffixes: tuple[str, ...]  # of names of files
    read: Callable[[Path, Progress], Contents]
    parse: Callable[[Content, str], Record]  # given the name of the text field
    read_header: Callable[[Path], list[str]] | None = None  # if there are columns


def read_items(path: Path, format_name: str, progress: Progress) -> Iterator[Item]:
    """Read the records of a file. If it can't be read to its end, the last item has the
    reason.
    """
    number = 0
    try:
        for number, content, reason in INPUT_FORMATS[format_name].read(path, progress):
            yield Item(escape_path(path), number, format_name, content, reason)
    except CorpusError as err:
        reason = f"{err.reason}. Nothing is read of the file from here on"
        yield Item(escape_path(path), number + 1, format_name, None, reason)


def escape_path(path: Path) -> str:
    """Write a path as text, with escapes for bytes that are no text. Different paths
    have different texts, so a backslash is escaped, too.
    """
    name = os.fsencode(path.as_posix()).replace(b"\\", rb"\\")
    return name.decode("utf8", "backslashreplace")


def parse_item(item: Item, text_field: str) -> Record:
    """Parse a record, or raise a `RecordError`."""
    if item.reason is not None:
        raise RecordError(item.reason)
    return INPUT_FORMATS[item.format].parse(item.content, text_field)


# Lines


def read_lines(path: Path, progress: Progress) -> Contents:
    """Read a record from each line."""
    for number, line in enumerate(read_binary_lines(path, progress), 1):
        if line is None:
            yield number, None, f"longer than {files.MAX_LINE} bytes"
        else:
            yield number, line.removeprefix(BOM_UTF8) if number == 1 else line, None


def read_filled_lines(path: Path, progress: Progress) -> Contents:
    """Read a record from each line that isn't blank."""
    for number, line, reason in read_lines(path, progress):
        if reason or line.strip():
            yield number, line, reason


def parse_line(content: bytes, text_field: str) -> Record:
    text = _decode(content)
    return Record(text, {text_field: text})


def parse_object(content: bytes, text_field: str) -> Record:
    try:
        fields = parse_json(_decode(content))
    except ValueError as err:
        raise RecordError(f"not JSON: {err}") from err
    if not isinstance(fields, dict):
        raise RecordError("not a JSON object")
    return parse_row(fields, text_field)


def _decode(content: bytes) -> str:
    try:
        text = decode(content, Path(), 1)
    except CorpusError as err:
        raise RecordError(err.reason) from err
    return text.removesuffix("\n").removesuffix("\r")


# Rows


def parse_row(fields: Row, text_field: str) -> Record:
    if text_field not in fields:
        raise RecordError(f"no field {text_field!r}")
    text = fields[text_field]
    if not isinstance(text, str):
        raise RecordError(f"the field {text_field!r} isn't a text")
    return Record(text, fields)


def read_csv(path: Path, progress: Progress) -> Contents:
    """Read a record from each row under a header."""
    with _open_csv(path, progress) as rows:
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
            elif not all(map(is_utf8, filter(None, row.values()))):
                yield number, row, "not UTF-8"
            else:
                yield number, row, None


def read_csv_header(path: Path) -> list[str]:
    with _open_csv(path) as rows:
        return list(rows.fieldnames or [])


@contextmanager
def _open_csv(
    path: Path, progress: Progress = lambda count: None
) -> Iterator["csv.DictReader[str]"]:
    """Open a file of rows, and check its header."""
    csv.field_size_limit(files.MAX_LINE)
    name = path.name.lower().removesuffix(".gz")
    delimiter = "\t" if name.endswith(".tsv") else ","
    with open_binary(path, progress) as file:
        # Bytes that aren't UTF-8 are found in the row that has them.
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        # If it weren't strict, a quote without an end would swallow all that follows.
        rows = csv.DictReader(text, delimiter=delimiter, strict=True)
        try:
            is_readable = all(map(is_utf8, rows.fieldnames or []))
        except csv.Error as err:
            raise CorpusError(path, f"not CSV: {err}") from err
        if not is_readable:
            raise CorpusError(path, "its header isn't UTF-8")
        yield rows


def is_utf8(text: str) -> bool:
    """Check whether text was UTF-8. In UTF-16 that was read so, there are NULs."""
    try:
        return b"\0" not in text.encode("utf8")
    except UnicodeEncodeError:
        return False


def read_parquet(path: Path, progress: Progress) -> Contents:
    """Read a record from each row."""
    with _open_parquet(path) as file:
        total, size = file.metadata.num_rows, path.stat().st_size
        number = reported = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            for row, reason in _iter_rows(batch):
                number += 1
                # How much of the file was read isn't known, so it is distributed.
                progress(size * number // total - reported)
                reported = size * number // total
                yield number, row, reason


def _iter_rows(batch: "RecordBatch") -> Iterator[tuple[Row | None, str | None]]:
    """Convert rows of a table, or say why not: Python has no year 30,000, for one."""
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
        return list(file.schema_arrow.names)


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
    """Import PyArrow, or say how to install it."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as err:
        raise MissingExtraError(
            "Parquet files need PyArrow: pip install 'spacy-epnet[parquet]'"
        ) from err


# Docs


def read_docs(path: Path, progress: Progress) -> Contents:
    """Read a record from each doc: its tokens and not its annotation."""
    for number, doc in enumerate(docbins.read_docs(path, Vocab(), progress), 1):
        content = {
            "text": doc.text,
            "words": [token.text for token in doc],
            "spaces": [bool(token.whitespace_) for token in doc],
            "fields": {k: v for k, v in doc.user_data.items() if isinstance(k, str)},
        }
        yield number, content, None


def parse_doc(content: Row, text_field: str) -> Record:
    fields = {**content["fields"], text_field: content["text"]}
    return Record(content["text"], fields, content["words"], content["spaces"])


INPUT_FORMATS = {
    "text": InputFormat((".txt", ".text"), read_lines, parse_line),
    "jsonl": InputFormat(
        (".jsonl", ".ndjson", ".json"), read_filled_lines, parse_object
    ),
    "csv": InputFormat((".csv", ".tsv"), read_csv, parse_row, read_csv_header),
    "parquet": InputFormat(
        (".parquet", ".pq"), read_parquet, parse_row, read_parquet_header
    ),
    "spacy": InputFormat((".spacy",), read_docs, parse_doc),
}


def detect_format(path: Path) -> str:
    """Detect the format of a file, a key of `INPUT_FORMATS`, by its name."""
    name = path.name.lower().removesuffix(".gz")
    for key, known in INPUT_FORMATS.items():
        if name.endswith(known.suffixes):
            return key
    raise CorpusError(
        path,
        "the format can't be detected by the name of the file. Name it with "
        f"--input-format: {', '.join(INPUT_FORMATS)}",
    )
