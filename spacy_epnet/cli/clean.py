import shutil
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer

from ..console import msg
from ..errors import CorpusError
from ..writing import find_place
from ._app import epnet_cli, report_errors

LOCK_FILE = "project.lock"


@epnet_cli.command("clean")
def clean_cli(
    project_dir: Annotated[
        Path, typer.Argument(help="Folder of a spaCy project", file_okay=False)
    ] = Path(),
    keep: Annotated[
        list[Path] | None,
        typer.Option(help="Folder in which nothing is removed, such as assets"),
    ] = None,
) -> None:
    """
    Remove what the commands of a spaCy project have made: the outputs that its
    project.lock names, if they are what they were then. What was changed since, or
    put beside them, stays.

    Example: spacy epnet clean --keep assets
    """
    kept = [find_place(project_dir / path) for path in keep or []]
    changed = []
    with report_errors("Not everything was removed"):
        for path, checksum in list_outputs(project_dir):
            place = find_place(path)
            if any(folder in (place, *place.parents) for folder in kept):
                continue
            if is_unchanged(path, checksum):
                remove(path, project_dir)
            else:
                changed.append(path)
    for path in changed:
        msg.warn("Left, because it was changed since it was made", str(path))
    msg.good("Removed what the commands of the project have made")


def list_outputs(project_dir: Path) -> list[tuple[Path, str]]:
    """List the outputs of a project that exist, with their checksums when made."""
    lock_file = project_dir / LOCK_FILE
    entries: Any = srsly.read_yaml(lock_file) if lock_file.exists() else {}
    try:
        outputs = [
            (project_dir / output["path"], output["md5"])
            for entry in entries.values()
            for output in entry["outs"]
        ]
    except (AttributeError, KeyError, TypeError) as err:
        raise CorpusError(lock_file, "it isn't what spacy project writes") from err
    root = find_place(project_dir)
    return [
        (path, checksum)
        for path, checksum in outputs
        if path.exists() and root in find_place(path).parents
    ]


def is_unchanged(path: Path, checksum: str | None) -> bool:
    """Check whether a file or folder still has its checksum."""
    from weasel.util import get_checksum

    is_plain = path.is_file() or path.is_dir()
    return is_plain and not path.is_symlink() and get_checksum(path) == checksum


def remove(path: Path, project_dir: Path) -> None:
    """Remove a file or folder, and the folders that are empty without it."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    for folder in path.parents:
        if folder == project_dir or any(folder.iterdir()):
            break
        folder.rmdir()
