"""Measure how the time to read one long text grows with its length.

    python -m measurements.speed.long_texts

Each text is one record of JSON, with an entity every eight characters. What takes four
times as long for four times the text is read in linear time.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from wasabi import msg

from spacy_epnet.corpora.conversion import convert

EMOJI = "\U0001f389"


def make_marked(count: int) -> dict[str, Any]:
    """A text with entities that line up with its tokens."""
    spans = [[8 * i, 8 * i + 3, "PERSON"] for i in range(count)]
    return {"text": "Ada met " * count, "label": spans}


def make_sentences(count: int) -> dict[str, Any]:
    """The same with a sentence for each entity."""
    return {**make_marked(count), "text": "Ada did." * count}


def make_misaligned(count: int) -> dict[str, Any]:
    """The same with entities that end inside tokens."""
    spans = [[8 * i, 8 * i + 2, "PERSON"] for i in range(count)]
    return {"text": "Ada met " * count, "label": spans}


def make_nested(count: int) -> dict[str, Any]:
    """The same with entities inside each other."""
    spans = [[8 * i, 8 * (count - i) - 1, "PERSON"] for i in range(count // 2)]
    return {"text": "Ada met " * count, "label": spans}


def make_quoted(count: int) -> dict[str, Any]:
    """The same with offsets of UTF-16, and the text of each entity."""
    spans = [
        {"start": 8 * i + 2, "end": 8 * i + 5, "label": "PERSON", "text": "Ada"}
        for i in range(count)
    ]
    return {"text": EMOJI + "Ada met " * count, "spans": spans}


TEXTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "marked": make_marked,
    "sentences": make_sentences,
    "misaligned": make_misaligned,
    "nested": make_nested,
    "quoted": make_quoted,
}


def measure(name: str, counts: list[int], repeats: int, folder: Path) -> list[float]:
    """Return the seconds of the processor that a text of each length takes. It is read
    several times, of which the shortest counts.
    """
    seconds = [float("inf")] * len(counts)
    for _ in range(repeats):
        for i, count in enumerate(counts):
            path = folder / f"{count}.jsonl"
            path.write_text(json.dumps(TEXTS[name](count)), encoding="utf8")
            begin = time.process_time()
            convert([path], folder / "out.spacy")
            seconds[i] = min(seconds[i], time.process_time() - begin)
    return seconds


def main(
    counts: Annotated[
        str, typer.Option(help="Entities of the texts, with commas between")
    ] = "4000,16000,64000",
    repeats: Annotated[int, typer.Option(help="How often each is measured")] = 3,
) -> None:
    """Measure how the time to read one long text grows with its length."""
    sizes = [int(count) for count in counts.split(",")]
    with TemporaryDirectory() as folder:
        rows = [
            (name, *(f"{s:.2f}" for s in measure(name, sizes, repeats, Path(folder))))
            for name in TEXTS
        ]
    header = ("text", *(f"{size} entities, seconds" for size in sizes))
    msg.table(rows, header=header, divider=True)


if __name__ == "__main__":
    typer.run(main)
