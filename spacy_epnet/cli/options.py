"""Arguments and options that several commands have."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer
from thinc.api import require_gpu

from ..console import msg

Texts = TypeVar("Texts", str, list[str], None)


def choose_gpu(gpu_id: int) -> int:
    """Use a GPU from here on, or end a command that asks for one which isn't there."""
    if gpu_id >= 0:
        try:
            require_gpu(gpu_id)
        except (ValueError, RuntimeError) as err:
            what = f"{err}. Leave out --gpu-id to use the CPU."
            msg.fail(f"Can't use GPU {gpu_id}", what, exits=1)
    return gpu_id


def decode(text: Texts) -> Texts:
    """Decode texts as UTF-8 that Python has taken for ASCII, as in LC_ALL=C."""
    if isinstance(text, list):
        return [decode(each) for each in text]
    try:
        return text and os.fsencode(text).decode("utf8")
    except UnicodeDecodeError:
        raise typer.BadParameter("the text isn't UTF-8") from None


Pipeline: TypeAlias = Annotated[
    str, typer.Argument(help="Pipeline to load: a folder or package")
]
Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="Source pipeline: a folder, a package, or one that comes with "
        "spacy-epnet, such as small"
    ),
]
SettingsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="Settings, such as configs/adapt.cfg", dir_okay=False
    ),
]
ProfileName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="Settings to begin with, a profile of the recognizer. By default the "
        "config's, or default",
    ),
]
ComponentName: TypeAlias = Annotated[
    str | None,
    typer.Option("--name", help="Component that is meant, if there are several"),
]
CodeFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--code", help="Python file with code to import before loading"),
]
# When a command begins, the callbacks have imported the code and chosen the device.
GpuId: TypeAlias = Annotated[
    int,
    typer.Option("--gpu-id", "-g", help="GPU ID or -1 for CPU", callback=choose_gpu),
]
Corpora: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(
        help="DEV TEST of each target: support sets are from DEV, scored is TEST"
    ),
]
Shots: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Mentions of each type in a support set, with commas. 0 for names alone"
    ),
]
Supports: TypeAlias = Annotated[
    int, typer.Option(help="Support sets to sample for each number of shots", min=1)
]
ResultsPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="JSON file for the results. What was interrupted goes on from what is in "
        "it",
    ),
]
PerType: TypeAlias = Annotated[
    bool, typer.Option("--per-type/--overall", help="Whether to show each type")
]
# For commands that take settings of the adaptation, as --adapt.NAME.
WITH_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
