"""The arrays that all recognizers share, with their shapes.

T tokens in a batch, M spans, d2 the width of the token vectors.
"""

from typing import Any, TypeAlias

from thinc.types import Floats2d, Ints1d, Ints2d

Bools1d: TypeAlias = Any  # (n,) of bool, for which Thinc has no type
Bools2d: TypeAlias = Any  # (n, m) of bool

TokenVectors: TypeAlias = Floats2d  # (T, d2), the batch's docs end to end
Spans: TypeAlias = Ints2d  # (M, 2): first token in the batch, width
Points: TypeAlias = Floats2d  # (M, n), where spans are in a recognizer's own space

__all__ = ["Bools1d", "Bools2d", "Ints1d", "Points", "Spans", "TokenVectors"]
