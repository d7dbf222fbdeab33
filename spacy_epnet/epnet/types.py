"""The arrays of EP-Net, with their shapes.

M spans, R rows of the prototype table in use (column 0 of the distances is None,
column i is label i - 1), P prototypes in all, d1 the prototype space.
"""

from typing import Any, TypeAlias

from thinc.types import Floats2d, Ints1d

Targets: TypeAlias = Ints1d  # (M,) column of the distances, 0 is None
Distances: TypeAlias = Floats2d  # (M, R)
Prototypes: TypeAlias = Floats2d  # (P, d1)
Rows: TypeAlias = Ints1d  # (R,) rows of the prototype table

# In training, spans may also be measured to where types lie by their names.
ModelInput: TypeAlias = tuple[Any, ...]  # (List[Doc], Spans, Rows[, names])
HeadInput: TypeAlias = tuple[Any, ...]  # (TokenVectors, Spans, Rows[, names])
HeadOutput: TypeAlias = tuple[Any, ...]  # (Distances, Prototypes[, Distances])
