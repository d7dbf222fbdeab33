"""What costs accuracy: lower case, and types that join others.

    python -m measurements.quality.limits small corpus/demo
        --output measurements/results/limits.json

Five support sets of five examples per type are sampled from the corpus's dev set, and
its whole test set is scored, on the types of the support set alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Annotated

import srsly
import typer
from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc, Span
from tqdm import tqdm

from spacy_epnet.adapting import adapt
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.sampling import sample_greedily
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.sources.catalog import load_pipeline

SHOTS, SUPPORTS = 5, 5
HEADER = ["", "precision", "recall", "F1"]


def main(
    model: Annotated[str, typer.Argument(help="Source pipeline")],
    corpus: Annotated[Path, typer.Argument(help="Folder with dev and test.spacy")],
    output: Annotated[Path, typer.Option(help="JSON file for the scores")],
) -> None:
    """Measure what lower case and joining other types cost."""
    nlp = load_pipeline(model)
    dev, test = (Corpus(corpus / f"{n}.spacy", nlp.vocab) for n in ("dev", "test"))
    supports = [
        [dev.docs[i] for i in sample_greedily(dev.mentions, SHOTS, seed)]
        for seed in range(SUPPORTS)
    ]
    scores: dict[str, list[dict[str, float]]] = {}
    for support in tqdm(supports, desc="Measuring"):
        for name, adapted, docs in iter_cases(nlp, support, test.docs):
            scores.setdefault(name, []).append(score(adapted, docs))
    srsly.write_json(output, scores)
    print(make_table(scores))


def iter_cases(
    nlp: Language, support: list[Doc], docs: list[Doc]
) -> Iterator[tuple[str, Language, list[Doc]]]:
    """Adapt a source pipeline in several ways.

    YIELDS (Tuple[str, Language, List[Doc]]): What is measured, the adapted pipeline,
        and the docs to score it on.
    """
    lower = [copy_doc(doc, lower=True) for doc in docs]
    adapted = adapt(nlp, support).nlp
    yield "six types", adapted, docs
    yield "six types, texts in lower case", adapted, lower
    lower_support = [copy_doc(doc, lower=True) for doc in support]
    yield "six types, all in lower case", adapt(nlp, lower_support).nlp, lower
    yield "six types beside the source's", adapt(nlp, support, extend=True).nlp, docs
    for label in ("SPACECRAFT", "INSTRUMENT"):
        support_of_one, docs_of_one = (
            [copy_doc(doc, only=label) for doc in these] for these in (support, docs)
        )
        yield f"{label} alone", adapt(nlp, support_of_one).nlp, docs_of_one
        extended = adapt(nlp, support_of_one, extend=True).nlp
        yield f"{label} beside the source's", extended, docs_of_one


def copy_doc(doc: Doc, *, lower: bool = False, only: str | None = None) -> Doc:
    """Copy a doc in lower case, or with the entities of one type."""
    words = [token.lower_ if lower else token.text for token in doc]
    copy = Doc(doc.vocab, words=words, spaces=[bool(t.whitespace_) for t in doc])
    copy.ents = [
        Span(copy, ent.start, ent.end, label=ent.label_)
        for ent in doc.ents
        if only in (None, ent.label_)
    ]
    return copy


def score(nlp: Language, docs: Iterable[Doc]) -> dict[str, float]:
    """Score the types that are marked, and leave out all others."""
    docs = list(docs)
    labels = {ent.label_ for doc in docs for ent in doc.ents}
    total = PRFScore()
    for doc, predicted in zip(docs, nlp.pipe(doc.text for doc in docs), strict=True):
        gold, found = (
            {(e.start_char, e.end_char, e.label_) for e in d.ents if e.label_ in labels}
            for d in (doc, predicted)
        )
        total.score_set(found, gold)
    return {"p": total.precision, "r": total.recall, "f": total.fscore}


def make_table(scores: dict[str, list[dict[str, float]]]) -> str:
    """Write the mean of each score as a table."""
    return to_markdown(
        HEADER,
        [
            [name, *(f"{100 * fmean(run[key] for run in runs):.1f}" for key in "prf")]
            for name, runs in scores.items()
        ],
    )


if __name__ == "__main__":
    typer.run(main)
