"""Read spaCy's binary format."""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from spacy.attrs import ENT_IOB
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..docbins import read_docs
from ..docs import META_KEY
from ..documents import Reading, Sentence, TokenDocument
from ..tags import Entity

MISSING = 0


def read_docbin(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `.spacy` file.

    path (Path): The file.
    reading (Reading): How to read it.
    YIELDS (TokenDocument): The docs.
    """
    for doc in read_docs(path, Vocab(), reading.progress):
        if len(doc):
            meta = doc.user_data.get(META_KEY)
            known = meta if isinstance(meta, dict) else None
            yield TokenDocument(_read_sentences(doc), known)


def _read_sentences(doc: Doc) -> list[Sentence]:
    """Split a doc into its sentences, but never inside an entity."""
    ents = deque((ent.start, ent.end, ent.label_) for ent in doc.ents)
    inside = {i for start, end, _ in ents for i in range(start + 1, end)}
    iob = doc.to_array(ENT_IOB).tolist()
    starts = [0]
    if doc.has_annotation("SENT_START"):
        starts += [t.i for t in doc if t.i and t.is_sent_start and t.i not in inside]
    sentences = []
    for start, end in pairwise([*starts, len(doc)]):
        tokens = doc[start:end]
        own = []
        while ents and ents[0][0] < end:
            first, last, label = ents.popleft()
            own.append(Entity(first - start, last - start, label))
        sentences.append(
            Sentence(
                [token.text for token in tokens],
                own,
                None
                if doc.has_unknown_spaces
                else [bool(t.whitespace_) for t in tokens],
                [i for i, value in enumerate(iob[start:end]) if value == MISSING],
            )
        )
    return sentences
