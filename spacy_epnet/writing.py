"""One way to write an output: it is there whole, or what was there before is.

While something is written, a hidden folder beside its place has

lock      a file that the process which writes keeps locked
new/      what is written
whole/    what new/ is called as soon as files that belong together are all there
old/      what waits until the new has taken its place

What a process that was killed leaves of it is brought to an end by the next one that
writes something to the same folder.
"""

import ctypes
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, TypeAlias

from .errors import CorpusError

if sys.platform != "win32":
    import fcntl

MayReplace: TypeAlias = Callable[[Path], bool]

PREFIX = ".epnet-"
LOCK, NEW, WHOLE, OLD = "lock", "new", "whole", "old"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Of Linux, for paths as they are and for changing places.
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def refuse(folder: Path) -> bool:
    """Leave any folder as it is."""
    return False


@contextmanager
def write_whole(output: Path, *, may_replace: MayReplace = refuse) -> Iterator[Path]:
    """Make a file or folder that is there whole or not at all. What is there before
    stays until then.

    output (Path): Where it is to be. A file there is replaced. A link stays, and what
        it points to is replaced.
    may_replace (Callable[[Path], bool]): Whether a folder that is there is replaced
        as well.
    YIELDS (Path): Where to write it. It is moved to its place when all went well.
    """
    with write_together([output], may_replace=may_replace) as (path,):
        yield path


@contextmanager
def write_together(
    outputs: Sequence[Path], *, may_replace: MayReplace = refuse
) -> Iterator[list[Path]]:
    """Make several files of a folder, of which all are there or none.

    outputs (Sequence[Path]): Where they are to be.
    may_replace (Callable[[Path], bool]): If it is only one, whether a folder that is
        there is replaced.
    YIELDS (List[Path]): Where to write each.
    """
    for output in outputs:
        check_replaceable(output, may_replace)
    places = [find_place(output) for output in outputs]
    parent = places[0].parent
    if any(place.parent != parent for place in places):
        raise CorpusError(outputs[-1], f"it belongs beside {places[0]}, and is a link")
    parent.mkdir(parents=True, exist_ok=True)
    settle_left_overs(parent)
    work: Path | None = None
    try:
        with hold_signals():
            work, lock = _open_work(parent)
            (work / NEW).mkdir()
            (work / OLD).mkdir()
        yield [work / NEW / place.name for place in places]
        with hold_signals():
            _put_in_place(work, places)
    finally:
        if work is not None:
            with hold_signals():
                _settle(work)
                if lock is not None:
                    lock.close()


def _put_in_place(work: Path, places: list[Path]) -> None:
    """Move what was written to its place."""
    if len(places) == 1:
        (place,) = places
        _replace(work / NEW / place.name, place, aside=work / OLD / place.name)
        return
    for place in places:
        if place.exists():
            shutil.copy2(place, work / OLD / place.name)
    os.replace(work / NEW, work / WHOLE)
    try:
        for place in places:
            os.replace(work / WHOLE / place.name, place)
    except OSError:
        for place in places:
            _put_back(work, place)
        os.replace(work / WHOLE, work / NEW)
        raise


def _replace(new: Path, place: Path, *, aside: Path) -> None:
    """Move something to its place. What is there, and can't be replaced in one step
    because it is a folder, or a folder comes, waits aside if they can't change places.
    """
    if not place.exists() or not (place.is_dir() or new.is_dir()):
        os.replace(new, place)
    elif not exchange(new, place):
        os.replace(place, aside)
        try:
            os.replace(new, place)
        except BaseException:
            os.replace(aside, place)
            raise


def _put_back(work: Path, place: Path) -> None:
    """Undo what was done to one of several places."""
    if (work / OLD / place.name).exists():
        os.replace(work / OLD / place.name, place)
    elif not (work / WHOLE / place.name).exists():
        place.unlink()


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places in one step, so that there is no moment
    with neither.

    one (Path): The one.
    other (Path): The other.
    RETURNS (bool): Whether the system and its disk can do so.
    """
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    paths = AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other)
    return rename is not None and rename(*paths, RENAME_EXCHANGE) == 0


def settle_left_overs(folder: Path) -> None:
    """Bring to an end what processes that were killed have left in a folder. What was
    there is there again, and nothing else.

    folder (Path): The folder.
    """
    for work in folder.glob(f"{PREFIX}*"):
        # What can't be locked is in use, or another user's.
        with suppress(OSError):
            names = {path.name for path in work.iterdir()}
            if names <= {LOCK, NEW, WHOLE, OLD} and not work.is_symlink():
                with _lock(work), hold_signals():
                    _settle(work)


def _settle(work: Path) -> None:
    """End some writing, whatever has been done of it."""
    for new in (work / WHOLE).glob("*"):
        os.replace(new, work.parent / new.name)
    for old in (work / OLD).glob("*"):
        if not (work.parent / old.name).exists():
            os.replace(old, work.parent / old.name)
    shutil.rmtree(work, ignore_errors=True)


def _open_work(parent: Path) -> tuple[Path, IO | None]:
    """Make a folder to write in, locked where there are locks."""
    while True:
        work = Path(mkdtemp(dir=parent, prefix=PREFIX))
        try:
            return work, _lock(work)
        except (FileNotFoundError, BlockingIOError):
            continue  # another process was quicker, and took it for a left-over
        except OSError:
            return work, None


def _lock(work: Path) -> IO:
    """Lock the folder of a process, until the file is closed or the process ends."""
    if sys.platform == "win32":
        raise OSError("there are no locks")
    file = (work / LOCK).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (work / LOCK).stat()  # is it still there?
    except BaseException:
        file.close()
        raise
    return file


@contextmanager
def hold_signals() -> Iterator[None]:
    """Let Ctrl-C, and the signal to terminate, wait until something is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: dict[int, None] = {}
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: old for number, old in handlers.items() if old is not None}
    try:
        for number in before:
            signal.signal(number, lambda number, frame: held.setdefault(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            signal.raise_signal(number)


def find_place(path: Path) -> Path:
    """Where a path really is, which may be written with links."""
    return Path(os.path.realpath(path))


def check_replaceable(output: Path, may_replace: MayReplace = refuse) -> None:
    """Refuse to replace what isn't ours.

    output (Path): What is to be written.
    may_replace (Callable[[Path], bool]): Whether a folder that is there is replaced.
    """
    if output.is_dir():
        if not may_replace(output):
            what = "there is a folder at this place, with other files than are written"
            raise CorpusError(output, what)
    elif output.exists() and not output.is_file():
        what = "it is a device or a pipe. What is written is moved to its place when it"
        raise CorpusError(output, f"{what} is whole, so give a file or a folder")


def check_places(
    outputs: Iterable[Path | None], inputs: Iterable[Path | str | None]
) -> None:
    """Refuse to write what is read, a part of it, or something that it is a part of,
    and the same of two things that are written.

    outputs (Iterable[Optional[Path]]): What is to be written. None isn't.
    inputs (Iterable[Union[Path, str, None]]): The files and folders that are read, as
        far as there are any of that name.
    """
    given = [Path(path) for path in inputs if path is not None]
    taken = [find_place(path) for path in given if path.exists()]
    for output in filter(None, outputs):
        place = find_place(output)
        for other in taken:
            if place == other or place in other.parents or other in place.parents:
                what = "it can't be written, because it is used already, or a part of"
                raise CorpusError(output, f"{what} what is used: {other}")
        taken.append(place)
