"""Find what each corpus of a mixture brings, by leaving it out.

    python -m measurements.quality.leaving_out types small corpus/wnut17
    python -m measurements.quality.leaving_out trainings corpus/wnut17

Each TARGET is a folder with dev.spacy and test.spacy. The first takes the types of a
corpus from a trained source, so that new types can't begin as one of them. The second
trains sources without it, which takes hours. What is done already isn't done again, so
that both can be interrupted at any time, and several processes can share the work, each
with some of the rows.
"""

import json
import operator
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, TypeAlias

import spacy
import typer
from spacy.language import Language
from spacy.util import load_config

from spacy_epnet.cli.benchmark import run_benchmark
from spacy_epnet.corpora.labels import split_type
from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.recognizer.pipeline import find_recognizer
from spacy_epnet.sources.catalog import load_pipeline

from .benchmarking import choose_rows
from .sources import limit_steps, list_splits, train_source

ALL = "nothing"
SHOTS = [1, 5]

app = typer.Typer()
Rows: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--row",
        help="Corpus to leave out, or 'nothing'. By default each of them in turn, "
        "which shows the table, too",
    ),
]


@app.command()
def types(
    model: str,
    targets: list[Path],
    supports: int = 3,
    row: Rows = None,
    output: Annotated[Path, typer.Option(help="Folder")] = Path("training/without"),
) -> None:
    """Measure a source without the types of each corpus, and show the differences."""

    def forget(corpus: str) -> Language:
        nlp = load_pipeline(model)
        pipe = find_recognizer(nlp).recognizer
        own = {label for label in pipe.labels if split_type(label)[0] == corpus}
        pipe.set_labels([label for label in pipe.labels if label not in own])
        assigned = pipe.learned["ever_assigned"]
        pipe.learned["ever_assigned"] = {
            label: place for label, place in assigned.items() if label not in own
        }
        return nlp

    pipe = find_recognizer(load_pipeline(model)).recognizer
    corpora = dict.fromkeys(split_type(label)[0] for label in pipe.labels)
    show(forget, choose_rows(row, [ALL, *corpora]), targets, supports, output)


@app.command()
def trainings(
    targets: list[Path],
    config: Path = Path("configs/mixed.cfg"),
    steps: int = 800,
    supports: int = 3,
    repeats: Annotated[
        int, typer.Option(help="Trainings with all corpora, to see what chance does")
    ] = 3,
    row: Rows = None,
    output: Annotated[Path, typer.Option(help="Folder")] = Path("training/left-out"),
) -> None:
    """Train and measure a source without each corpus, and show the differences."""
    rows = list_rows(load_config(config), repeats)

    def train_without(name: str) -> Language:
        settings = {
            "--mixture.without": json.dumps(rows[name]),
            "--system.seed": str(find_seed(name)),
            "--corpora.dev.limit": "10",  # how well it knows its own types isn't asked
        }
        train_source(config, output / name, {**settings, **limit_steps(steps)})
        return spacy.load(output / name / "model-last")

    show(train_without, choose_rows(row, rows), targets, supports, output)


def show(
    make_source: Callable[[str], Language],
    rows: list[str],
    targets: list[Path],
    supports: int,
    output: Path,
) -> None:
    """Measure a source without each corpus, and show the differences."""
    profiles, seeds = {"default": Profile("default", {})}, [*range(supports)]
    found = {}
    for row in rows:
        benchmark = Benchmark(
            make_source(row), make_targets(list_splits(targets)), profiles, SHOTS, seeds
        )
        (output / row).mkdir(parents=True, exist_ok=True)
        results = run_benchmark(benchmark, output / row / "results.json")
        found[row] = average(results.runs)
    if ALL in found:
        print(make_table(found))


def list_rows(config: dict[str, Any], repeats: int) -> dict[str, list[str]]:
    """What is left out, by the name of the row. With a corpus go those that have no
    types but its own. With all corpora there are several rows, each with a seed.
    """
    parts = config["corpora"]["train"]["parts"]
    rows = {
        name: [name, *(n for n, p in parts.items() if p.get("types_of") == name)]
        for name in parts
    }
    others = {f"{ALL}-{seed}": [] for seed in range(1, repeats)}
    return {ALL: [], **rows, **others}


def find_seed(row: str) -> int:
    """The seed of a row's training."""
    return int(row.partition("-")[2] or 0) if is_whole(row) else 0


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
    """Make a table of the sources' F1: what it is with all corpora, how much that
    differs by chance, and by how much it is more or less without one of them.
    """
    cases = sorted(found[ALL], key=lambda case: (-case[1], case[0]))
    scores = {
        name: [*(values[case] for case in cases), fmean(values.values())]
        for name, values in found.items()
    }
    whole = [*zip(*(scores[row] for row in scores if is_whole(row)), strict=True)]
    means = [fmean(values) for values in whole]
    rows = [[ALL, *(f"{mean:.1f}" for mean in means)]]
    if len(whole[0]) > 1:
        title = f"{ALL}, deviation of {len(whole[0])} trainings"
        rows.append([title, *(f"{stdev(values):.1f}" for values in whole)])
    for name in scores:
        if not is_whole(name):
            differences = map(operator.sub, scores[name], means)
            rows.append([name, *(f"{value:+.1f}" for value in differences)])
    columns = [f"{target}, {shots}-shot" for target, shots in cases]
    return to_markdown(["left out", *columns, "average"], rows)


def is_whole(row: str) -> bool:
    """Whether no corpus was left out."""
    return row.partition("-")[0] == ALL


if __name__ == "__main__":
    app()
