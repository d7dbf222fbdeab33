"""Show the results of a sweep over a setting of the training.

    python -m measurements.sweeps docs/sweeps/tau/*.json

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
    for title, targets in list_groups(measured).items():
        print(f"\n{title}\n\n{show(summarize(measured, targets))}")
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


def list_groups(measured: dict[str, Results]) -> dict[str, list[str]]:
    """The targets that tables are made of."""
    header = next(iter(measured.values())).header
    return {target["name"]: [target["name"]] for target in header["targets"]}


def show(outcome: Outcome) -> str:
    """Make a table with a row for each value."""
    return to_markdown(*make_table(outcome))


def draw(measured: dict[str, Results], plot: Path) -> None:
    """Draw a curve for each target and number of shots."""
    from spacy_epnet.evaluation.plots import draw_lines, save

    lines: dict[str, Line] = {}
    for title, targets in list_groups(measured).items():
        for kind, line in summarize(measured, targets).get_lines().items():
            lines[f"{title}, {kind}"] = line
    name = next(iter(measured)).partition("=")[0]
    ticks = [value.partition("=")[2] for value in measured]
    save(draw_lines(lines, x=name, y="F1", ticks=ticks), plot)


if __name__ == "__main__":
    typer.run(main)
