"""Corpora with partial annotation: not every entity is marked.

A token without a mark is then outside of all entities, or inside one that nobody has
marked. A pipeline that knows all types predicts the latter. These tokens are marked as
missing, which is spaCy's value for unknown, so that training ignores them instead of
learning that they are outside.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span

from .docs import copy_tokens
from .mixing import set_corpus


class PartialDoc(NamedTuple):
    """A doc and the spans in it that were marked as missing."""

    doc: Doc
    missing: list[Span]


def mark_missing(
    nlp: Language, docs: Iterable[Doc], *, types_of: str | None = None
) -> Iterator[PartialDoc]:
    """Mark tokens outside of all entities as missing where a pipeline predicts one.

    nlp (Language): The pipeline.
    docs (Iterable[Doc]): The docs, which are changed in place. Their entities stay.
    types_of (Optional[str]): One of the corpora the pipeline was trained on. Only its
        types are predicted then. By default those of all corpora are.
    YIELDS (PartialDoc): The docs, in order.
    """
    pairs = ((_copy_bare(nlp, doc, types_of), doc) for doc in docs)
    for predicted, doc in nlp.pipe(pairs, as_tuples=True):
        spans = [Span(doc, ent.start, ent.end) for ent in predicted.ents]
        inside = {token.i for ent in doc.ents for token in ent}
        missing = [s for s in spans if inside.isdisjoint(range(s.start, s.end))]
        doc.set_ents([*doc.ents], missing=missing, default="unmodified")
        yield PartialDoc(doc, missing)


def _copy_bare(nlp: Language, doc: Doc, types_of: str | None) -> Doc:
    bare = copy_tokens(nlp.vocab, doc)
    if types_of is not None:
        set_corpus(bare, types_of)
    return bare
