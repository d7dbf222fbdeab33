"""Prepare corpora with partial annotation, in which some entities aren't marked.

A token without a mark is then outside of all entities, or inside one that isn't marked.
A pipeline that knows all types predicts the latter. These tokens are marked as missing,
which is spaCy's value for unknown, so that training ignores them instead of learning
that they are outside.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Span
from tqdm import tqdm

from ..overlaps import drop_overlaps
from .corpus import Corpus
from .docbins import open_shards
from .labels import copy_tokens, set_corpus


def write_marked(
    nlp: Language, corpus: Path, output: Path, *, types_of: str | None = None
) -> tuple[int, int]:
    """Write a corpus with tokens marked as missing, see `mark_missing`.

    RETURNS (Tuple[int, int]): The number of docs, and of spans marked as missing.
    """
    docs = Corpus(corpus, nlp.vocab).docs
    marked = mark_missing(nlp, docs, types_of=types_of)
    spans = 0
    with open_shards(output) as writer:
        bar = tqdm(marked, total=len(docs), desc="Predicting", disable=None)
        for doc, missing in bar:
            writer.add(doc)
            spans += len(missing)
    return len(docs), spans


def mark_missing(
    nlp: Language, docs: Iterable[Doc], *, types_of: str | None = None
) -> Iterator[tuple[Doc, list[Span]]]:
    """Mark tokens outside of all entities as missing where a pipeline predicts one.

    docs (Iterable[Doc]): The docs, which are changed in place. Their entities stay.
    types_of (Optional[str]): Only predict types of this corpus, one of those that the
        pipeline was trained on. By default types of all corpora.
    YIELDS (Tuple[Doc, List[Span]]): Each doc, and its spans marked as missing.
    """

    def copy_bare(doc: Doc) -> Doc:
        bare = copy_tokens(nlp.vocab, doc)
        if types_of is not None:
            set_corpus(bare, types_of)
        return bare

    pairs = ((copy_bare(doc), doc) for doc in docs)
    for predicted, doc in nlp.pipe(pairs, as_tuples=True):
        spans = [Span(doc, ent.start, ent.end) for ent in predicted.ents]
        missing = drop_overlaps(spans, taken=doc.ents)
        doc.set_ents([*doc.ents], missing=missing, default="unmodified")
        yield doc, missing
