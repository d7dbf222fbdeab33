"""Encode a query set once, and recognize it many times."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple

from spacy.scorer import PRFScore
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from ..adapting.support import make_bare_example
from ..corpora.corpus import Corpus
from ..errors import CorpusError
from ..recognizer.annotation import get_blocked
from ..recognizer.base import FewShotRecognizer
from ..recognizer.pipeline import RecognizerPipeline
from ..types import TokenVectors

BATCH_SIZE = 128


class State(NamedTuple):
    """The annotation of a doc before a recognizer has seen it."""

    ents: list[Span]
    blocked: list[Span]
    is_annotated: bool
    groups: set[str]  # keys of its span groups

    @classmethod
    def read(cls, doc: Doc) -> "State":
        """Read the annotation of a doc."""
        return cls(
            list(doc.ents),
            get_blocked(doc),
            doc.has_annotation("ENT_IOB"),
            set(doc.spans),
        )

    def restore(self, doc: Doc) -> None:
        """Restore the annotation of the doc."""
        default = "outside" if self.is_annotated else "missing"
        doc.set_ents(self.ents, blocked=self.blocked, default=default)
        for key in set(doc.spans) - self.groups:
            del doc.spans[key]


class Query:
    """The docs that a recognizer is scored on, as token vectors.

    pipeline (RecognizerPipeline): The pipeline that encodes them.
    docs (Iterable[Doc]): The query set, annotated.
    on_docs (Callable[[int], object]): Told how many docs have been encoded.
    """

    def __init__(
        self,
        pipeline: RecognizerPipeline,
        docs: Iterable[Doc],
        *,
        on_docs: Callable[[int], object] = lambda count: None,
    ):
        self.examples = [make_bare_example(pipeline.nlp, doc) for doc in docs]
        self._batches: list[tuple[list[int], TokenVectors]] = []
        self._before: list[State] = []
        begin = perf_counter()
        for indices in minibatch(range(len(self.examples)), BATCH_SIZE):
            batch = [self.examples[i].predicted for i in indices]
            self._batches.append((list(indices), pipeline.encode(batch)))
            self._before += [State.read(doc) for doc in batch]
            on_docs(len(batch))
        self.seconds = perf_counter() - begin

    def score(
        self, pipe: FewShotRecognizer, *, without: Iterable[int] = ()
    ) -> dict[str, Any]:
        """Recognize the docs and score the result like `spacy evaluate`.

        pipe (FewShotRecognizer): The recognizer, over the same encoder.
        without (Iterable[int]): Places of docs that aren't scored.
        """
        left_out = set(without)
        for indices, tokens in self._batches:
            docs = [self.examples[i].predicted for i in indices]
            for i, doc in zip(indices, docs, strict=True):
                self._before[i].restore(doc)
            pipe.set_annotations(docs, pipe.recognize(docs, tokens))
        scored = [eg for i, eg in enumerate(self.examples) if i not in left_out]
        return pipe.score(scored)


class Queries:
    """Keeps the query set that was encoded last, for all recognizers over the same
    encoder. Those of other encoders take its place, because they are large.
    """

    def __init__(self) -> None:
        self._key: tuple[str, str] | None = None
        self._query: Query | None = None

    def get(
        self,
        pipeline: RecognizerPipeline,
        corpus: Corpus,
        *,
        on_docs: Callable[[int], object] = lambda count: None,
    ) -> Query:
        """Encode a query set, unless it is encoded already. See `Query`."""
        key = corpus.hash, pipeline.hash_encoder()
        if self._query is None or key != self._key:
            self._query = None
            self._query = Query(pipeline, corpus.docs, on_docs=on_docs)
            self._key = key
        return self._query


def get_prf(scores: dict[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    """Convert what a scorer gave to precision, recall and F1 in per cent: `p`, `r` and
    `f`, and `per_type` with the same of each label.
    """
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
