"""The app that commands are registered in, and what all of them do."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import srsly
import typer
import wasabi.util
from safetensors import SafetensorError
from thinc.api import ConfigValidationError

from ..console import msg
from ..errors import EPNetError, SupportError
from ..writing import write_whole

# spaCy's errors of which a user is to be told, such as "[E913] Corpus path ...".
CODE = r"\[E\d+\] "

epnet_cli = typer.Typer(name="epnet", no_args_is_help=True)


@epnet_cli.callback()
def epnet() -> None:
    """Few-shot named entity recognition with EP-Net."""
    # Characters that the console doesn't have are printed by their numbers, so that no
    # result is lost for them.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Else it replaces them itself, and takes what it has encoded for UTF-8.
    wasabi.util.ENCODING = "utf8"


@contextmanager
def report_errors(title: str, output: Path | None = None) -> Iterator[None]:
    """Show errors that a user can do something about as a sentence: ours, those of the
    file system, and those that spaCy has a code for. Anything else is a bug and shows
    its traceback.

    title (str): What didn't work.
    output (Optional[Path]): The file with the results so far.
    """
    try:
        yield
    except SupportError as err:
        msg.fail(title, "The support set can't be learned from.")
        msg.table(
            [(problem.where, problem.what) for problem in err.problems],
            header=("where", "what is wrong"),
            divider=True,
        )
        raise typer.Exit(1) from None
    except (EPNetError, OSError, SafetensorError, ConfigValidationError) as err:
        msg.fail(title, str(err), exits=1)
    except ValueError as err:
        if not re.match(CODE, str(err)):
            raise
        msg.fail(title, str(err), exits=1)
    except KeyboardInterrupt:
        kept = f". Finished work is kept in {output}" if output is not None else ""
        msg.fail(f"Interrupted{kept}")
        raise typer.Exit(130) from None


def write_json(output: Path | None, data: Any) -> None:
    """Write data as JSON, if a file is asked for."""
    if output is not None:
        with write_whole(output) as path:
            srsly.write_json(path, data)
