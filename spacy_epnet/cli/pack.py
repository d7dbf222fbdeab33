from pathlib import Path
from typing import Annotated

import spacy
import typer

from ..console import msg
from ..sources.catalog import locate_pipeline
from ..sources.packing import is_packed, pack_source
from ..writing import check_outputs
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("pack")
def pack_cli(
    model: options.Pipeline,
    encoder: Annotated[
        Path,
        typer.Argument(help="Folder of the encoder it was trained on", exists=True),
    ],
    output: Annotated[Path, typer.Argument(help="Folder for the packed source")],
    name: Annotated[
        str | None, typer.Option(help="Name for its meta data, without the language")
    ] = None,
    version: Annotated[str | None, typer.Option(help="Its version")] = None,
    description: Annotated[str | None, typer.Option(help="What it is")] = None,
    license: Annotated[str | None, typer.Option(help="Its license")] = None,
) -> None:
    """
    Pack what a pipeline has learned, without its encoder, into a folder of a few
    megabytes. With the encoder it becomes the same pipeline again, but for rounding.

    Example: spacy epnet pack training/small/model-last assets/encoders/all-MiniLM-L6-v2
    packed/small --name epnet_small
    """
    given = {
        "name": name,
        "version": version,
        "description": description,
        "license": license,
    }
    with report_errors("Nothing was packed"):
        inputs = [locate_pipeline(model), encoder]
        check_outputs([], inputs, folder=output, may_replace=is_packed)
        nlp = spacy.load(model)
        nlp.meta.update({key: value for key, value in given.items() if value})
        pack_source(nlp, encoder, output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    msg.good(f"Packed the pipeline into {size / 1e6:.1f} MB", str(output))
