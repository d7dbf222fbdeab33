"""Compare settings of the adaptation on tasks of corpora that a source hasn't seen.

    python -m measurements.settings measure MODEL TASKS --output settings.json
    python -m measurements.settings table settings.json

MODEL was trained without the corpora that TASKS, a folder, was made of with
`measurements.tasks`. The profile "default" is the first row, and each other row changes
what it says. The table takes the results of several sources together.
"""

from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any

import spacy
import srsly
import typer

from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.results import to_markdown

from .benchmarking import choose_rows, run

RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}
NEAR = {"@misc": "spacy-epnet.prefer_near.v1"}
DEFAULT = "default"
ROWS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "random source types": {"assignment": RANDOM},
    "mixture without names": {"assignment": {"name_weight": 0.0}},
    "names weigh 10": {"assignment": {"name_weight": 10.0}},
    "names weigh 40": {"assignment": {"name_weight": 40.0}},
    "target loss 0.005": {"target_loss": 0.005},
    "target loss 0.06": {"target_loss": 0.06},
    "lr 0.0002": {"lr": 0.0002},
    "lr 0.001": {"lr": 0.001},
    "dropout 0.5": {"dropout": 0.5},
    "no average": {"average": 0},
    "no hard None spans": {"hard_nones": 0.0},
    "100 None spans": {"none_samples": 100},
    "no dispersion": {"dispersion_loss": False},
    "the nearer of overlapping spans": {"overlaps": NEAR},
}

app = typer.Typer()


@app.command()
def measure(
    model: str,
    tasks: Path,
    output: Annotated[Path, typer.Option()],
    shots: str = "1,5",
    supports: int = 3,
    row: Annotated[list[str] | None, typer.Option(help="All by default")] = None,
) -> None:
    """Measure rows on each task. What is in the file already isn't measured again."""
    chosen = choose_rows(row, ROWS)
    profiles = {name: Profile("default", ROWS[name]) for name in chosen}
    numbers = [int(number) for number in shots.split(",")]
    splits = [
        task / f"{split}.spacy"
        for task in sorted(tasks.iterdir())
        for split in ("dev", "test")
    ]
    benchmark = Benchmark(
        spacy.load(model), make_targets(splits), profiles, numbers, [*range(supports)]
    )
    run(benchmark, output)


@app.command()
def table(files: list[Path]) -> None:
    """Show the rows of one or several files, with their differences to the default."""
    scores: dict[str, dict[tuple, float]] = defaultdict(dict)
    for file in files:
        for result in srsly.read_json(file)["runs"].values():
            if "failed" not in result:
                case = (result["target"], result["shots"], result["support"])
                scores[result["profile"]][case] = result["f"]
    print(make_table(scores))


def make_table(scores: dict[str, dict[tuple, float]]) -> str:
    """Make a table with a row for each setting.

    scores (Dict[str, Dict[tuple, float]]): The F1 of each row by task, shots and
        support set.
    RETURNS (str): The table. Differences are over the same cases, and their standard
        error is over tasks.
    """
    shots = sorted({number for cases in scores.values() for _, number, _ in cases})
    rows = []
    for name, cases in scores.items():
        both = [case for case in cases if case in scores[DEFAULT]]
        means = [
            fmean(cases[case] for case in both if case[1] == number) for number in shots
        ]
        by_task = defaultdict(list)
        for case in both:
            by_task[case[0]].append(cases[case] - scores[DEFAULT][case])
        differences = [fmean(values) for values in by_task.values()]
        spread = stdev(differences) / len(differences) ** 0.5
        cells = [f"{mean:.1f}" for mean in means]
        rows.append([name, *cells, f"{fmean(differences):+.1f} ± {spread:.1f}"])
    return to_markdown(["setting", *(f"{n}-shot" for n in shots), "difference"], rows)


if __name__ == "__main__":
    app()
