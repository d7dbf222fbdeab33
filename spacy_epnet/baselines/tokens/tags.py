"""The types of tokens.

tokens    Ada  left  Rio  Grande
columns   1    0     2    2        (0 is None, i is label i - 1)
"""

from collections.abc import Mapping
from typing import Any

import numpy

from ...recognizer.gold import UNKNOWN, Gold


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
