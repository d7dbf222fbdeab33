"""Contexts: about sentences, whose spans attend to each other.

A sentence that is very long, or a doc without sentence boundaries, is cut into several,
by the first tokens of spans, so that time and memory don't grow with the square of its
length:

    segments   0 0 0 0 0 1 1      (sentences)
    contexts   0 0 1 1 2 3 3      (MAX_TOKENS 2)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy
from thinc.api import Ops

from ...recognizer.spans import Layout, find_begins, list_starts, make_spans
from ...types import Ints1d, Spans, TokenVectors

# Tokens of a context. Few sentences are as long.
MAX_TOKENS = 128
# Contexts are looked at together until they have about as many tokens.
PART_TOKENS = 1024


class Part(NamedTuple):
    """A part of a batch, of whole contexts."""

    offset: int  # its first token
    n_starts: int  # the tokens in which its spans may begin
    tokens: TokenVectors  # these, and others that the spans reach
    contexts: Ints1d  # (tokens,) the context of each
    candidates: Spans  # all its spans, counted from its first token


def number_contexts(segments: Any, max_tokens: int = MAX_TOKENS) -> Any:
    """(T,) Number the context of each token, in order, from its sentence or doc."""
    begins = find_begins(segments)
    places = numpy.arange(len(segments))
    since = places - numpy.maximum.accumulate(numpy.where(begins, places, 0))
    return numpy.cumsum(since % max_tokens == 0, dtype="i") - 1


def iter_parts(
    tokens: TokenVectors,
    layout: Layout,
    max_width: int,
    *,
    ops: Ops,
    reach: int = 0,
    part_tokens: int = PART_TOKENS,
) -> Iterator[Part]:
    """Cut a batch into parts that can be looked at one after the other. Every span is a
    candidate of one of them.

    reach (int): The longest span that is looked at, if some are longer than candidates.
    """
    xp: Any = ops.xp
    length = len(tokens)
    if not length:
        return
    contexts = number_contexts(ops.to_numpy(layout.segments))
    first = numpy.flatnonzero(find_begins(contexts))
    after = numpy.searchsorted(first, numpy.arange(0, length, part_tokens))
    begins = numpy.unique(first[after[after < len(first)]]).tolist()
    for begin, end in zip(begins, [*begins[1:], length], strict=True):
        window = slice(begin, min(length, end + max(max_width, reach) - 1))
        starts = list_starts(
            layout.cut(window), max_width, ops=ops, n_starts=end - begin
        )
        numbers = xp.asarray(contexts[window] - contexts[begin])
        candidates = make_spans(starts, ops=ops)
        yield Part(begin, end - begin, tokens[window], numbers, candidates)
