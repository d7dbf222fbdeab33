"""IO tags: each token has a type or None, and a run of tokens of one type is an entity.

tokens    Ada  left  Rio  Grande
columns   1    0     2    2        (0 is None, i is label i - 1)
"""

from collections.abc import Mapping
from typing import Any

import numpy
from thinc.api import Ops

from ...recognizer.annotation import Prediction
from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import Layout, find_begins


def tag_tokens(golds: list[Gold], columns: Mapping[str, int]) -> Any:
    """Find the column of each token of a batch.

    golds (List[Gold]): The annotation of each doc.
    columns (Mapping[str, int]): The column of each label.
    RETURNS (numpy.ndarray): (T,) The columns, or UNKNOWN where nothing is known, or an
        entity has another label.
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
    """Find the entities of a batch.

    probabilities (Floats2d): (T, columns) How probable each type is for each token,
        None's first.
    chosen (Ints1d): (T,) The column that each token takes.
    layout (Layout): Where entities may lie.
    labels (List[str]): The type of each column, from the second.
    threshold (float): Least probability of an entity's type.
    ops (Ops): What the arrays belong to.
    RETURNS (List[Prediction]): The entities, in tokens of the batch. The probability of
        one is the mean over its tokens.
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
