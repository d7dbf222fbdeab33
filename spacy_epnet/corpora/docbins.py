"""Reading what spaCy itself writes, with no more trust than in other files."""

import gc
import zlib
from collections.abc import Iterator
from pathlib import Path

from spacy.attrs import ORTH
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import CorpusError
from .files import check_unpacked
from .tags import is_label

PIECE = 1 << 20  # bytes that are unpacked at once


def read_docs(data: bytes, path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Read the docs of a `.spacy` file.

    data (bytes): What is in the file.
    path (Path): The file.
    vocab (Vocab): The vocabulary of the docs.
    YIELDS (Doc): The docs.
    """
    _check_size(data, path)
    try:
        for doc in DocBin(store_user_data=True).from_bytes(data).get_docs(vocab):
            _check_doc(doc)
            yield doc
    except Exception as err:
        gc.enable()  # which srsly switches off, and leaves so after an error
        # What is wrong shows somewhere in spaCy, msgpack or NumPy.
        reason = " ".join(str(err).split()) or type(err).__name__
        raise CorpusError(path, f"not a DocBin: {reason}") from err


def _check_size(data: bytes, path: Path) -> None:
    """Unpack a DocBin piece by piece, to see how large it is."""
    unpacker = zlib.decompressobj()
    size = 0
    try:
        while data and not unpacker.eof:
            size += len(unpacker.decompress(data, PIECE))
            data = unpacker.unconsumed_tail
            check_unpacked(size, path)
    except zlib.error:
        return  # which is told when it is read


def _check_doc(doc: Doc) -> None:
    """Refuse annotation that spaCy can't have written."""
    if not doc.to_array(ORTH).all():
        raise ValueError("a token is empty")
    if not all(is_label(ent.label_) for ent in doc.ents):
        raise ValueError("the type of an entity is blank")
    for group in doc.spans.values():
        if not all(0 <= span.start <= span.end <= len(doc) for span in group):
            raise ValueError("a span is no part of its doc")
