"""Predictions, and how they become part of a doc."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc, Span, SpanGroup

from ..overlaps import drop_overlaps

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
    """Split the predictions of a batch by doc.

    predictions (Iterable[Prediction]): Predictions in tokens of the batch.
    RETURNS (List[List[Prediction]]): Those of each doc, in its tokens.
    """
    by_doc: list[list[Prediction]] = [[] for _ in docs]
    ends = numpy.cumsum([len(doc) for doc in docs])
    for prediction in predictions:
        i = int(numpy.searchsorted(ends, prediction.start, side="right"))
        offset = int(ends[i]) - len(docs[i])
        start, end = prediction.start - offset, prediction.end - offset
        by_doc[i].append(prediction._replace(start=start, end=end))
    return by_doc


def write_predictions(
    doc: Doc, predictions: list[Prediction], *, key: str, overwrite: bool
) -> None:
    """Write predicted entities to `doc.ents`, and all of them with their probabilities
    to `doc.spans`.

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
    predicted = drop_overlaps(spans, taken=blocked)
    existing = list(doc.ents)
    if overwrite:
        confirmed = set(map(_get_key, predicted)) & set(map(_get_key, existing))
        predicted = [span for span in predicted if _get_key(span) not in confirmed]
        kept = drop_overlaps(existing, taken=predicted)
        replaced = [ent for ent in existing if ent not in kept]
        if replaced:
            key = f"{key}_replaced"
            _write_group(doc, key, [*doc.spans.get(key, []), *replaced])
        existing = kept
    else:
        predicted = drop_overlaps(predicted, taken=existing)
    doc.set_ents([*existing, *predicted], blocked=blocked)


def get_scores(doc: Doc) -> dict[tuple[int, int, str], float]:
    """Return the probabilities in `doc.spans`, by first token, end and type."""
    return {
        (span.start, span.end, span.label_): float(score)
        for group in doc.spans.values()
        for span, score in zip(group, group.attrs.get("scores", []), strict=False)
    }


def get_blocked(doc: Doc) -> list[Span]:
    """Return the tokens that an earlier component has kept from being entities."""
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    blocked = numpy.flatnonzero((iob == BLOCKED_IOB) & (types == 0))
    return [doc[i : i + 1] for i in blocked.tolist()]


def _write_group(doc: Doc, key: str, spans: list[Span], **attrs: Any) -> None:
    doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)


def _get_key(span: Span) -> tuple[int, int, int]:
    return span.start, span.end, span.label
