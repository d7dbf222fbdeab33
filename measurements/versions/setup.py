"""What versions are compared with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .checkout import Checkout


@dataclass
class Setup:
    """What versions are compared with.

    old (Checkout): The version before.
    new (Checkout): The version after.
    corpora (Path): The folder with the corpora, one folder each.
    sources (List[str]): The shipped sources.
    encoders (Dict[str, str]): Folders of their encoders, as far as they are there.
    quick (bool): Whether to compare less, in a minute.
    """

    old: Checkout
    new: Checkout
    corpora: Path
    sources: list[str]
    encoders: dict[str, str]
    quick: bool

    def run(
        self, task: str, *, threads: int | None = None, **request: Any
    ) -> tuple[Any, Any]:
        """Run a task in both at once. See `Checkout.start` for the arguments.

        RETURNS (Tuple[Any, Any]): What it found in the old and in the new version.
        """
        request["encoders"] = self.encoders
        with (
            self.old.start(task, threads=threads, **request) as old,
            self.new.start(task, threads=threads, **request) as new,
        ):
            return old.read(), new.read()
