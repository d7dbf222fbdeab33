"""Measure converting corpora against spaCy's own converter.

    python -m measurements.speed.conversion fewnerd_inter/dev.txt --output convert.json

The file is rewritten as BIO, which both can read. The two take turns, in one
process, so that neither pays for imports. Then the file is converted once and
several times over in a process of its own, to see how memory grows.
"""

import json
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from spacy.cli.convert import convert as spacy_convert
from wasabi import msg

from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.documents import Reading
from spacy_epnet.corpora.readers import read_columns
from spacy_epnet.corpora.tags import write_tags

from .measuring import get_seconds, read_own_peak, run_apart

COPIES = (1, 4, 8)
MODULE = "measurements.speed.conversion"


def rewrite_as_bio(source: Path, target: Path) -> int:
    """Write a column file again with BIO tags, and count its sentences."""
    count = 0
    with target.open("w", encoding="utf8") as file:
        for document in read_columns(source, Reading()):
            for sentence in document.sentences:
                tags = write_tags(len(sentence.words), sentence.entities)
                rows = zip(sentence.words, tags, strict=True)
                file.write("".join(f"{word}\t{tag}\n" for word, tag in rows) + "\n")
                count += 1
    return count


def main(
    source: Annotated[Path, typer.Argument(help="Column file to convert")],
    output: Annotated[
        Path | None, typer.Option(help="JSON file for the figures")
    ] = None,
    repeats: Annotated[int, typer.Option(help="How often each is measured")] = 3,
    measure_memory: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure how fast corpora are converted, beside spaCy's own converter."""
    if measure_memory is not None:
        convert([source], measure_memory)
        print(read_own_peak())
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        bio = folder / "corpus.iob"
        sentences = rewrite_as_bio(source, bio)
        seconds: dict[str, list[float]] = {"spacy": [], "epnet": []}
        for _ in range(repeats):
            seconds["spacy"].append(
                get_seconds(
                    lambda: spacy_convert(
                        bio, folder, converter="ner", file_type="spacy", silent=True
                    )
                )
            )
            seconds["epnet"].append(
                get_seconds(lambda: convert([bio], folder / "ours.spacy"))
            )
        memory = {}
        for copies in COPIES:
            repeated = folder / f"{copies}.iob"
            repeated.write_bytes(bio.read_bytes() * copies)
            arguments = [str(repeated), "--measure-memory", str(folder / "out.spacy")]
            memory[copies] = float(run_apart(MODULE, *arguments))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["epnet"] / medians["spacy"]
    rows = [
        (name, f"{medians[name]:.2f}", f"{min(values):.2f} - {max(values):.2f}")
        for name, values in seconds.items()
    ]
    msg.table(rows, header=("converter", "seconds", "range"), divider=True)
    print(f"{sentences} sentences, ratio of the medians (epnet / spacy): {ratio:.2f}\n")
    growth = [(f"{copies} x", f"{value:.0f}") for copies, value in memory.items()]
    msg.table(growth, header=("file", "peak memory in MB"), divider=True)
    if output is not None:
        facts = {"sentences": sentences, "seconds": seconds, "ratio": ratio}
        output.write_text(json.dumps({**facts, "peak_mb": memory}, indent=2))


if __name__ == "__main__":
    typer.run(main)
