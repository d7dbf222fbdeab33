from pathlib import Path
from typing import Annotated

import typer

from .._compat import import_code
from ..console import msg
from ..evaluation.geometry import import_tsne
from ..evaluation.plots import make_figure
from ..evaluation.run_report import read_folder, write_report
from ..sources.catalog import load_pipeline
from ..writing import check_outputs, write_whole
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("report")
def report_cli(
    run_dir: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run: pipelines, and what adapt --report, benchmark and "
            "episodes have written"
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(help="Corpus to show what the pipeline gets wrong on"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Page to write. By default in RUN_DIR"),
    ] = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Write one page about a run, which opens without a network: F1, settings, learning
    curves, how far types are from each other, where entities are, what is mistaken for
    what, and the worst sentences. What there is nothing of is left out.

    Example: spacy epnet report training/demo --test corpus/demo/test.spacy
    """
    import_code(code)
    page = output or run_dir / "report.html"
    with report_errors("There is no report"):
        make_figure(1, 1)
        import_tsne()
        run = read_folder(run_dir)
        check_outputs([page], [*run.files, run.pipeline, test, code])
        nlp = None if run.pipeline is None else load_pipeline(str(run.pipeline))
        text = write_report(run, nlp, test, on_part=lambda part: msg.text(f"{part}…"))
        with write_whole(page) as path:
            path.write_text(text, encoding="utf8")
    msg.good("Wrote the report", str(page))
