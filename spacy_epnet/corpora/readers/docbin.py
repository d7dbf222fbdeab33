"""Read spaCy's binary format."""

from collections.abc import Iterator
from pathlib import Path

from spacy.vocab import Vocab

from ..docbins import read_docs
from ..docs import META_KEY, cut_doc
from ..documents import Reading, TokenDocument
from ..tags import Entity

MISSING = 0


def read_docbin(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `.spacy` file."""
    for doc in read_docs(path, Vocab(), reading.progress):
        if len(doc):
            has_starts = doc.has_annotation("SENT_START")
            starts = [bool(has_starts and token.is_sent_start) for token in doc]
            entities = [Entity(ent.start, ent.end, ent.label_) for ent in doc.ents]
            unknown = [token.ent_iob == MISSING for token in doc]
            meta = doc.user_data.get(META_KEY)
            yield TokenDocument(
                list(cut_doc(doc, starts, entities, unknown)),
                meta if isinstance(meta, dict) else None,
            )
