"""Prepare corpora with partial annotation, in which some entities aren't marked.

A token without a mark is then outside of all entities, or inside one that isn't marked.
A pipeline that knows all types predicts the latter. These tokens are marked as missing,
which is spaCy's value for unknown, so that training ignores them instead of learning
that they are outside.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from tqdm import tqdm

from ..overlaps import drop_overlaps
from .corpus import Corpus
from .docbins import open_shards
from .docs import copy_tokens
from .mixing import set_corpus


class PartialDoc(NamedTuple):
    """A doc and the spans in it that were marked as missing."""

    doc: Doc
    missing: list[Span]


class Marked(NamedTuple):
    """Counts of a corpus in which tokens were marked as missing."""

    docs: int
    spans: int


def write_marked(
    nlp: Language, corpus: Path, output: Path, *, types_of: str | None = None
) -> Marked:
    """Write a corpus with tokens marked as missing, see `mark_missing`.

    nlp (Language): The pipeline.
    corpus (Path): The corpus with partial annotation.
    output (Path): The corpus to write.
    types_of (Optional[str]): Only predict types of this corpus.
    RETURNS (Marked): The counts.
    """
    docs = Corpus(corpus, nlp.vocab).docs
    spans = 0
    with (
        open_shards(output) as writer,
        tqdm(total=len(docs), desc="Predicting", disable=None) as bar,
    ):
        for doc, missing in mark_missing(nlp, docs, types_of=types_of):
            writer.add(doc)
            bar.update()
            spans += len(missing)
    return Marked(len(docs), spans)


def mark_missing(
    nlp: Language, docs: Iterable[Doc], *, types_of: str | None = None
) -> Iterator[PartialDoc]:
    """Mark tokens outside of all entities as missing where a pipeline predicts one.

    nlp (Language): The pipeline.
    docs (Iterable[Doc]): The docs, which are changed in place. Their entities stay.
    types_of (Optional[str]): Only predict types of this corpus, one of those that the
        pipeline was trained on. By default types of all corpora.
    YIELDS (PartialDoc): The docs, in order.
    """
    pairs = ((_copy_bare(nlp, doc, types_of), doc) for doc in docs)
    for predicted, doc in nlp.pipe(pairs, as_tuples=True):
        spans = [Span(doc, ent.start, ent.end) for ent in predicted.ents]
        missing = drop_overlaps(spans, taken=doc.ents)
        doc.set_ents([*doc.ents], missing=missing, default="unmodified")
        yield PartialDoc(doc, missing)


def _copy_bare(nlp: Language, doc: Doc, types_of: str | None) -> Doc:
    bare = copy_tokens(nlp.vocab, doc)
    if types_of is not None:
        set_corpus(bare, types_of)
    return bare
