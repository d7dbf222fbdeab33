"""Where commands may write, which is found out before any work is done."""

from collections.abc import Iterable
from pathlib import Path

from ..errors import CorpusError
from ..recognizer.pipeline import is_pipeline
from ..writing import MayReplace, check_places, check_replaceable


def check_files(
    files: Iterable[Path | None], inputs: Iterable[Path | str | None]
) -> None:
    """Refuse places where files would replace something that is read, or no file.

    files (Iterable[Optional[Path]]): The files that are written. None isn't.
    inputs (Iterable[Union[Path, str, None]]): All that is read, as far as it is there.
    """
    made = [path for path in files if path is not None]
    check_places(made, inputs)
    for path in made:
        check_replaceable(path)


def check_folder(
    output: Path,
    inputs: Iterable[Path | str | None],
    files: Iterable[Path | None] = (),
    *,
    may_replace: MayReplace = is_pipeline,
) -> None:
    """Refuse places where a folder would replace something else.

    output (Path): The folder.
    inputs (Iterable[Union[Path, str, None]]): All that is read, as far as it is there.
    files (Iterable[Optional[Path]]): Files that are written besides.
    may_replace (Callable[[Path], bool]): Which folders are replaced.
    """
    made = [path for path in files if path is not None]
    check_places([output, *made], inputs)
    if output.is_file():
        raise CorpusError(output, "there is a file at this place")
    check_replaceable(output, may_replace)
    for path in made:
        check_replaceable(path)
