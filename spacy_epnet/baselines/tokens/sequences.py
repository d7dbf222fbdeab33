"""Recognizers of tokens that mind which type follows which."""

from typing import Any

import numpy
from spacy.tokens import Doc
from thinc.api import NumpyOps

from ...recognizer.base import FewShotRecognizer
from ...recognizer.gold import Gold
from ...recognizer.spans import Layout, find_begins, get_layout
from .io_tags import tag_tokens
from .transitions import (
    count_transitions,
    find_best_columns,
    temper,
    to_probabilities,
    transfer_transitions,
)

LEAST_PROBABILITY = 1e-12


class SequenceRecognizer(FewShotRecognizer):
    """Mixin that chooses the types of a sentence together; list it first."""

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recognizer. See the factories for the settings."""
        super().__init__(*args, **kwargs)
        self._forget_transitions()

    def _forget_transitions(self) -> None:
        self.learned["transitions"] = [[0] * 3 for _ in range(3)]

    def check_learned(self) -> None:
        """Raise an error if what was loaded doesn't fit together."""
        super().check_learned()
        counts = numpy.asarray(self.learned["transitions"])
        if counts.shape != (3, 3) or counts.min() < 0:
            raise ValueError("its transitions are no counts")

    def initialize_model(self, docs: list[Doc]) -> None:
        """Begin with nothing learned. See the base."""
        super().initialize_model(docs)  # type: ignore[safe-super]
        self._forget_transitions()

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, and count which type follows which. See the base."""
        columns = tag_tokens(golds, self.columns)
        begins = find_begins(get_layout(docs, ops=NumpyOps()).segments)
        counts = self.learned["transitions"] + count_transitions(columns, begins)
        self.learned["transitions"] = counts.tolist()
        return super().update_model(docs, golds)  # type: ignore[safe-super]

    def choose_columns(self, probabilities: Any, layout: Layout) -> Any:
        """Find the most probable sequence of types.

        probabilities (Floats2d): (T, columns) How probable each is for each token.
        layout (Layout): The batch.
        RETURNS (Ints1d): (T,) The column that each token takes.
        """
        ops = self.model.ops
        abstract = to_probabilities(numpy.asarray(self.learned["transitions"]))
        n_types = probabilities.shape[1] - 1
        table = transfer_transitions(abstract, n_types, self.cfg["transfer"])
        likely = ops.to_numpy(probabilities)
        columns = find_best_columns(
            numpy.log(numpy.maximum(likely, LEAST_PROBABILITY)),
            numpy.log(temper(table, self.cfg["temperature"])),
            find_begins(ops.to_numpy(layout.segments)),
        )
        return ops.asarray(columns)
