"""Report errors of commands."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from safetensors import SafetensorError
from thinc.api import ConfigValidationError

from ..console import msg
from ..errors import EPNetError, SupportError

# spaCy's errors of which a user is to be told, such as "[E913] Corpus path ...".
CODE = r"\[E\d+\] "


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
