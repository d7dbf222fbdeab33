"""What a recognizer remembers: points, and the types they are of.

It is part of the model, so that it is saved and copied with it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from thinc.api import Model, Ops, get_array_module

from ..recognizer.gold import UNKNOWN
from ..types import Ints1d, Points


class Memory(NamedTuple):
    """Points of known types."""

    vectors: Points  # (n, d)
    columns: Ints1d  # (n,)

    def add(self, vectors: Points, columns: Ints1d) -> "Memory":
        """The same with more points. Those that aren't of a known type are left out."""
        xp: Any = get_array_module(vectors)
        known = columns != UNKNOWN
        return Memory(
            xp.concatenate([self.vectors, vectors[known]]),
            xp.concatenate([self.columns, columns[known]]),
        )

    def keep_latest(self, limits: list[int]) -> "Memory":
        """The same with the last points of each column only.

        limits (List[int]): How many to keep of each column.
        """
        xp: Any = get_array_module(self.vectors)
        kept = [
            xp.nonzero(self.columns == column)[0][-limit:]
            for column, limit in enumerate(limits)
        ]
        places = xp.sort(xp.concatenate(kept))
        return Memory(self.vectors[places], self.columns[places])

    def renumber(self, columns: Mapping[int, int]) -> "Memory":
        """The same with other columns.

        columns (Mapping[int, int]): The new number of each column. Points of those that
            have none are forgotten.
        """
        xp: Any = get_array_module(self.vectors)
        found = xp.full_like(self.columns, UNKNOWN)
        for old, new in columns.items():
            found[self.columns == old] = new
        kept = found != UNKNOWN
        return Memory(self.vectors[kept], found[kept])


def make_empty_memory(width: int, *, ops: Ops) -> Memory:
    """A memory of nothing, for points of some width."""
    return Memory(ops.alloc2f(0, width), ops.alloc1i(0))


def build_memory() -> Model:
    """Build a part of a model that remembers. The model has a reference "memory" to it,
    and sets it when it is initialized.
    """
    return Model("memory", _recall_only, params={"vectors": None, "columns": None})


def _recall_only(model: Model, inputs: Any, is_train: bool) -> tuple[Any, Callable]:
    return inputs, lambda gradient: gradient


def get_memory(model: Model) -> Memory | None:
    """What a model remembers, or None if it isn't initialized."""
    memory = model.get_ref("memory")
    if not memory.has_param("vectors"):
        return None
    return Memory(memory.get_param("vectors"), memory.get_param("columns"))  # type: ignore[arg-type]


def set_memory(model: Model, memory: Memory) -> None:
    """Let a model remember something else."""
    node = model.get_ref("memory")
    node.set_param("vectors", memory.vectors)
    node.set_param("columns", memory.columns)  # type: ignore[arg-type]
