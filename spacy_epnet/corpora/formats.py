"""The published formats, and how to tell them apart."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ..errors import CorpusError
from .files import open_binary
from .readers import (
    read_columns,
    read_conll2012,
    read_docbin,
    read_i2b2,
    read_json,
    read_wnut17,
)
from .reading import Document, Reading

Reader: TypeAlias = Callable[[Path, Reading], Iterator[Document]]

FORMATS: dict[str, Reader] = {
    "columns": read_columns,
    "bio": partial(read_columns, scheme="bio"),
    "iob1": partial(read_columns, scheme="iob1"),
    "bioes": partial(read_columns, scheme="bioes"),
    "io": partial(read_columns, scheme="io"),
    "conll2003": read_columns,
    "conll2012": read_conll2012,
    "wnut17": read_wnut17,
    "fewnerd": partial(read_columns, scheme="io"),
    "fewnerd-episodes": read_json,
    "i2b2": read_i2b2,
    "jsonl": read_json,
    "spacy": read_docbin,
}

SUFFIXES = {
    ".spacy": "spacy",
    ".xml": "i2b2",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    "_conll": "conll2012",
}
OPENINGS = {
    re.compile(rb"#begin document"): "conll2012",
    re.compile(rb"<\?xml|<deIdi2b2"): "i2b2",
    re.compile(rb'\[?\s*\{\s*"|\[$'): "jsonl",
}
GOLD_CONLL = "*_gold_conll"


def detect_format(path: Path, separator: str | None = None) -> str:
    """Tell the format of a file from its name and its first line.

    path (Path): The file.
    separator (Optional[str]): What stands between columns, if that is known.
    RETURNS (str): A key of `FORMATS`.
    """
    name = path.name.removesuffix(".gz")
    for suffix, format_name in SUFFIXES.items():
        if name.endswith(suffix):
            return format_name
    with open_binary(path) as file:
        lines = (line.strip(b" \t\r\n\xef\xbb\xbf") for line in file)
        first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise CorpusError(path, "the file is empty")
    for opening, format_name in OPENINGS.items():
        if opening.match(first):
            return format_name
    if len(first.split()) > 1 or (separator or "\t").encode() in first:
        return "columns"
    reason = f"the format can't be told from the first line, {first[:60]!r}"
    names = ", ".join(FORMATS)
    raise CorpusError(
        path, f"{reason}. Name it with --format of spacy epnet convert: {names}"
    )
