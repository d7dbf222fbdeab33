"""Compare two checkouts: python -m measurements.versions OLD NEW CORPORA [--only ...]

For example, whether a change leaves every prediction as it is, in less than a minute:

    python -m measurements.versions ../before . ../corpora --only equality --quick

CORPORA is a folder with wnut17 and crossner_politics. Both checkouts are run by this
interpreter with its packages. Without --quick, the encoder of the source "base" is
downloaded for each unless it is in assets/encoders.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import srsly
import typer
from wasabi import msg

from ..speed.setup import Table
from .checkout import Checkout, Versions
from .counts import count_files, count_size
from .equality import compare_results, compare_trainings, is_equal
from .speed import compare_speed

PARTS: dict[str, Callable[[Versions], Iterable[Table]]] = {
    "equality": compare_results,
    "training": compare_trainings,
    "speed": compare_speed,
    "size": count_size,
    "files": count_files,
}
ENCODERS = {"small": "all-MiniLM-L6-v2", "base": "all-mpnet-base-v2"}


def main(
    old: Annotated[Path, typer.Argument(help="The checkout before")],
    new: Annotated[Path, typer.Argument(help="The checkout after")],
    corpora: Annotated[Path, typer.Argument(help="Folder with the corpora")],
    only: Annotated[
        str, typer.Option(help="What to compare, with commas between")
    ] = ",".join(PARTS),
    quick: Annotated[
        bool, typer.Option(help="The source small and the demo only")
    ] = False,
    source: Annotated[
        list[str] | None, typer.Option(help="A shipped source, if not all are used")
    ] = None,
    encoders: Annotated[
        Path, typer.Option(help="Folder with the sources' encoders")
    ] = Path("assets/encoders"),
    output: Annotated[Path | None, typer.Option(help="JSON file for all")] = None,
) -> None:
    """Compare results, speed and size of two checkouts of the project."""
    parts = [part.strip() for part in only.split(",")]
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        choice = f"Choose: {', '.join(PARTS)}"
        msg.fail(f"Can't compare {', '.join(unknown)}", choice, exits=1)
    sources = source or (["small"] if quick else [*ENCODERS])
    folders = {name: (encoders / ENCODERS[name]).resolve() for name in sources}
    tables: dict[str, list[Table]] = {}
    with TemporaryDirectory() as folder:
        setup = Versions(
            Checkout("old", old, Path(folder)),
            Checkout("new", new, Path(folder)),
            corpora,
            sources,
            {name: str(path) for name, path in folders.items() if path.is_dir()},
            quick,
        )
        for part in parts:
            tables[part] = []
            for table in PARTS[part](setup):
                table.show()
                tables[part].append(table)
    if output is not None:
        found = {
            part: {table.title: table.results for table in made}
            for part, made in tables.items()
        }
        srsly.write_json(output, found)
    compared = [*tables.get("equality", []), *tables.get("training", [])]
    if not all(map(is_equal, compared)):
        msg.fail("The versions differ", exits=1)


if __name__ == "__main__":
    typer.run(main)
