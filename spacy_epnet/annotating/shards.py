"""What is written: annotated records, as a file of each format."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.tokens import Doc, DocBin

from ..recognizer.annotation import get_scores
from .inputs import Source, find_header
from .records import FORMATS, Record, import_pyarrow

if TYPE_CHECKING:
    import pyarrow

RECORD = "record"
ENTITIES = "entities"
FIELDS = "fields"  # of a Parquet file, for what has no columns of its own


class Annotated(NamedTuple):
    """A record, and the doc with what was recognized in it."""

    record: Record
    doc: Doc


class Reject(NamedTuple):
    """A record that couldn't be annotated."""

    record: str
    reason: str
    content: str  # the beginning of it


class Layout(NamedTuple):
    """How shards are written.

    format (str): A key of `WRITERS`.
    text_field (str): The field with the text.
    schema (Optional[pyarrow.Schema]): The columns of the input, for Parquet, if all
        its files have the same.
    """

    format: str
    text_field: str
    schema: "pyarrow.Schema | None" = None


def encode(rows: list[Annotated], layout: Layout) -> bytes:
    """Make the content of a shard.

    rows (List[Annotated]): Its records.
    layout (Layout): How it is written.
    RETURNS (bytes): What is in the file.
    """
    return WRITERS[layout.format](rows, layout)


def list_entities(doc: Doc) -> list[dict[str, Any]]:
    """The entities of a doc, in characters, with their probabilities if known."""
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


def keep_fields(fields: dict[str, Any], taken: set[str]) -> dict[str, Any]:
    """Keep fields of the input beside ours. Those with our names get longer ones."""
    kept: dict[str, Any] = {}
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
                RECORD: record.id,
                **keep_fields(record.fields, {RECORD, ENTITIES}),
                ENTITIES: list_entities(doc),
            }
        )
        for record, doc in rows
    )


def to_json_line(value: dict[str, Any]) -> bytes:
    """A line of JSON. Dates and the like become text."""
    try:
        line = json.dumps(value, ensure_ascii=False, default=str)
        return f"{line}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return f"{json.dumps(value, default=str)}\n".encode()


# Parquet


def find_schema(source: Source) -> "pyarrow.Schema | None":
    """The columns of an input, if all its files have the same.

    source (Source): The input.
    RETURNS (Optional[pyarrow.Schema]): The columns with their types, or None.
    """
    import_pyarrow()
    import pyarrow
    from pyarrow.parquet import read_schema

    found: list[pyarrow.Schema] = []
    for path, name in source.files:
        header = find_header(path, name)
        if not header:
            if FORMATS[name].read_header is None:
                return None
            continue
        if len({*header}) < len(header):
            return None
        if name == "csv":
            schema = pyarrow.schema([(column, pyarrow.string()) for column in header])
        else:
            schema = read_schema(path).remove_metadata()
        if not any(schema.equals(other) for other in found):
            found.append(schema)
    return found[0] if len(found) == 1 else None


def encode_parquet(rows: list[Annotated], layout: Layout) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    entity = pyarrow.struct(
        [
            ("start", pyarrow.int64()),
            ("end", pyarrow.int64()),
            ("label", pyarrow.string()),
            ("score", pyarrow.float64()),
            ("text", pyarrow.string()),
        ]
    )
    columns: list[tuple[str, Any, list[Any]]]
    columns = [(RECORD, pyarrow.string(), [row.record.id for row in rows])]
    if layout.schema is None:
        others = [_drop(row.record.fields, layout.text_field) for row in rows]
        (name,) = keep_fields({layout.text_field: None}, {RECORD, ENTITIES, FIELDS})
        columns += [
            (name, pyarrow.string(), [row.record.text for row in rows]),
            (FIELDS, pyarrow.string(), [to_json_line(o).decode() for o in others]),
        ]
    else:
        taken = {RECORD, ENTITIES}
        names = keep_fields({name: name for name in layout.schema.names}, taken)
        columns += [
            (new, layout.schema.field(old).type, [r.record.fields[old] for r in rows])
            for new, old in names.items()
        ]
    entities = [list_entities(row.doc) for row in rows]
    columns.append((ENTITIES, pyarrow.list_(entity), entities))
    schema = pyarrow.schema([(name, kind) for name, kind, _ in columns])
    arrays = [pyarrow.array(values, kind) for _, kind, values in columns]
    file = io.BytesIO()
    write_table(pyarrow.Table.from_arrays(arrays, schema=schema), file)
    return file.getvalue()


def _drop(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


# spaCy's binary format


def encode_docs(rows: list[Annotated], layout: Layout) -> bytes:
    docs = DocBin(store_user_data=True)
    for record, doc in rows:
        others = _drop(record.fields, layout.text_field)
        # MessagePack has no dates and the like.
        plain = json.loads(json.dumps(others, default=str))
        doc.user_data = {RECORD: record.id, **keep_fields(plain, {RECORD})}
        docs.add(doc)
    return docs.to_bytes()


WRITERS: dict[str, Callable[[list[Annotated], Layout], bytes]] = {
    "jsonl": encode_jsonl,
    "parquet": encode_parquet,
    "spacy": encode_docs,
}
SUFFIXES = {"jsonl": ".jsonl", "parquet": ".parquet", "spacy": ".spacy"}
