import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from .._compat import (
    import_code,
    parse_config_overrides,
    setup_gpu,
    show_validation_error,
)
from ..console import msg
from ..training.loop import Training
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("train", context_settings=options.WITH_SETTINGS)
def train_cli(
    ctx: typer.Context,
    config_path: Annotated[
        Path, typer.Argument(help="Config, as for spacy train", exists=True)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Folder for the trained pipeline and the checkpoint"
        ),
    ],
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Train a pipeline as spacy train does, and go on where it stopped if it was
    interrupted: the same command again takes up weights, optimizer and position from
    the checkpoint in the output folder, which is written at every evaluation and on
    Ctrl-C. Settings are changed as for spacy train, by --training.max_steps 500.

    Example: spacy epnet train configs/mixed.cfg --output training/small
    """
    import_code(code)
    overrides = parse_config_overrides(ctx.args)
    setup_gpu(use_gpu)
    train(config_path, overrides, output, use_gpu)


def train(
    config_path: Path, overrides: dict[str, Any], output: Path, use_gpu: int = -1
) -> None:
    """Train a pipeline, or go on with it. If it is trained already, nothing is done."""
    with report_errors("Can't train"):
        with show_validation_error(config_path):
            config = load_config(config_path, overrides=overrides, interpolate=False)
            msg.divider("Initializing pipeline")
            nlp = init_nlp(config, use_gpu=use_gpu)
            training = Training(nlp, output)
        steps = training.resume()
    if training.is_over:
        msg.good(f"The training is over after {steps} steps", str(output))
        return
    msg.divider("Training pipeline")
    msg.info(f"Goes on after {steps} steps" if steps else "Begins anew")
    with report_errors("The training stopped. The last checkpoint is kept"):
        is_over = training.run(sys.stdout, sys.stderr)
    if is_over:
        msg.good("Saved the trained pipeline", str(output / "model-last"))
    else:
        msg.warn(
            f"Interrupted after {training.progress.step} steps",
            "Run the same command again to go on.",
        )
        raise typer.Exit(130)
