"""What token-level recognizers share: each token takes a type by what is remembered.

What is each one's own is how tokens are compared with the memory, and how the token
vectors are trained.
"""

from abc import abstractmethod
from typing import Any

from spacy.tokens import Doc
from thinc.types import Floats2d

from ...recognizer.annotation import Prediction, split_by_doc
from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import Layout, get_layout, iter_windows
from ...recognizer.task import AdaptTask, LearningReport
from ...types import Points, Spans, TokenVectors
from ..memory import Memory, MemoryRecognizer, make_empty_memory, set_memory
from .io_tags import decode_runs, tag_tokens

# Tokens that are compared with the memory at a time.
WINDOW = 1024
# None has to be remembered by more tokens than a type, because it can be anything.
NONE_SHARE = 10


class TokenRecognizer(MemoryRecognizer):
    """Recognizes entities as runs of tokens of one type."""

    # What is left to each

    @abstractmethod
    def represent(self, tokens: TokenVectors) -> TokenVectors:
        """Find the vectors by which tokens are compared."""

    @abstractmethod
    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """(points, columns) Measure distances of represented tokens to each type, None
        first. Types without remembered tokens are infinitely far.
        """

    @abstractmethod
    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Find the loss of a batch, and its gradient with respect to the tokens."""

    # What each may replace

    def choose_columns(self, probabilities: Any, layout: Layout) -> Any:
        """(T,) Return the column that each token takes, from how probable each is."""
        return probabilities.argmax(axis=1)

    # Recognition

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        if not len(tokens):
            return [[] for _ in docs]
        ops = self.model.ops
        layout = get_layout(docs, ops=ops)
        probabilities = self._get_probabilities(tokens)
        predictions = decode_runs(
            probabilities,
            self.choose_columns(probabilities, layout),
            layout,
            list(self.labels),
            threshold=self.cfg["threshold"],
            ops=ops,
        )
        return split_by_doc(predictions, docs)

    def _get_probabilities(self, tokens: TokenVectors) -> Floats2d:
        """(T, columns) Return how probable each type is for each token."""
        ops: Any = self.model.ops
        memory, n_columns = self.memory, self.n_columns
        parts = []
        for window, _ in iter_windows(len(tokens), 1, WINDOW):
            points = self.represent(tokens[window])
            distances = self.measure(points, memory, n_columns)
            parts.append(ops.softmax(-distances, axis=1))
        return ops.xp.concatenate(parts)

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Take the mean over the tokens of each span. See the base."""
        xp: Any = self.model.ops.xp
        points = self.represent(tokens[:])
        return xp.stack([points[s : s + w].mean(axis=0) for s, w in spans.tolist()])

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans: the mean over their tokens.
        See the base.
        """
        probabilities = self._get_probabilities(tokens)
        names = [None, *self.labels]
        means = (probabilities[s : s + w].mean(axis=0) for s, w in spans.tolist())
        return [dict(zip(names, mean.tolist(), strict=True)) for mean in means]

    # Learning

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make an empty memory. See the base."""
        self.model.initialize(X=docs)

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, up to the gradients. See the base."""
        tokens, backprop = self.model.begin_update(docs)
        columns: Any = self.model.ops.asarray(tag_tokens(golds, self.columns))
        loss, d_tokens = self.train(tokens, columns, docs)
        backprop(d_tokens)
        size = self.cfg["memory_size"]
        latest = self.memory.add(self.represent(tokens), columns)
        limits = [size * NONE_SHARE, *(size for _ in self.labels)]
        set_memory(self.model, latest.keep_latest(limits))
        return {self.name: loss}

    def learn(self, task: AdaptTask, settings: Any) -> LearningReport:
        """Remember the tokens of the support set. See the base."""
        points = self.represent(task.tokens)
        old = list(self.labels) if task.extends else []
        marked = {label: i for i, label in enumerate(task.labels, len(old) + 1)}
        columns: Any = self.model.ops.asarray(tag_tokens(task.golds, marked))
        if old:
            # What isn't marked may be of an old type.
            layout = get_layout(task.docs, ops=self.model.ops)
            probabilities = self._get_probabilities(task.tokens)
            taken = self.choose_columns(probabilities, layout) > 0
            columns[(columns == 0) & taken] = UNKNOWN
            memory = self.memory
        else:
            memory = make_empty_memory(points.shape[1], ops=self.model.ops)
        self.set_labels([*old, *task.labels])
        set_memory(self.model, memory.add(points, columns))
        counts = {
            label: int((columns == column).sum()) for label, column in marked.items()
        }
        n_nones = int((columns == 0).sum())
        return LearningReport(
            f"{sum(counts.values())} tokens of entities and {n_nones} others are "
            "remembered",
            ("tokens",),
            {label: (str(count),) for label, count in counts.items()},
            {"tokens": counts, "none_tokens": n_nones},
        )
