"""Recognizers that remember examples: points, and the types they are of.

The memory is part of the model, so that it is saved and copied with it.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from thinc.api import Model, Ops, get_array_module

from ..recognizer.base import Centers, FewShotRecognizer
from ..recognizer.gold import UNKNOWN
from ..types import Ints1d, Points
from .means import get_means


class Memory(NamedTuple):
    """Points of known types."""

    vectors: Points  # (n, d)
    columns: Ints1d  # (n,)

    def add(self, vectors: Points, columns: Ints1d) -> "Memory":
        """Return a copy with more points, without those of unknown type."""
        xp: Any = get_array_module(vectors)
        known = columns != UNKNOWN
        return Memory(
            xp.concatenate([self.vectors, vectors[known]]),
            xp.concatenate([self.columns, columns[known]]),
        )

    def keep_latest(self, limits: list[int]) -> "Memory":
        """Return a copy with the last points of each column only.

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
        """Return a copy with other columns.

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
    """Make an empty memory for points of some width."""
    return Memory(ops.alloc2f(0, width), ops.alloc1i(0))


def build_memory() -> Model[Any, Any]:
    """Build a part of a model that remembers. The model has a reference "memory" to it,
    and sets it when it is initialized.
    """
    return Model("memory", _recall_only, params={"vectors": None, "columns": None})


def _recall_only(
    model: Model[Any, Any], inputs: Any, is_train: bool
) -> tuple[Any, Callable[..., Any]]:
    return inputs, lambda gradient: gradient


def get_memory(model: Model[Any, Any]) -> Memory | None:
    """Return what a model remembers, or None if it isn't initialized."""
    memory = model.get_ref("memory")
    if not memory.has_param("vectors"):
        return None
    return Memory(memory.get_param("vectors"), memory.get_param("columns"))  # type: ignore[arg-type]


def set_memory(model: Model[Any, Any], memory: Memory) -> None:
    """Let a model remember something else."""
    node = model.get_ref("memory")
    node.set_param("vectors", memory.vectors)
    node.set_param("columns", memory.columns)  # type: ignore[arg-type]


class MemoryRecognizer(FewShotRecognizer):
    """Keeps what its model remembers in step with the labels."""

    # The first columns of the memory, before those of the labels, are None's.
    none_columns: ClassVar[int] = 1

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recognizer. See the factories for the settings."""
        super().__init__(*args, **kwargs)
        # The labels of the columns after None's.
        self.learned["memory_labels"] = []

    @property
    def memory(self) -> Memory:
        """RETURNS (Memory): What is remembered."""
        memory = get_memory(self.model)
        assert memory is not None, "checked by is_ready"
        return memory

    @property
    def columns(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The column of each label."""
        return {label: i for i, label in enumerate(self.labels, self.none_columns)}

    @property
    def n_columns(self) -> int:
        """RETURNS (int): The columns of None and of all labels."""
        return self.none_columns + len(self.labels)

    @property
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether there is a memory."""
        return get_memory(self.model) is not None

    def list_centers(self) -> Centers | None:
        """Take the means of what is remembered. See the contract."""
        vectors, columns = self.memory
        # All kinds of None are None.
        xp: Any = self.model.ops.xp
        numbers = xp.maximum(columns - self.none_columns + 1, 0)
        names = [None, *self.labels]
        known = sorted({*numbers.tolist()})
        means: Any = get_means(vectors, numbers, len(names))
        return Centers([names[i] for i in known], means[known])

    def on_labels(self) -> None:
        """Forget examples of types that are gone."""
        if self.is_ready:
            known = enumerate(self.learned["memory_labels"], self.none_columns)
            kept = {i: self.columns[n] for i, n in known if n in self.columns}
            nones = {i: i for i in range(self.none_columns)}
            set_memory(self.model, self.memory.renumber({**nones, **kept}))
        self.learned["memory_labels"] = list(self.labels)

    def on_renamed(self, label: str, new: str) -> None:
        """Let a label keep its examples under another name."""
        names = {label: new}
        known = self.learned["memory_labels"]
        self.learned["memory_labels"] = [names.get(old, old) for old in known]

    def check_learned(self) -> None:
        """Raise an error if labels and memory don't fit together."""
        if list(self.learned["memory_labels"]) != list(self.labels):
            raise ValueError("its labels and those of its memory differ")
        memory = get_memory(self.model)
        if memory is not None and len(memory.columns):
            if len(memory.columns) != len(memory.vectors):
                raise ValueError("its memory is incomplete")
            if not 0 <= int(memory.columns.max()) < self.n_columns:
                raise ValueError("its memory has examples of types without a label")
