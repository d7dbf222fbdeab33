"""Encode a query set once, and recognize it many times."""

from collections.abc import Iterable
from time import perf_counter
from typing import Any

from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from tqdm import tqdm

from ..adapting.support import make_bare_example
from ..corpora.corpus import Corpus
from ..errors import CorpusError
from ..recognizer.base import FewShotRecognizer
from ..recognizer.pipeline import RecognizerPipeline
from ..types import TokenVectors

BATCH_SIZE = 128


class Query:
    """The annotated docs that recognizers are scored on, as token vectors."""

    def __init__(
        self, pipeline: RecognizerPipeline, docs: Iterable[Doc], name: str = "queries"
    ):
        examples = [make_bare_example(pipeline.nlp, doc) for doc in docs]
        self._batches: list[tuple[list[Example], TokenVectors]] = []
        begin = perf_counter()
        shown = tqdm(
            examples, f"Encoding {name}", unit="doc", disable=None, leave=False
        )
        for batch in minibatch(shown, BATCH_SIZE):
            tokens = pipeline.encode([eg.predicted for eg in batch])
            self._batches.append((batch, tokens))
        self.seconds = perf_counter() - begin

    def score(
        self, pipe: FewShotRecognizer, *, without: Iterable[int] = ()
    ) -> dict[str, Any]:
        """Recognize the docs by a recognizer over the same encoder and score the result
        like `spacy evaluate`, without the docs at some indices.
        """
        recognized: list[Example] = []
        for examples, tokens in self._batches:
            docs = [eg.predicted.copy() for eg in examples]
            pipe.set_annotations(docs, pipe.recognize(docs, tokens))
            recognized += [
                Example(doc, eg.reference, alignment=eg.alignment)
                for doc, eg in zip(docs, examples, strict=True)
            ]
        left_out = set(without)
        return pipe.score([eg for i, eg in enumerate(recognized) if i not in left_out])


class Queries:
    """Keeps the query set that was encoded last, for all recognizers over the same
    encoder. Those of other encoders take its place, because they are large.
    """

    def __init__(self) -> None:
        self._key: tuple[str, str] | None = None
        self._query: Query | None = None

    def get(self, pipeline: RecognizerPipeline, corpus: Corpus) -> Query:
        """Encode a query set, unless it is encoded already."""
        key = corpus.hash, pipeline.hash_encoder()
        if self._query is None or key != self._key:
            self._query = None
            name = corpus.path.resolve().parent.name
            self._query = Query(pipeline, corpus.docs, name)
            self._key = key
        return self._query


def get_prf(scores: dict[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    """Convert what a scorer gave to per cent: `p`, `r` and `f`, also `per_type`."""
    nothing = PRFScore().to_dict()
    per_type = scores.get("ents_per_type") or {}
    return {
        **{key: 100 * (scores.get(f"ents_{key}") or 0.0) for key in "prf"},
        "per_type": {
            label: {key: 100 * per_type.get(label, nothing)[key] for key in "prf"}
            for label in labels
        },
    }


def check_query(test: Corpus, without: list[int], support: str) -> None:
    """Refuse to score on nothing: a test set without entities, or with all of them in
    docs that aren't scored, those of a support set.
    """
    if not test.totals:
        raise CorpusError(
            test.path, "nothing is marked in it, so nothing can be scored"
        )
    left_out = set(without)
    if not any(m for i, m in enumerate(test.mentions) if i not in left_out):
        reason = f"the support set {support} has all of its entities"
        advice = "Ask for fewer shots, or give a test set of its own"
        raise CorpusError(test.path, f"{reason}, so nothing can be scored. {advice}")
