"""Which type follows which: learned of a source domain, handed to other types.

Types differ between domains. What can be learned is abstract, with IO tags:

    to       None   the same type   another type
    begin    .      -               .
    None     .      -               .
    a type   .      .               .
"""

from typing import Any, Literal, TypeAlias

import numpy

from ...recognizer.gold import UNKNOWN

BEGIN, NONE, TYPE = range(3)  # rows of an abstract table
TO_NONE, TO_SAME, TO_OTHER = range(3)  # its columns
# Numbers that are looked at at once.
BUDGET = 4_000_000

# (3, 3) How often, or how probably, what follows what.
Abstract: TypeAlias = Any
Transfer: TypeAlias = Literal["copy", "even"]


def count_transitions(columns: Any, begins: Any) -> Abstract:
    """Count what follows what in annotated texts.

    columns (Ints1d): (T,) The column of each token, 0 for None. Where a token's is
        unknown, nothing is counted.
    begins (Bools1d): (T,) Whether a token is the first of its text.
    RETURNS (Abstract): The counts.
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
    """Make probabilities of counts. What has never been seen is rare, not impossible.

    counts (Abstract): The counts.
    RETURNS (Abstract): Rows that add up to 1.
    """
    possible = numpy.ones((3, 3))
    possible[[BEGIN, NONE], TO_SAME] = 0
    seen = counts + possible
    return seen / seen.sum(axis=1, keepdims=True)


def transfer_transitions(abstract: Abstract, n_types: int, way: Transfer) -> Any:
    """Hand abstract transitions to the types of a domain.

    abstract (Abstract): The probabilities.
    n_types (int): How many types there are.
    way (str): Whether each transition takes the probability of its abstract one as a
        "copy", so that they add up to more than 1 with several types, or all that
        have the same abstract one share it evenly ("even").
    RETURNS (numpy.ndarray): (2 + types, 1 + types) From the beginning, from None and
        from each type, to None and to each type.
    """
    handed = abstract.copy()
    if way == "even":
        handed[:, TO_OTHER] /= numpy.maximum(1, [n_types, n_types, n_types - 1])
    rows = [BEGIN, NONE, *[TYPE] * n_types]
    table = handed[rows][:, [TO_NONE, *[TO_OTHER] * n_types]]
    numpy.fill_diagonal(table[TYPE:, 1:], abstract[TYPE, TO_SAME])
    return table


def temper(table: Any, temperature: float) -> Any:
    """Take probabilities to a power, and what their rows add up to as well.

    table (numpy.ndarray): Probabilities.
    temperature (float): The power. The smaller it is, the less they differ.
    RETURNS (numpy.ndarray): The same, flatter or sharper.
    """
    powers = table**temperature
    totals = table.sum(axis=1, keepdims=True) ** temperature
    return powers * totals / powers.sum(axis=1, keepdims=True)


def find_best_columns(emissions: Any, table: Any, begins: Any) -> Any:
    """Find the most probable types of the tokens of texts (Viterbi).

    emissions (numpy.ndarray): (T, columns) Log-probability of each type for each token.
    table (numpy.ndarray): (1 + columns, columns) Logarithms of the transitions, from
        the beginning first.
    begins (Bools1d): (T,) Whether a token is the first of its text.
    RETURNS (Ints1d): (T,) The column of each token.
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
