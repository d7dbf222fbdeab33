"""Write annotated records, as a file of each format.

To add a format, write a function and name it in `OUTPUT_FORMATS`.
"""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.tokens import Doc, DocBin

from ..recognizer.annotation import get_scores
from .input_formats import Record, Row, import_pyarrow
from .inputs import Input, find_header

if TYPE_CHECKING:
    import pyarrow

RECORD = "record"
ENTITIES = "entities"
FIELDS = "fields"  # of a Parquet file, for fields without a column of their own


class Annotated(NamedTuple):
    """A record, and the doc with its entities."""

    id: str
    record: Record
    doc: Doc


class Reject(NamedTuple):
    """A record that couldn't be annotated."""

    record: str  # its id
    reason: str
    content: str  # how the record begins


class Layout(NamedTuple):
    """The layout of shards."""

    format: str  # a key of `OUTPUT_FORMATS`
    text_field: str
    schema: "pyarrow.Schema | None" = None  # of the input, if all files have the same


def encode(rows: list[Annotated], layout: Layout) -> bytes:
    """Make the content of a shard."""
    return OUTPUT_FORMATS[layout.format].encode(rows, layout)


def list_entities(doc: Doc) -> list[Row]:
    """List the entities of a doc by character, with their probabilities if known."""
    scores = get_scores(doc)
    found = []
    for ent in doc.ents:
        score = scores.get((ent.start, ent.end, ent.label_))
        found.append(
            {
                "start": ent.start_char,
                "end": ent.end_char,
                "label": ent.label_,
                "score": None if score is None else round(score, 6),
                "text": ent.text,
            }
        )
    return found


def keep_fields(fields: Row, taken: set[str]) -> Row:
    """Rename fields of the input that have names of ours."""
    kept: Row = {}
    for name, value in fields.items():
        new = name
        while new in taken or (new != name and (new in fields or new in kept)):
            new += "_"
        kept[new] = value
    return kept


# JSON Lines


def encode_jsonl(rows: list[Annotated], layout: Layout) -> bytes:
    return b"".join(
        to_json_line(
            {
                RECORD: row.id,
                **keep_fields(row.record.fields, {RECORD, ENTITIES}),
                ENTITIES: list_entities(row.doc),
            }
        )
        for row in rows
    )


def to_json_line(value: Row) -> bytes:
    """Write a line of JSON. Dates and the like become text, and NaN becomes null, while
    infinity is an error, because JSON has neither.
    """
    try:
        line = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(value, default=str)
        plain = json.loads(text, parse_constant=_read_constant)
        line = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    try:
        return f"{line}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return f"{json.dumps(json.loads(line))}\n".encode()


def _read_constant(name: str) -> float | None:
    """Read a number that JSON doesn't have, but NaN as null."""
    return None if name == "NaN" else float(name)


# Parquet


def find_schema(files: Input) -> "pyarrow.Schema | None":
    """Find the columns of an input, if all its files have the same."""
    import_pyarrow()
    import pyarrow
    from pyarrow.parquet import read_schema

    found: list[pyarrow.Schema] = []
    for path, name in files.files:
        header = find_header(path, name)
        if header is None:
            return None
        if not header:
            continue
        if name == "csv":
            schema = pyarrow.schema([(column, pyarrow.string()) for column in header])
        else:
            schema = read_schema(path).remove_metadata()
        found.append(schema)
    return found[0] if found and all(map(found[0].equals, found)) else None


def encode_parquet(rows: list[Annotated], layout: Layout) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    string = pyarrow.string()
    entity = pyarrow.struct(
        {
            "start": pyarrow.int64(),
            "end": pyarrow.int64(),
            "label": string,
            "score": pyarrow.float64(),
            "text": string,
        }
    )
    columns: dict[str, tuple[Any, list[Any]]]  # the type and the values of each
    columns = {RECORD: (string, [row.id for row in rows])}
    if layout.schema is None:
        others = [_drop(row.record.fields, layout.text_field) for row in rows]
        (name,) = keep_fields({layout.text_field: None}, {RECORD, ENTITIES, FIELDS})
        columns[name] = string, [row.record.text for row in rows]
        columns[FIELDS] = string, [to_json_line(o).decode() for o in others]
    else:
        taken = {RECORD, ENTITIES}
        names = keep_fields({name: name for name in layout.schema.names}, taken)
        for new, old in names.items():
            values = [row.record.fields[old] for row in rows]
            columns[new] = layout.schema.field(old).type, values
    columns[ENTITIES] = pyarrow.list_(entity), [list_entities(r.doc) for r in rows]
    table = {name: pyarrow.array(data, kind) for name, (kind, data) in columns.items()}
    file = io.BytesIO()
    write_table(pyarrow.table(table), file)
    return file.getvalue()


def _drop(fields: Row, name: str) -> Row:
    return {key: value for key, value in fields.items() if key != name}


# spaCy's binary format


def encode_docs(rows: list[Annotated], layout: Layout) -> bytes:
    docs = DocBin(store_user_data=True)
    for id, record, doc in rows:
        # MessagePack has no dates and the like.
        plain = json.loads(to_json_line(_drop(record.fields, layout.text_field)))
        doc.user_data = {RECORD: id, **keep_fields(plain, {RECORD})}
        docs.add(doc)
    return docs.to_bytes()


class OutputFormat(NamedTuple):
    """A format of shards."""

    suffix: str  # of names of files
    encode: Callable[[list[Annotated], Layout], bytes]


OUTPUT_FORMATS = {
    "jsonl": OutputFormat(".jsonl", encode_jsonl),
    "parquet": OutputFormat(".parquet", encode_parquet),
    "spacy": OutputFormat(".spacy", encode_docs),
}
