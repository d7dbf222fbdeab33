"""Show the results of a sweep over a setting of the training.

    python -m measurements.quality.sweeps measurements/results/sweeps/tau/*.json

Each file is what `spacy epnet sweep` has left for a value in its folder, results.json,
and is called after it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import srsly
import typer

from spacy_epnet.evaluation.plots import Line
from spacy_epnet.evaluation.results import Results, to_markdown
from spacy_epnet.evaluation.sweep import Outcome, make_table, summarize


def main(
    files: list[Path],
    plot: Annotated[Path | None, typer.Option(help="File for a plot")] = None,
) -> None:
    """Print a table of each target."""
    measured = read_sweep(files)
    for title, table in make_tables(measured).items():
        print(f"\n{title}\n\n{table}")
    if plot is not None:
        draw(measured, plot)


def read_sweep(files: Iterable[Path]) -> dict[str, Results]:
    """Read the results of each value, in the order of their names."""
    measured = {}
    for path in sorted(files):
        data = srsly.read_json(path)
        measured[path.stem] = Results(None, data["benchmark"])
        measured[path.stem].runs = data["runs"]
    return measured


def summarize_targets(measured: dict[str, Results]) -> dict[str, Outcome]:
    """Tabulate the results of values on each target."""
    targets = next(iter(measured.values())).header["targets"]
    return {t["name"]: summarize(measured, [t["name"]]) for t in targets}


def make_tables(measured: dict[str, Results]) -> dict[str, str]:
    """Make a table of each target, with a row for each value."""
    outcomes = summarize_targets(measured).items()
    return {title: to_markdown(*make_table(outcome)) for title, outcome in outcomes}


def draw(measured: dict[str, Results], plot: Path) -> None:
    """Draw a curve for each target and number of shots."""
    from spacy_epnet.evaluation.plots import draw_lines, save

    lines: dict[str, Line] = {}
    for title, outcome in summarize_targets(measured).items():
        for kind, line in outcome.get_lines().items():
            lines[f"{title}, {kind}"] = line
    name = next(iter(measured)).partition("=")[0]
    ticks = [value.partition("=")[2] for value in measured]
    save(draw_lines(lines, x=name, y="F1", ticks=ticks), plot)


if __name__ == "__main__":
    typer.run(main)
