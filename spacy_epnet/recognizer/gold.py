"""What examples say about entities."""

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ORTH, SENT_START
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpora.labels import get_corpus
from ..errors import PipelineError
from ..types import Bools1d, Ints1d

MISSING = 0  # ENT_IOB of a token that nobody has annotated
UNKNOWN = -1  # number of a type that is neither known nor None


class Gold(NamedTuple):
    """The annotation of one doc, in the tokens of the predicted doc."""

    ents: list[Span]  # entities that line up with the tokens
    unknown: Bools1d  # (tokens,) whether nothing certain is known of a token
    sent_starts: Bools1d  # (tokens,) whether a token is the first of a sentence
    misaligned: list[Span]  # entities of the reference that don't line up


def read_gold(eg: Example) -> Gold:
    """Bring the entities of an example onto the tokens of its predicted doc.

    RETURNS (Gold): Its entities, and the tokens of which nothing is known.
    """
    missing = eg.reference.to_array(ENT_IOB) == MISSING
    sent_starts = find_sent_starts(eg)
    if _has_same_tokens(eg.predicted, eg.reference):
        return Gold(list(eg.reference.ents), missing, sent_starts, [])
    ents, misaligned = [], []
    for ent in eg.reference.ents:
        eg.predicted.vocab.strings.add(ent.label_)
        aligned = eg.get_aligned_spans_y2x([ent])
        if aligned:
            ents.extend(aligned)
        else:
            misaligned.append(ent)
            missing[ent.start : ent.end] = True
    to_reference = eg.alignment.x2y
    unknown = [bool(missing[to_reference[token.i]].any()) for token in eg.predicted]
    return Gold(ents, numpy.asarray(unknown, dtype=bool), sent_starts, misaligned)


def find_sent_starts(eg: Example) -> Bools1d:
    """Find the first tokens of the sentences of an example.

    RETURNS (Bools1d): (tokens,) As the predicted doc says, or else the reference. If
        nothing is marked, sentences end where their punctuation is.
    """
    doc, reference = eg.predicted, eg.reference
    if doc.has_annotation("SENT_START"):
        starts = doc.to_array(SENT_START) == 1
    elif not reference.has_annotation("SENT_START"):
        starts = numpy.asarray(_get_sentencizer().predict([doc])[0], dtype=bool)
    elif _has_same_tokens(doc, reference):
        starts = reference.to_array(SENT_START) == 1
    else:
        starts = numpy.asarray([s == 1 for s in eg.get_aligned_sent_starts()])
    starts = starts.astype(bool)
    starts[:1] = True
    return starts


@cache
def _get_sentencizer() -> Sentencizer:
    return Sentencizer()


def number_sentences(golds: list[Gold]) -> Ints1d:
    """(T,) Return the sentence of each token of a batch."""
    starts = join_flags(gold.sent_starts for gold in golds)
    return numpy.cumsum(starts, dtype="i") - 1  # type: ignore[return-value]


def join_flags(parts: Iterable[Bools1d]) -> Bools1d:
    """(T,) Join the flags of the tokens of docs."""
    return numpy.concatenate([numpy.zeros(0, dtype=bool), *parts])


class GoldStatistics:
    """Counts what a corpus asks of a recognizer, before it is trained on it."""

    def __init__(self, can_predict: Callable[[Span], bool], *, sample_size: int = 10):
        """Begin a count.

        can_predict (Callable[[Span], bool]): Whether an entity can be predicted.
        sample_size (int): How many docs to keep as a sample.
        """
        self.can_predict = can_predict
        self.sample_size = sample_size
        self.labels: dict[str, None] = {}  # a set that keeps the order
        self.corpora: dict[str, dict[str, None]] = {}  # the labels of each
        self.sample: list[Doc] = []
        self.aligned = 0
        self.unpredictable = 0
        self.misaligned: list[str] = []

    def add(self, eg: Example) -> None:
        """Count an example."""
        gold = read_gold(eg)
        if len(eg.predicted) and len(self.sample) < self.sample_size:
            self.sample.append(eg.predicted)
        labels = dict.fromkeys(ent.label_ for ent in eg.reference.ents)
        self.labels.update(labels)
        corpus = get_corpus(eg.reference)
        if corpus is not None:
            self.corpora.setdefault(corpus, {}).update(labels)
        self.aligned += len(gold.ents)
        self.unpredictable += sum(not self.can_predict(ent) for ent in gold.ents)
        self.misaligned.extend(ent.text for ent in gold.misaligned)

    def report(self, name: str, limits: str) -> None:
        """Warn of the entities that are lost, or raise an error if all are.

        name (str): The name of the component, for the messages.
        limits (str): What is true of the entities that it can't predict.
        """
        total = self.aligned + len(self.misaligned)
        if self.misaligned:
            if not self.aligned:
                raise PipelineError(
                    f"Can't initialize '{name}': none of the {total} entities line "
                    "up with the tokens of the predicted docs, for example "
                    f"{self.misaligned[0]!r}. The annotations need another "
                    "tokenizer, or their offsets are off."
                )
            warnings.warn(
                f"{len(self.misaligned)} of the {total} annotated entities "
                f"({100 * len(self.misaligned) / total:.1f} %) don't line up with "
                f"the tokens and are left out of the training of '{name}', for "
                f"example {self.misaligned[0]!r}.",
                stacklevel=3,
            )
        if self.unpredictable:
            warnings.warn(
                f"'{name}' can't predict {self.unpredictable} of the {total} "
                f"annotated entities ({100 * self.unpredictable / total:.1f} %), "
                f"because they are {limits}. They are trained on, and count as "
                "misses when scored.",
                stacklevel=3,
            )


def _has_same_tokens(one: Doc, other: Doc) -> bool:
    return len(one) == len(other) and bool(
        (one.to_array(ORTH) == other.to_array(ORTH)).all()
    )
