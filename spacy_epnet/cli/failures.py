"""How commands end that measure for a long time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wasabi import msg


@contextmanager
def tell_failures(title: str, output: Path | None) -> Iterator[None]:
    """Say in words why a command has to stop, and what is kept.

    title (str): What has stopped.
    output (Optional[Path]): The file with the results so far.
    """
    try:
        yield
    except (ValueError, OSError, ImportError) as err:
        msg.fail(title, str(err), exits=1)
    except KeyboardInterrupt:
        kept = "nothing is kept without --output" if output is None else str(output)
        msg.fail("Interrupted. What is done is kept", kept, exits=1)
