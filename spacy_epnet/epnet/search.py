"""The search for entities among all spans of a batch."""

from typing import Any

from thinc.api import Model

from ..recognizer.candidates import Layout, iter_windows, list_starts, make_spans
from ..types import TokenVectors
from .decoding import Winner, get_winners
from .head import measure_spans
from .types import Rows

# Spans are looked at for this many first tokens at a time, so that memory doesn't
# grow with the length of a doc or the number of docs in a batch.
MAX_STARTS = 1024

# With fewer tokens it is quicker to measure all spans than to sift them first.
MIN_TOKENS_TO_SIFT = 256


def find_winners(
    head: Model,
    tokens: TokenVectors,
    layout: Layout,
    rows_in_use: list[Rows],
    *,
    max_width: int,
    threshold: float,
    min_tokens_to_sift: int = MIN_TOKENS_TO_SIFT,
) -> list[list[Winner]]:
    """Find the spans of a batch that are entities.

    head (Model): The head.
    tokens (TokenVectors): The batch.
    layout (Layout): Where its spans may lie.
    rows_in_use (List[Rows]): The prototypes of each generation, None's first.
    max_width (int): The longest span.
    threshold (float): Least probability of a winner's type.
    min_tokens_to_sift (int): From how many tokens on spans are sifted.
    RETURNS (List[List[Winner]]): The spans that each generation takes for entities,
        counted from the start of the batch. They may overlap.
    """
    ops = head.ops
    sieve: Any = None
    if len(tokens) >= min_tokens_to_sift and all(len(rows) > 1 for rows in rows_in_use):
        from .candidate_filter import CandidateFilter

        sieve = CandidateFilter(head, rows_in_use)
    winners: list[list[Winner]] = [[] for _ in rows_in_use]
    for window, n_starts in iter_windows(len(tokens), max_width, MAX_STARTS):
        part = tokens[window]
        starts = list_starts(layout.cut(window), max_width, ops=ops, n_starts=n_starts)
        if sieve is None:
            spans = make_spans(starts, ops=ops)
            chosen = [spans] * len(rows_in_use)
            measured = measure_spans(head, part, spans, rows_in_use)
        else:
            chosen = sieve.sift(part, starts)
            measured = [
                measure_spans(head, part, spans, [rows])[0]
                for spans, rows in zip(chosen, rows_in_use, strict=True)
            ]
        for found, spans, distances in zip(winners, chosen, measured, strict=True):
            found += [
                winner.shift(window.start)
                for winner in get_winners(
                    spans, distances, threshold=threshold, ops=ops
                )
            ]
    return winners
