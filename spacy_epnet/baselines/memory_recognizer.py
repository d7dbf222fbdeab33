"""What recognizers share that compare with examples which they remember."""

from typing import Any, ClassVar

from ..recognizer.base import FewShotRecognizer
from ..recognizer.contract import Centers
from .means import get_means
from .memory import Memory, get_memory, set_memory


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
