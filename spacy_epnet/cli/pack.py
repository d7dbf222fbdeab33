from pathlib import Path
from typing import Annotated

import spacy
import typer
from wasabi import msg

from ..corpora.files import check_places
from ..sources.packing import pack_source
from ._app import epnet_cli
from .options import Pipeline


@epnet_cli.command("pack")
def pack_cli(
    model: Pipeline,
    encoder: Annotated[
        Path,
        typer.Argument(help="Folder of the encoder it was trained on", exists=True),
    ],
    output: Annotated[Path, typer.Argument(help="Folder for the packed source")],
) -> None:
    """
    Pack what a pipeline has learned, without its encoder, into a folder of a few
    megabytes. With the encoder it becomes the same pipeline again, but for rounding.

    Example: spacy epnet pack training/small/model-last assets/encoders/all-MiniLM-L6-v2
    packed/small
    """
    try:
        check_places(
            [output], [path for path in (Path(model), encoder) if path.exists()]
        )
        pack_source(spacy.load(model), encoder, output)
    except (ValueError, OSError) as err:
        msg.fail("Nothing was packed", str(err), exits=1)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    msg.good(f"Packed the pipeline into {size / 1e6:.1f} MB", str(output))
