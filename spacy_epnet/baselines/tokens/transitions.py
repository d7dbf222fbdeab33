"""Recognizers of tokens that mind which type follows which. It is learned of a source
domain, and handed to other types.

Types differ between domains. What can be learned is abstract, with IO tags:

    to       None   the same type   another type
    begin    .      -               .
    None     .      -               .
    a type   .      .               .
"""

from typing import Any, TypeAlias

import numpy
from spacy.tokens import Doc
from thinc.api import NumpyOps

from ...recognizer.gold import UNKNOWN, Gold
from ...recognizer.spans import Layout, find_begins, get_layout
from ..settings import Transfer
from .io_tags import TaggingRecognizer, tag_tokens

BEGIN, NONE, TYPE = range(3)  # rows of an abstract table
TO_NONE, TO_SAME, TO_OTHER = range(3)  # its columns
LEAST_PROBABILITY = 1e-12
# Numbers that are looked at at once.
BUDGET = 4_000_000

# (3, 3) How often, or how probably, what follows what.
Abstract: TypeAlias = Any


class SequenceRecognizer(TaggingRecognizer):
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
        """(T,) Find the most probable sequence of types. See the base."""
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


def count_transitions(columns: Any, begins: Any) -> Abstract:
    """Count what follows what, by the columns of tokens and whether each begins a text.
    Nothing is counted where a column is unknown.
    """
    counts = numpy.zeros((3, 3), dtype="int64")
    if not len(columns):
        return counts
    before = numpy.concatenate([[0], columns[:-1]])
    rows = numpy.where(before > 0, TYPE, NONE)
    rows[begins] = BEGIN
    is_same = (columns == before) & (rows == TYPE)
    to = numpy.where(columns == 0, TO_NONE, numpy.where(is_same, TO_SAME, TO_OTHER))
    known = (columns != UNKNOWN) & (begins | (before != UNKNOWN))
    numpy.add.at(counts, (rows[known], to[known]), 1)
    return counts


def to_probabilities(counts: Abstract) -> Abstract:
    """Make probabilities of counts. What was never seen is rare, not impossible."""
    possible = numpy.ones((3, 3))
    possible[[BEGIN, NONE], TO_SAME] = 0
    seen = counts + possible
    return seen / seen.sum(axis=1, keepdims=True)


def transfer_transitions(abstract: Abstract, n_types: int, way: Transfer) -> Any:
    """(2 + types, 1 + types) Hand abstract transitions to the types of a domain: from
    the beginning, from None and from each type, to None and to each type. With several
    types, copies add up to more than 1.
    """
    handed = abstract.copy()
    if way == "even":
        handed[:, TO_OTHER] /= numpy.maximum(1, [n_types, n_types, n_types - 1])
    rows = [BEGIN, NONE, *[TYPE] * n_types]
    table = handed[rows][:, [TO_NONE, *[TO_OTHER] * n_types]]
    numpy.fill_diagonal(table[TYPE:, 1:], abstract[TYPE, TO_SAME])
    return table


def temper(table: Any, temperature: float) -> Any:
    """Take probabilities to a power, and what their rows add up to as well."""
    powers = table**temperature
    totals = table.sum(axis=1, keepdims=True) ** temperature
    return powers * totals / powers.sum(axis=1, keepdims=True)


def find_best_columns(emissions: Any, table: Any, begins: Any) -> Any:
    """(T,) Find the most probable columns of the tokens of texts (Viterbi).

    emissions (Floats2d): (T, columns) Log-probability of each column for each token.
    table (Floats2d): (1 + columns, columns) Logarithms of the transitions, from the
        beginning first.
    begins (Bools1d): (T,) Whether a token is the first of its text.
    """
    starts = numpy.flatnonzero(begins)
    lengths = numpy.diff(numpy.append(starts, len(emissions)))
    order = numpy.argsort(-lengths, kind="stable")
    chosen = numpy.zeros(len(emissions), dtype="int64")
    size = max(1, BUDGET // emissions.shape[1] ** 2)
    for begin in range(0, len(order), size):
        part = order[begin : begin + size]
        _choose(emissions, table, starts[part], lengths[part], chosen)
    return chosen


def _choose(emissions: Any, table: Any, starts: Any, lengths: Any, chosen: Any) -> None:
    """Find the types of some texts, the longest first, which go forward together: those
    that have ended are the last.
    """
    best = table[0] + emissions[starts]
    origins = numpy.zeros((int(lengths[0]), *best.shape), dtype="int64")
    for place in range(1, len(origins)):
        n_left = int((lengths > place).sum())
        paths = best[:n_left, :, None] + table[1:]
        origins[place, :n_left] = paths.argmax(axis=1)
        best[:n_left] = paths.max(axis=1) + emissions[starts[:n_left] + place]
    current = best.argmax(axis=1)
    for place in reversed(range(len(origins))):
        n_left = int((lengths > place).sum())
        chosen[starts[:n_left] + place] = current[:n_left]
        current[:n_left] = origins[place, range(n_left), current[:n_left]]
