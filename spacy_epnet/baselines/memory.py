"""Recognizers that remember examples: points, and the types they are of.

The memory is part of the model, so that it is saved and copied with it:

    a model          docs -> token vectors, the docs end to end
      flat_tokens    docs -> the same
      memory                 points that are remembered, and their columns
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from spacy.tokens import Doc
from thinc.api import Model, get_array_module

from ..encoder.vectors import Tok2Vec, TokenModel, build_flat_tokens
from ..recognizer.base import Centers, FewShotRecognizer
from ..recognizer.gold import UNKNOWN
from ..recognizer.task import AdaptTask, LearningReport
from ..types import Ints1d, Points, TokenVectors
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
        """Return a copy with the last points of each column, up to its limit."""
        xp: Any = get_array_module(self.vectors)
        kept = [
            xp.nonzero(self.columns == column)[0][-limit:]
            for column, limit in enumerate(limits)
        ]
        positions = xp.sort(xp.concatenate(kept))
        return Memory(self.vectors[positions], self.columns[positions])

    def renumber(self, columns: Mapping[int, int]) -> "Memory":
        """Return a copy with other columns, without points whose column has no new
        number.
        """
        xp: Any = get_array_module(self.vectors)
        found = xp.full_like(self.columns, UNKNOWN)
        for old, new in columns.items():
            found[self.columns == old] = new
        kept = found != UNKNOWN
        return Memory(self.vectors[kept], found[kept])


def build_memory_model(
    name: str,
    tok2vec: Tok2Vec,
    *own: Model[Any, Any],
    init: Callable[..., None],
    attrs: Mapping[str, Any] | None = None,
) -> TokenModel:
    """Build token vectors with a memory, which `init` has to empty, and layers of one's
    own, with references to all of them.
    """
    flat_tokens = build_flat_tokens(tok2vec)
    memory: Model[Any, Any] = Model(
        "memory", recall_nothing, params={"vectors": None, "columns": None}
    )
    return Model(
        name,
        forward,
        init=init,
        layers=[flat_tokens, *own, memory],
        refs={
            "flat_tokens": flat_tokens,
            "tok2vec": tok2vec,
            **{layer.name: layer for layer in own},
            "memory": memory,
        },
        attrs=dict(attrs or {}),
    )


def forward(
    model: TokenModel, docs: list[Doc], is_train: bool
) -> tuple[TokenVectors, Callable[..., Any]]:
    return model.get_ref("flat_tokens")(docs, is_train)


def recall_nothing(
    model: Model[Any, Any], inputs: Any, is_train: bool
) -> tuple[Any, Callable[..., Any]]:
    raise RuntimeError("A memory is read and written, not called.")


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


def clear_memory(model: Model[Any, Any], width: int) -> None:
    """Let a model remember nothing but the width of points."""
    set_memory(model, Memory(model.ops.alloc2f(0, width), model.ops.alloc1i(0)))


class MemoryRecognizer(FewShotRecognizer):
    """Keeps what its model remembers in step with the labels."""

    # The first columns of the memory, before those of the labels, are None's.
    none_columns: ClassVar[int] = 1
    # None has to be remembered by more points than a type, because it can be anything.
    none_share: ClassVar[int]

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

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make the weights and an empty memory. See the base."""
        self.model.initialize(X=docs)

    def remember_batch(self, points: Points, columns: Ints1d) -> None:
        """Remember examples of a training, and forget the oldest."""
        size = self.cfg["memory_size"]
        limits = [size * self.none_share] * self.none_columns
        limits += [size for _ in self.labels]
        set_memory(self.model, self.memory.add(points, columns).keep_latest(limits))

    def number_new(self, task: AdaptTask) -> dict[str, int]:
        """Number the columns of new types, after None's and those that stay."""
        first = self.n_columns if task.extends else self.none_columns
        return {label: i for i, label in enumerate(task.labels, first)}

    def remember_support(
        self, task: AdaptTask, points: Points, columns: Ints1d, *, unit: str, what: str
    ) -> LearningReport:
        """Remember examples of new types, beside those of types that stay.

        columns (Ints1d): The columns of the points, UNKNOWN for those not to remember.
        unit (str): What the points are: "tokens" or "spans".
        what (str): How many there are of types and of None, in words.
        """
        new = self.number_new(task)
        old = list(self.labels) if task.extends else []
        if not old:
            clear_memory(self.model, points.shape[1])
        self.set_labels([*old, *new])
        set_memory(self.model, self.memory.add(points, columns))
        counts = {label: int((columns == i).sum()) for label, i in new.items()}
        is_none = (columns != UNKNOWN) & (columns < self.none_columns)
        n_nones = int(is_none.sum())
        return LearningReport(
            f"{what.format(sum(counts.values()), n_nones)} are remembered",
            (unit,),
            {label: (str(count),) for label, count in counts.items()},
            {unit: counts, f"none_{unit}": n_nones},
        )

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
