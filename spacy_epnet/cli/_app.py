import sys
from io import TextIOWrapper

import typer
import wasabi.util

epnet_cli = typer.Typer(name="epnet", no_args_is_help=True)


@epnet_cli.callback()
def epnet() -> None:
    """Few-shot named entity recognition with EP-Net."""
    escape_unprintable()


def escape_unprintable() -> None:
    """Print characters that the console doesn't have by their numbers, so that no
    result is lost for them.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Else it replaces them itself, and takes what it has encoded for UTF-8.
    wasabi.util.ENCODING = "utf8"
