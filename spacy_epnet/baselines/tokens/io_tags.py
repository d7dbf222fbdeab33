"""IO tags: each token has a type or None, and a run of tokens of one type is an entity.

tokens    Ada  left  Rio  Grande
columns   1    0     2    2        (0 is None, i is label i - 1)
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy
from spacy.tokens import Doc
from thinc.api import Ops

from ...overlaps import drop_overlaps
from ...recognizer.annotation import Prediction, split_by_doc
from ...recognizer.base import FewShotRecognizer
from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import Layout, find_begins, get_layout
from ...types import Points, Spans, TokenVectors


class TaggingRecognizer(FewShotRecognizer):
    """Recognizes entities as runs of tokens of one type. Mixin; list it first."""

    # What is left to each

    @abstractmethod
    def represent(self, tokens: TokenVectors) -> Points:
        """Find the vectors by which tokens are compared."""

    @abstractmethod
    def rate_tokens(self, tokens: TokenVectors) -> list[tuple[list[str], Any]]:
        """Find how probable each type is for each token, among labels that were learned
        together: the labels, and (T, columns) the probabilities, None's first.
        """

    # What each may replace

    def choose_columns(self, probabilities: Any, layout: Layout) -> Any:
        """(T,) Return the column that each token takes, from how probable each is."""
        return probabilities.argmax(axis=1)

    # What follows from it

    @property
    def max_entity_width(self) -> None:
        """RETURNS (None): Entities are runs of any length. See the base."""

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        if not len(tokens):
            return [[] for _ in docs]
        ops = self.model.ops
        layout = get_layout(docs, ops=ops)
        found = [
            prediction
            for labels, probabilities in self.rate_tokens(tokens)
            for prediction in decode_runs(
                probabilities,
                self.choose_columns(probabilities, layout),
                layout,
                labels,
                threshold=self.cfg["threshold"],
                ops=ops,
            )
        ]
        best_first = sorted(
            found, key=lambda p: (p.score, p.end - p.start, -p.start), reverse=True
        )
        return split_by_doc(sorted(drop_overlaps(best_first)), docs)

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Take the mean over the tokens of each span. See the base."""
        xp: Any = self.model.ops.xp
        points = self.represent(tokens[:])
        return xp.stack([points[s : s + w].mean(axis=0) for s, w in spans.tolist()])

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans: the mean over their tokens,
        and under None that they are no entity of any labels. See the base.
        """
        found: list[dict[str | None, float]] = [{None: 1.0} for _ in spans]
        for labels, probabilities in self.rate_tokens(tokens):
            for scores, (start, width) in zip(found, spans.tolist(), strict=True):
                mean = probabilities[start : start + width].mean(axis=0).tolist()
                scores[None] = min(scores[None], mean[0])
                scores.update(zip(labels, mean[1:], strict=True))
        return found


def tag_tokens(golds: list[Gold], columns: Mapping[str, int]) -> Any:
    """(T,) Find the column of each token of a batch, or UNKNOWN where nothing is known,
    or an entity has a label without a column.
    """
    tagged = []
    for gold in golds:
        tags = numpy.where(gold.unknown, UNKNOWN, 0).astype("i")
        for ent in gold.ents:
            tags[ent.start : ent.end] = columns.get(ent.label_, UNKNOWN)
        tagged.append(tags)
    return numpy.concatenate(tagged)


def decode_runs(
    probabilities: Any,
    chosen: Any,
    layout: Layout,
    labels: list[str],
    *,
    threshold: float,
    ops: Ops,
) -> list[Prediction]:
    """Find the entities of a batch, in its tokens, from the column that each token has
    chosen. The probability of an entity is the mean over its tokens.
    """
    likely = ops.to_numpy(probabilities)
    segments, edges = ops.to_numpy(layout.segments), ops.to_numpy(layout.edges)
    columns = ops.to_numpy(chosen)
    begins = find_begins(segments)
    begins[1:] |= columns[1:] != columns[:-1]
    starts = numpy.flatnonzero(begins)
    ends = numpy.append(starts[1:], len(columns))
    predictions = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        column = int(columns[start])
        inside = numpy.flatnonzero(edges[start:end]) + start
        if not column or not len(inside):
            continue
        # Whitespace is no part of an entity's edge.
        start, end = int(inside[0]), int(inside[-1]) + 1
        score = float(likely[start:end, column].mean())
        if score >= threshold:
            predictions.append(Prediction(start, end, labels[column - 1], score))
    return predictions
