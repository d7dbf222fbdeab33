"""What spaCy itself writes."""

from collections.abc import Iterator
from pathlib import Path

from spacy.attrs import ENT_IOB
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ...errors import CorpusError
from ..documents import Reading, Sentence, TokenDocument
from ..files import open_binary

MISSING = 0


def read_docbin(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `.spacy` file.

    path (Path): The file.
    reading (Reading): How to read it.
    YIELDS (TokenDocument): The docs.
    """
    with open_binary(path, reading.progress) as file:
        data = file.read()
    try:
        doc_bin = DocBin().from_bytes(data)
    except Exception as err:
        raise CorpusError(path, f"not a DocBin: {err}") from err
    for doc in doc_bin.get_docs(Vocab()):
        if len(doc):
            has_sentences = doc.has_annotation("SENT_START")
            parts = list(doc.sents) if has_sentences else [doc[:]]
            yield TokenDocument([_read_part(doc, part) for part in parts])


def _read_part(doc: Doc, part: Span) -> Sentence:
    iob = doc.to_array(ENT_IOB)[part.start : part.end]
    return Sentence(
        [token.text for token in part],
        [(e.start - part.start, e.end - part.start, e.label_) for e in part.ents],
        None if doc.has_unknown_spaces else [bool(t.whitespace_) for t in part],
        [i for i, value in enumerate(iob.tolist()) if value == MISSING],
    )
