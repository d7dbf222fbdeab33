"""Token-level recognisers that mind which type follows which."""

from typing import Any

import numpy
from pydantic import Field
from spacy.tokens import Doc

from ..gold import Gold
from ..layout import Layout, find_begins, get_layout
from .component import TokenRecognizer, TokenSettings
from .dependency import (
    Transfer,
    count_transitions,
    find_best_columns,
    sharpen,
    to_probabilities,
    transfer_transitions,
)
from .memory import tag_tokens

# Of a probability whose logarithm is taken.
LEAST = 1e-12


class DependentSettings(TokenSettings):
    """The settings of the component.

    transfer (str): How what was learned of the source's types is handed to others.
    temperature (float): Power of the transitions. The smaller, the less they count.
    """

    transfer: Transfer
    temperature: float = Field(gt=0)


class DependentRecognizer(TokenRecognizer):
    """Chooses the types of all tokens of a sentence together.

    To be put before another token-level recogniser among the bases of a class.
    """

    settings_type = DependentSettings

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recogniser. See the factories for the settings."""
        super().__init__(*args, **kwargs)
        self.learned["transitions"] = [[0] * 3 for _ in range(3)]

    def check_learned(self) -> None:
        """Raise an error if what was loaded doesn't fit together."""
        super().check_learned()
        counts = numpy.asarray(self.learned["transitions"])
        if counts.shape != (3, 3) or counts.min() < 0:
            raise ValueError("its transitions are no counts")

    def update_model(self, docs: list[Doc], golds: list[Gold]) -> dict[str, float]:
        """Learn from a batch, and count which type follows which. See the base."""
        ops = self.model.ops
        columns = tag_tokens(golds, self.columns)
        begins = find_begins(ops.to_numpy(get_layout(docs, ops=ops).segments))
        counts = self.learned["transitions"] + count_transitions(columns, begins)
        self.learned["transitions"] = counts.tolist()
        return super().update_model(docs, golds)

    def choose_columns(self, probabilities: Any, layout: Layout) -> Any:
        """Find the most probable sequence of types. See the base."""
        ops = self.model.ops
        abstract = to_probabilities(numpy.asarray(self.learned["transitions"]))
        table = transfer_transitions(abstract, len(self.labels), self.cfg["transfer"])
        likely = ops.to_numpy(probabilities)
        return find_best_columns(
            numpy.log(numpy.maximum(likely, LEAST)),
            numpy.log(sharpen(table, self.cfg["temperature"])),
            find_begins(ops.to_numpy(layout.segments)),
        )
