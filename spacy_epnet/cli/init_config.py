from pathlib import Path
from typing import Annotated

import typer

from ..console import msg, show
from ..encoder.download import MINILM
from ..training.config import list_recognizers, make_training_config
from ..writing import check_outputs, write_whole
from ._app import epnet_cli, report_errors


@epnet_cli.command("init-config")
def init_config_cli(
    recognizer: Annotated[
        str, typer.Argument(help=f"Recognizer: {', '.join(list_recognizers())}")
    ],
    output: Annotated[
        Path, typer.Argument(help="Config to write, or - to print it", allow_dash=True)
    ],
    encoder: Annotated[
        str,
        typer.Option(
            help="Encoder: a folder, one that comes in packages, or a model on the hub"
        ),
    ] = MINILM.name,
    force: Annotated[
        bool, typer.Option("--force", "-F", help="Replace the file if it is there")
    ] = False,
) -> None:
    """
    Write a whole config for training a recognizer, with its default settings.

    Example: spacy epnet init-config nnshot_ner nnshot.cfg

    Example: spacy epnet init-config epnet_ner - --encoder bert-base-cased
    """
    with report_errors("No config was written"):
        config = make_training_config(recognizer, encoder)
        if str(output) == "-":
            show(config.rstrip("\n"))
            return
        if output.exists() and not force:
            what = "Replace it with --force, or choose another name."
            msg.fail(f"The file {output} is there already", what, exits=1)
        check_outputs([output], [])
        with write_whole(output) as path:
            path.write_text(config, encoding="utf8")
    msg.good("Wrote the config", str(output))
    msg.text("Train with:")
    show(
        f"python -m spacy train {output} --paths.train train.txt --paths.dev dev.txt "
        "--output training"
    )
