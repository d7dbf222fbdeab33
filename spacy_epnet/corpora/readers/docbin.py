"""What spaCy itself writes."""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from spacy.attrs import ENT_IOB
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..docbins import read_docs
from ..files import open_binary
from ..reading import META_KEY, Reading, Sentence, TokenDocument

MISSING = 0


def read_docbin(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `.spacy` file.

    path (Path): The file.
    reading (Reading): How to read it.
    YIELDS (TokenDocument): The docs.
    """
    with open_binary(path, reading.progress) as file:
        data = file.read()
    for doc in read_docs(data, path, Vocab()):
        if len(doc):
            meta = doc.user_data.get(META_KEY)
            known = meta if isinstance(meta, dict) else None
            yield TokenDocument(_read_sentences(doc), known)


def _read_sentences(doc: Doc) -> list[Sentence]:
    """The sentences of a doc, or the doc as one. An entity that crosses the border of
    two makes one of them.
    """
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
            own.append((first - start, last - start, label))
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
