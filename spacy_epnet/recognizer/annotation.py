"""Predictions, and how they become part of a doc."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc, Span, SpanGroup

BLOCKED_IOB = 3  # ENT_IOB of a token without a type that may not be an entity


class Prediction(NamedTuple):
    """A predicted entity of one doc, in its tokens."""

    start: int
    end: int
    label: str
    score: float


def split_by_doc(
    predictions: Iterable[Prediction], docs: list[Doc]
) -> list[list[Prediction]]:
    """Part the predictions of a batch by doc.

    predictions (Iterable[Prediction]): Predictions in tokens of the batch.
    docs (List[Doc]): The batch.
    RETURNS (List[List[Prediction]]): Those of each doc, in its tokens.
    """
    dealt: list[list[Prediction]] = [[] for _ in docs]
    ends = numpy.cumsum([len(doc) for doc in docs])
    for prediction in predictions:
        i = int(numpy.searchsorted(ends, prediction.start, side="right"))
        offset = int(ends[i]) - len(docs[i])
        start, end = prediction.start - offset, prediction.end - offset
        dealt[i].append(prediction._replace(start=start, end=end))
    return dealt


def write_predictions(
    doc: Doc, predictions: list[Prediction], *, key: str, overwrite: bool
) -> None:
    """Write predicted entities to `doc.ents`, and all of them with their probabilities
    to `doc.spans`.

    doc (Doc): The doc.
    predictions (List[Prediction]): Its entities.
    key (str): The key of `doc.spans`.
    overwrite (bool): Whether they replace entities that are there.
    """
    spans = [Span(doc, p.start, p.end, label=p.label) for p in predictions]
    scores = numpy.asarray([p.score for p in predictions], dtype="f")
    _write_group(doc, key, spans, scores=scores)
    if not doc.has_annotation("ENT_IOB"):
        doc.set_ents(spans)
        return
    blocked = get_blocked(doc)
    predicted, _ = split_by_overlap(spans, _get_tokens(blocked))
    existing = list(doc.ents)
    if overwrite:
        confirmed = set(map(_get_key, predicted)) & set(map(_get_key, existing))
        predicted = [span for span in predicted if _get_key(span) not in confirmed]
        existing, replaced = split_by_overlap(existing, _get_tokens(predicted))
        if replaced:
            key = f"{key}_replaced"
            _write_group(doc, key, [*doc.spans.get(key, []), *replaced])
    else:
        predicted, _ = split_by_overlap(predicted, _get_tokens(existing))
    doc.set_ents([*existing, *predicted], blocked=blocked)


def get_scores(doc: Doc) -> dict[tuple[int, int, str], float]:
    """The probabilities in `doc.spans`, by first token, end and type."""
    return {
        (span.start, span.end, span.label_): float(score)
        for group in doc.spans.values()
        for span, score in zip(group, group.attrs.get("scores", []), strict=False)
    }


def get_blocked(doc: Doc) -> list[Span]:
    """The tokens that an earlier component has kept from being entities."""
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    blocked = numpy.flatnonzero((iob == BLOCKED_IOB) & (types == 0))
    return [doc[i : i + 1] for i in blocked.tolist()]


def split_by_overlap(
    spans: Iterable[Span], taken: set[int]
) -> tuple[list[Span], list[Span]]:
    """Part the spans that keep clear of taken tokens from those that don't."""
    clear: list[Span] = []
    overlapping: list[Span] = []
    for span in spans:
        is_clear = taken.isdisjoint(range(span.start, span.end))
        (clear if is_clear else overlapping).append(span)
    return clear, overlapping


def _write_group(doc: Doc, key: str, spans: list[Span], **attrs) -> None:
    doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)


def _get_tokens(spans: list[Span]) -> set[int]:
    return {i for span in spans for i in range(span.start, span.end)}


def _get_key(span: Span) -> tuple[int, int, int]:
    return span.start, span.end, span.label
