"""Corpora in which not every entity is marked.

What such a corpus leaves unmarked is either no entity or one that nobody has marked. A
pipeline that knows all of the types says where the latter probably are. Nothing is
claimed of these tokens then, so that nobody learns from them that they are no entity.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span

from .docs import copy_tokens
from .mixing import set_corpus


class Doubt(NamedTuple):
    """A doc of which less is claimed than before."""

    doc: Doc
    spans: list[Span]  # of which nothing is claimed any more


def doubt_docs(
    nlp: Language,
    docs: Iterable[Doc],
    *,
    types_of: str | None = None,
) -> Iterator[Doubt]:
    """Take back that tokens are no entity where a pipeline finds one.

    nlp (Language): The pipeline.
    docs (Iterable[Doc]): The docs, which are changed. Their entities stay.
    types_of (Optional[str]): The corpus of the pipeline whose types are meant. Those
        of all of its corpora if null.
    YIELDS (Doubt): The docs, in order.
    """
    pairs = ((_copy_bare(nlp, doc, types_of), doc) for doc in docs)
    for found, doc in nlp.pipe(pairs, as_tuples=True):
        spans = [Span(doc, ent.start, ent.end) for ent in found.ents]
        taken = {token.i for ent in doc.ents for token in ent}
        doubted = [s for s in spans if taken.isdisjoint(range(s.start, s.end))]
        doc.set_ents([*doc.ents], missing=doubted, default="unmodified")
        yield Doubt(doc, doubted)


def _copy_bare(nlp: Language, doc: Doc, types_of: str | None) -> Doc:
    bare = copy_tokens(nlp.vocab, doc)
    if types_of is not None:
        set_corpus(bare, types_of)
    return bare
