"""Find what each corpus of a mixture brings, by training sources without it.

    python -m measurements.leaving_out corpus/wnut17 corpus/ncbi_disease

Each TARGET is a folder with dev.spacy and test.spacy. Sources are trained for few
steps, one from all corpora and one without each of them, and adapted to the targets.
What is done already isn't done again, so that it can be interrupted at any time, and
several processes can share the work, each with some of the rows.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import spacy
import typer
from spacy.util import load_config

from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.results import to_markdown

from .benchmarking import choose_rows, run

ALL = "nothing"
SHOTS = [1, 5]


def main(
    targets: list[Path],
    config: Path = Path("configs/mixed.cfg"),
    steps: int = 800,
    supports: int = 3,
    row: Annotated[
        list[str] | None,
        typer.Option(
            help="Corpus to leave out, or 'nothing'. By default each of them in turn, "
            "which shows the table, too"
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder")] = Path("training/left-out"),
) -> None:
    """Train and measure a source without each corpus, and show the differences."""
    splits = [t / f"{name}.spacy" for t in targets for name in ("dev", "test")]
    rows = list_rows(load_config(config))
    found = {}
    for name in choose_rows(row, rows):
        folder = output / name
        train(config, folder, rows[name], steps)
        benchmark = Benchmark(
            spacy.load(folder / "model-last"),
            make_targets(splits),
            {"default": Profile("default", {})},
            SHOTS,
            [*range(supports)],
        )
        found[name] = average(run(benchmark, folder / "results.json").runs)
    if ALL in found:
        print(make_table(found))


def list_rows(config: dict[str, Any]) -> dict[str, list[str]]:
    """What is left out, by the name of the row. With a corpus go those that have no
    types but its own.
    """
    parts = config["corpora"]["train"]["parts"]
    rows = {
        name: [name, *(n for n, p in parts.items() if p.get("types_of") == name)]
        for name in parts
    }
    return {ALL: [], **rows}


def train(config: Path, folder: Path, left_out: list[str], steps: int) -> None:
    """Train a source, or go on with it, in a process of its own."""
    settings = {
        "--output": str(folder),
        "--mixture.without": json.dumps(left_out),
        "--corpora.dev.limit": "10",  # how well it knows its own types isn't asked
        "--training.max_steps": str(steps),
        "--training.eval_frequency": str(steps),
        "--training.optimizer.learn_rate.total_steps": str(steps),
    }
    options = [word for pair in settings.items() for word in pair]
    command = [sys.executable, "-m", "spacy", "epnet", "train", str(config)]
    subprocess.run([*command, *options], check=True)


def average(runs: dict[str, dict[str, Any]]) -> dict[tuple[str, int], float]:
    """The mean F1 of each target and number of shots."""
    cases: dict[tuple[str, int], list[float]] = {}
    for result in runs.values():
        if "failed" in result:
            continue
        case = (result["target"], result["shots"])
        cases.setdefault(case, []).append(result["f"])
    return {case: fmean(values) for case, values in cases.items()}


def make_table(found: dict[str, dict[tuple[str, int], float]]) -> str:
    """Make a table of the sources' F1: what it is with all corpora, and by how much
    it is more or less without one.
    """
    cases = sorted(found[ALL], key=lambda case: (-case[1], case[0]))
    rows = []
    for name, scores in found.items():
        base = {} if name == ALL else found[ALL]
        values = [scores[case] - base.get(case, 0.0) for case in cases]
        values.append(fmean(values))
        rows.append([name, *(f"{value:{'+' if base else ''}.1f}" for value in values)])
    columns = [f"{target}, {shots}-shot" for target, shots in cases]
    return to_markdown(["left out", *columns, "average"], rows)


if __name__ == "__main__":
    typer.run(main)
