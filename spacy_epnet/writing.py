"""Write files and folders so that the old output stays until the new one is complete.

An output is written in a hidden folder beside it, which only this process uses:

.epnet-KEY-RANDOM/     KEY stands for the output's name
├── .epnet-lock        locked until the process ends, however it ends
├── .epnet-new/NAME    what is written
└── .epnet-old/NAME    the old output, for a moment, if the disk can't exchange folders

When it is complete it is exchanged with the old output in one step. What killed
processes left is deleted by the next one that writes the same output. Nothing that is
found on the disk is ever moved, and no other folder is touched.
"""

import ctypes
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeAlias

from .errors import CorpusError
from .signals import hold_signals

if TYPE_CHECKING:
    from filelock import FileLock

MayReplace: TypeAlias = Callable[[Path], bool]

PREFIX = ".epnet-"
LOCK, NEW, OLD = f"{PREFIX}lock", f"{PREFIX}new", f"{PREFIX}old"
MOUNTS = Path("/proc/self/mountinfo")
# From the headers of Linux and macOS.
AT_FDCWD, RENAME_EXCHANGE, RENAME_SWAP = -100, 2, 2


def refuse(folder: Path) -> bool:
    """Leave any folder as it is."""
    return False


@contextmanager
def write_whole(output: Path, *, may_replace: MayReplace = refuse) -> Iterator[Path]:
    """Write a file or folder that replaces the old one when it is complete.

    output (Path): The file or folder. A file there is replaced. A link stays, and what
        it points to is replaced.
    may_replace (Callable[[Path], bool]): Whether to replace a folder that is there.
    YIELDS (Path): Where to write it. Its parent is an empty folder, for scratch files.
    """
    check_replaceable(output, may_replace)
    target = find_place(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    delete_stale(target)
    with _open_work_folder(target) as work:
        new = work / NEW / target.name
        yield new
        with hold_signals():
            check_replaceable(target, may_replace)
            _move(new, target, aside=work / OLD / target.name)
    delete_stale(target)


def _move(new: Path, target: Path, *, aside: Path) -> None:
    """Move an output to its place, in one step if the disk can do so."""
    try:
        os.replace(new, target)  # does for files, and where there is nothing
        return
    except OSError:
        if not target.exists():
            raise
    if not exchange(new, target):
        aside.parent.mkdir()
        os.replace(target, aside)
        try:
            os.replace(new, target)
        except BaseException:
            os.replace(aside, target)
            raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange two files or folders in one step, if the system and the disk can.

    RETURNS (bool): Whether they could.
    """
    paths = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None), "renameat2", None)
        ends = AT_FDCWD, paths[0], AT_FDCWD, paths[1]
        return rename is not None and rename(*ends, RENAME_EXCHANGE) == 0
    if sys.platform == "darwin":
        return bool(ctypes.CDLL(None).renamex_np(*paths, RENAME_SWAP) == 0)
    return False


@contextmanager
def _open_work_folder(target: Path) -> Iterator[Path]:
    """Make a locked folder beside an output, and delete it at the end."""
    work = None
    try:
        with hold_signals():
            work, lock = _make_work_folder(target)
        (work / NEW).mkdir()
        yield work
    finally:
        if work is not None:
            with hold_signals():
                _delete_work_folder(work, lock, target)


def _make_work_folder(target: Path) -> tuple[Path, "FileLock"]:
    # Imported here, so that importing the package stays quick.
    from filelock import FileLock, Timeout

    work = Path(mkdtemp(prefix=get_prefix(target), dir=target.parent))
    lock = FileLock(work / LOCK, blocking=False, thread_local=False)
    try:
        lock.acquire()
    except (Timeout, FileExistsError, FileNotFoundError):
        return _make_work_folder(target)  # another process took it for a stale one
    except (OSError, NotImplementedError):
        pass  # a disk without locks, on which nothing counts as stale
    return work, lock


def delete_stale(target: Path) -> None:
    """Delete what killed processes of this user left of writing an output."""
    from filelock import FileLock

    for work in _list_work_folders(target):
        with suppress(OSError, NotImplementedError):
            if not any(work.iterdir()):
                work.rmdir()  # the process was killed before it made the lock
                continue
            found = (work / LOCK).lstat()
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                with FileLock(work / LOCK, blocking=False) as lock:
                    _delete_work_folder(work, lock, target)


def _delete_work_folder(work: Path, lock: "FileLock", target: Path) -> None:
    """Delete what has a name of ours, because others can move folders into this one's
    place if they may write beside it.
    """
    if (work / OLD).exists() and not target.exists():
        # The old output couldn't be moved back. It stays until there is a new one.
        lock.release()
        (work / LOCK).touch()  # because some versions delete it
        return
    for name in (NEW, OLD):
        shutil.rmtree(work / name, ignore_errors=True)
    with suppress(OSError):  # on Windows only what isn't locked can be deleted
        (work / LOCK).unlink()
    lock.release()
    with suppress(OSError):
        (work / LOCK).unlink(missing_ok=True)
        work.rmdir()


def find_moved_aside(target: Path) -> Path | None:
    """Find where a process had moved an output aside when it was killed."""
    target = find_place(target)
    found = [work / OLD / target.name for work in _list_work_folders(target)]
    return next((path for path in found if path.exists()), None)


def _list_work_folders(target: Path) -> list[Path]:
    found = target.parent.glob(f"{get_prefix(target)}*")
    return list(filter(is_own_folder, found))


def get_prefix(target: Path) -> str:
    """RETURNS (str): What the folders are called in which an output is written."""
    return f"{PREFIX}{sha256(os.fsencode(target.name)).hexdigest()[:12]}-"


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder of this user, and no link to one."""
    try:
        found = path.lstat()
    except OSError:
        return False
    user = os.getuid() if sys.platform != "win32" else found.st_uid
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user


def find_place(path: Path) -> Path:
    """RETURNS (Path): The path without links."""
    return Path(os.path.realpath(path))


def check_outputs(
    files: Iterable[Path | None],
    inputs: Iterable[Path | str | None],
    *,
    folder: Path | None = None,
    may_replace: MayReplace = refuse,
) -> None:
    """Refuse outputs that are read, or would replace something else. To be called
    before any work begins.

    files (Iterable[Optional[Path]]): The files to write. None isn't.
    inputs (Iterable[Union[Path, str, None]]): Files and folders that are read, as far
        as there are any of that name.
    folder (Optional[Path]): A folder to write.
    """
    made = [path for path in files if path is not None]
    check_places([folder, *made], inputs)
    for path in made:
        check_replaceable(path)
    if folder is not None:
        if folder.is_file():
            raise CorpusError(folder, "there is a file at this place")
        check_replaceable(folder, may_replace)


def check_replaceable(output: Path, may_replace: MayReplace = refuse) -> None:
    """Refuse to replace what isn't ours. See `write_whole` for the arguments."""
    if is_mount_point(find_place(output)):
        what = "something is mounted at this place, such as a volume of a container, so"
        raise CorpusError(output, f"{what} it can't be replaced. Write into it instead")
    if output.is_dir():
        if not may_replace(output):
            what = "there is a folder at this place, with other files than are written"
            raise CorpusError(output, what)
    elif output.exists() and not output.is_file():
        what = "it is a device or a pipe. What is written is moved to its place when it"
        raise CorpusError(output, f"{what} is whole, so give a file or a folder")


def is_mount_point(path: Path) -> bool:
    """Whether something is mounted at a path, be it from the same disk."""
    try:
        mounts = MOUNTS.read_text(encoding="utf8", errors="surrogateescape")
    except OSError:
        return path.is_mount()
    escapes = {ord(character): f"\\{ord(character):03o}" for character in " \t\n\\"}
    return str(path).translate(escapes) in {m.split()[4] for m in mounts.splitlines()}


def check_places(
    outputs: Iterable[Path | None], inputs: Iterable[Path | str | None]
) -> None:
    """Refuse to write what is read, a part of it, or something that it is a part of,
    and the same of two things that are written. See `check_outputs`.
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
