"""Keep what all measurements of speed share: corpora, encoders, tables of results."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import msg

from spacy_epnet.corpora.documents import Sentence

from .contestants import read_sentences


class Table(NamedTuple):
    """Results of a measurement."""

    title: str
    header: list[str]
    rows: list[list[str]]
    results: dict[str, Any]  # everything, for JSON

    def show(self) -> None:
        """Print it."""
        msg.divider(self.title)
        msg.table(self.rows, header=self.header, divider=True)


@dataclass
class Setup:
    """Corpora, encoders and pipelines to measure with.

    corpora (Path): The folder with the corpora, one folder each.
    encoders (Dict[str, str]): Encoders by name.
    source (Path): A trained source pipeline over the first of them.
    folder (Path): A folder for pipelines made on the way.
    quick (bool): Whether to measure less, in minutes.
    """

    corpora: Path
    encoders: dict[str, str]
    source: Path
    folder: Path
    quick: bool

    @property
    def encoder(self) -> tuple[str, str]:
        """Return the main encoder."""
        return next(iter(self.encoders.items()))

    def read(self, file: str, *, limit: int | None = None) -> list[Sentence]:
        """Read sentences of a corpus."""
        return list(islice(read_sentences(self.corpora / file), limit))

    def report_progress(self, what: str, total: int) -> Callable[[int], object]:
        """Make a function that prints the progress of a measurement."""
        return lambda count: print(f"{what}: {count} of {total}", file=sys.stderr)
