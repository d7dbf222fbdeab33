"""How commands report errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from safetensors import SafetensorError
from wasabi import msg

from ..errors import EPNetError, SupportError


@contextmanager
def report_errors(title: str, output: Path | None = None) -> Iterator[None]:
    """Show our errors, and those of the file system, as a sentence. Anything else is a
    bug and shows its traceback.

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
    except (EPNetError, OSError, SafetensorError) as err:
        msg.fail(title, str(err), exits=1)
    except KeyboardInterrupt:
        kept = f". Finished work is kept in {output}" if output is not None else ""
        msg.fail(f"Interrupted{kept}", exits=130)
