"""Tokens that a recogniser remembers, and the types they are of.

tokens    Ada  left  Rio  Grande
columns   1    0     2    2        (0 is None, i is label i - 1)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy
from thinc.api import get_array_module

from ...types import Ints1d, TokenVectors
from ..gold import UNKNOWN, Gold


class TokenMemory(NamedTuple):
    """Tokens of known types."""

    vectors: TokenVectors  # (n, d)
    columns: Ints1d  # (n,)

    def add(self, vectors: TokenVectors, columns: Ints1d) -> "TokenMemory":
        """The same with more tokens. Those that aren't of a known type are left out."""
        xp: Any = get_array_module(vectors)
        known = columns != UNKNOWN
        return TokenMemory(
            xp.concatenate([self.vectors, vectors[known]]),
            xp.concatenate([self.columns, columns[known]]),
        )

    def keep_latest(self, limits: list[int]) -> "TokenMemory":
        """The same with the last tokens of each column only.

        limits (List[int]): How many to keep of each column.
        """
        xp: Any = get_array_module(self.vectors)
        kept = [
            xp.nonzero(self.columns == column)[0][-limit:]
            for column, limit in enumerate(limits)
        ]
        places = xp.sort(xp.concatenate(kept))
        return TokenMemory(self.vectors[places], self.columns[places])

    def renumber(self, columns: Mapping[int, int]) -> "TokenMemory":
        """The same with other columns.

        columns (Mapping[int, int]): The new number of each column. Tokens of those that
            have none are forgotten.
        """
        xp: Any = get_array_module(self.vectors)
        found = xp.full_like(self.columns, UNKNOWN)
        for old, new in columns.items():
            found[self.columns == old] = new
        kept = found != UNKNOWN
        return TokenMemory(self.vectors[kept], found[kept])


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
