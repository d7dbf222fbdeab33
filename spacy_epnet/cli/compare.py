from pathlib import Path
from typing import Annotated

import typer

from ..console import msg, show
from ..errors import InvalidSettingError
from ..evaluation.comparison import read_comparison
from ..evaluation.plots import check_plot, draw_comparison, save
from ..evaluation.results import to_markdown
from ..writing import check_outputs
from ._app import epnet_cli, report_errors, write_json


@epnet_cli.command("compare")
def compare_cli(
    results: Annotated[
        list[str],
        typer.Argument(
            help="NAME=FILE for each system, or FILE alone: what spacy epnet benchmark "
            "has written. The others are compared with the first"
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON file for the figures"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="File for a plot of the averages, such as plot.svg or .png"),
    ] = None,
) -> None:
    """
    Show the results of several benchmarks on the same corpora in one table, as
    Markdown. The average is over the targets that all systems have. The last column is
    the mean difference to the first system on these, over all support sets, and the
    probability that chance in the choice of support sets gives one as large. It says
    nothing about other test sets.

    Example: spacy epnet compare small=small.json base=base.json --plot sizes.svg
    """
    with report_errors("Can't compare"):
        files = list(map(read_name, results))
        if plot is not None:
            check_plot(plot)
        check_outputs([output, plot], [path for _, path in files])
        comparison = read_comparison(files)
        write_json(output, comparison.to_dict())
        if plot is not None:
            save(draw_comparison(comparison.rows), plot)
    show(to_markdown(*comparison.get_table()))
    for path in filter(None, (output, plot)):
        msg.good("Wrote the figures", str(path))


def read_name(value: str) -> tuple[str, Path]:
    """Read a name and a path. A path alone is called after itself."""
    name, found, path = value.partition("=")
    if not found or Path(value).exists():
        return Path(value).stem, Path(value)
    if not name or not path:
        expected = "a name and a path, such as small=results.json"
        raise InvalidSettingError("NAME=PATH", value, expected)
    return name, Path(path)
