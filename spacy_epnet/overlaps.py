"""Spans that don't overlap."""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Stretch(Protocol):
    """Anything with a first token and an end, such as a `Span`."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


StretchT = TypeVar("StretchT", bound=Stretch)


def drop_overlaps(
    spans: Iterable[StretchT], taken: Iterable[Stretch] = ()
) -> list[StretchT]:
    """Keep each span that overlaps none of those kept before it.

    spaCy's `filter_spans` prefers the longest. Here the order decides.

    spans (Iterable[Stretch]): The spans, the best first.
    taken (Iterable[Stretch]): Spans that none of them may overlap.
    """
    covered = {i for span in taken for i in range(span.start, span.end)}
    kept = []
    for span in spans:
        tokens = range(span.start, span.end)
        if covered.isdisjoint(tokens):
            covered.update(tokens)
            kept.append(span)
    return kept
