"""Readers of the published formats, one file each, and how to detect a format.

To add a format, write a reader in a file of its own and name it in `FORMATS`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ...errors import CorpusError
from ..documents import Document, Reading
from ..files import open_binary
from .columns import read_columns, read_wnut17
from .conll2012 import read_conll2012
from .docbin import read_docbin
from .i2b2 import read_i2b2
from .json_lines import read_json

Reader: TypeAlias = Callable[[Path, Reading], Iterator[Document]]


class Format(NamedTuple):
    """A format of corpora."""

    read: Reader
    suffixes: tuple[str, ...] = ()  # of names of files
    opening: bytes = b""  # a regular expression for the first line, if there is one


FORMATS = {
    "columns": Format(read_columns),
    "bio": Format(partial(read_columns, scheme="bio")),
    "iob1": Format(partial(read_columns, scheme="iob1")),
    "bioes": Format(partial(read_columns, scheme="bioes")),
    "io": Format(partial(read_columns, scheme="io")),
    "conll2003": Format(read_columns),
    "conll2012": Format(read_conll2012, ("_conll",), rb"#begin document"),
    "wnut17": Format(read_wnut17),
    "fewnerd": Format(partial(read_columns, scheme="io")),
    "fewnerd-episodes": Format(read_json),
    "i2b2": Format(read_i2b2, (".xml",), rb"<\?xml|<deIdi2b2"),
    "jsonl": Format(read_json, (".json", ".jsonl"), rb'\[?\s*\{\s*"|\[$'),
    "spacy": Format(read_docbin, (".spacy",)),
}


def detect_format(path: Path, separator: str | None = None) -> str:
    """Detect the format of a file, a key of `FORMATS`, by its name and first line."""
    name = path.name.removesuffix(".gz")
    for key, known in FORMATS.items():
        if name.endswith(known.suffixes):
            return key
    with open_binary(path) as file:
        lines = (line.strip(b" \t\r\n\xef\xbb\xbf") for line in file)
        first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise CorpusError(path, "the file is empty")
    for key, known in FORMATS.items():
        if known.opening and re.match(known.opening, first):
            return key
    if len(first.split()) > 1 or (separator or "\t").encode() in first:
        return "columns"
    raise CorpusError(
        path,
        f"the format can't be detected from the first line, {first[:60]!r}. Name it "
        f"with --format of spacy epnet convert: {', '.join(FORMATS)}",
    )
