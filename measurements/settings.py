"""Compare settings of the adaptation on source types that were held out.

    python -m measurements.settings MODEL DEV TEST [DEV TEST ...] --output settings.json

MODEL must not have been trained on the types of DEV and TEST. The profile "default"
is the first row, and each other row changes what it says. How the held-out types were
made is in docs/adapting.md.
"""

from pathlib import Path
from statistics import fmean
from typing import Annotated

import spacy
import typer

from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.results import Results, to_markdown

RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}
NEAR = {"@misc": "spacy-epnet.prefer_near.v1"}
ROWS: dict[str, dict] = {
    "default": {},
    "random source types": {"assignment": RANDOM},
    "mixture without names": {"assignment": {"name_weight": 0.0}},
    "names weigh 5": {"assignment": {"name_weight": 5.0}},
    "40 steps": {"target_loss": 0.0, "max_steps": 40},
    "target loss 0.01": {"target_loss": 0.01},
    "target loss 0.04": {"target_loss": 0.04},
    "lr 0.001": {"lr": 0.001},
    "no average": {"average": 0},
    "no hard None spans": {"hard_nones": 0.0},
    "80 None spans": {"none_samples": 80},
    "no dispersion": {"dispersion_loss": False},
    "the nearer of overlapping spans": {"overlaps": NEAR},
}


def main(
    model: str,
    corpora: list[Path],
    shots: str = "1,5",
    supports: int = 3,
    output: Annotated[Path | None, typer.Option()] = None,
) -> None:
    """Measure every row, and print F1 and its difference to the default."""
    profiles = {name: Profile("default", changes) for name, changes in ROWS.items()}
    numbers = [int(number) for number in shots.split(",")]
    benchmark = Benchmark(
        spacy.load(model), make_targets(corpora), profiles, numbers, [*range(supports)]
    )
    results = Results(output, benchmark.describe())
    for run, result in benchmark.run(results.runs):
        results.add(run, result)
        print(f"{run.key}: {result['f']:.1f}", flush=True)
    print(make_table(results, numbers))


def make_table(results: Results, shots: list[int]) -> str:
    """Make a table with a row for each setting."""
    groups = {
        (group["profile"], group["shots"], group["target"]): group["f"]["mean"]
        for group in results.summarize()
    }
    targets = [target["name"] for target in results.header["targets"]]
    columns = [(number, target) for target in targets for number in shots]
    default = fmean(groups["default", *column] for column in columns)
    rows = []
    for name in ROWS:
        values = [groups[name, *column] for column in columns]
        mean = fmean(values)
        cells = [f"{value:.1f}" for value in values]
        rows.append([name, *cells, f"{mean:.1f}", f"{mean - default:+.1f}"])
    header = [f"{target} {number}-shot" for number, target in columns]
    return to_markdown(["setting", *header, "average", "difference"], rows)


if __name__ == "__main__":
    typer.run(main)
