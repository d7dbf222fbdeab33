"""The arrays that travel between modules, with their shapes.

T tokens in a batch, M spans, R rows of the prototype table in use (column 0 of
the distances is None, column i is label i - 1), P prototypes in all, d1 the
prototype space, d2 the width of the token vectors.
"""

from typing import Any, TypeAlias

from spacy.tokens import Doc
from thinc.types import Floats2d, Ints1d, Ints2d

Bools1d: TypeAlias = Any  # (n,) of bool, for which Thinc has no type

TokenVectors: TypeAlias = Floats2d  # (T, d2), the batch's docs end to end
Spans: TypeAlias = Ints2d  # (M, 2): first token in the batch, width
Targets: TypeAlias = Ints1d  # (M,) column of the distances, 0 is None
Distances: TypeAlias = Floats2d  # (M, R)
Prototypes: TypeAlias = Floats2d  # (P, d1)
Rows: TypeAlias = Ints1d  # (R,) rows of the prototype table

ModelInput: TypeAlias = tuple[list[Doc], Spans, Rows]
HeadInput: TypeAlias = tuple[TokenVectors, Spans, Rows]
HeadOutput: TypeAlias = tuple[Distances, Prototypes]

__all__ = [
    "Bools1d",
    "Distances",
    "HeadInput",
    "HeadOutput",
    "Ints1d",
    "ModelInput",
    "Prototypes",
    "Rows",
    "Spans",
    "Targets",
    "TokenVectors",
]
