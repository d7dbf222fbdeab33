"""List, open and decode files, which may be packed and may be damaged."""

import fnmatch
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import srsly

from ..errors import CorpusError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Progress: TypeAlias = Callable[[int], object]  # gets the bytes read from the disk
GZIP_MAGIC = b"\x1f\x8b"
BOM = "\ufeff"
# How much larger a packed file may become, unless it is small even so.
MAX_UNPACKED = 200
ALWAYS_UNPACKED = 100_000_000
BUFFER = 1 << 16
MAX_LINE = 1 << 26  # bytes, because a file may be one line without an end


def list_files(inputs: Iterable[Path], pattern: str = "*") -> list[Path]:
    """List files, and those in folders whose names fit a pattern, sorted by name."""
    files = []
    for path in inputs:
        if not path.exists():
            raise CorpusError(path, "there is no such file or folder")
        if path.is_dir():
            found = sorted(
                folder / name
                for folder, names in walk(path)
                for name in fnmatch.filter(names, pattern)
            )
            if not found:
                raise CorpusError(path, f"the folder has no files like {pattern}")
            files += found
        elif path.is_file():
            files.append(path)
        else:
            raise CorpusError(path, "not a file that can be read more than once")
    return files


def walk(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Find all folders in a folder, itself included, and the names of their files,
    except hidden ones. Links to other folders in it are an error, because they aren't
    followed, and their files would be missing. Links within it are ignored.
    """

    def refuse(error: OSError) -> None:
        reason = f"can't be read: {error.strerror or error}"
        raise CorpusError(Path(error.filename or folder), reason) from error

    root = folder.resolve()
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            link = Path(parent, name)
            if link.is_symlink() and not link.resolve().is_relative_to(root):
                raise CorpusError(
                    link,
                    "it is a link to a folder, which isn't followed. Give that folder "
                    "as one more input, or remove the link",
                )
        shown = [name for name in names if not name.startswith(".")]
        yield Path(parent), [name for name in shown if Path(parent, name).is_file()]


class _CountedFile(io.FileIO):
    """Report how much has been read."""

    def __init__(self, path: Path, progress: Progress):
        super().__init__(path)
        self.progress = progress

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        count = super().readinto(buffer)
        self.progress(count or 0)
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self.progress(len(data))
        return data


class _UnpackedFile(io.RawIOBase):
    """Unpack a gzip file, up to a size."""

    def __init__(self, path: Path, file: IO[bytes]):
        self.path = path
        self.size = 0
        self._unpacked = gzip.GzipFile(fileobj=file, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        count = self._unpacked.readinto(buffer)
        self.size += count
        check_unpacked(self.size, self.path)
        return count


def check_unpacked(size: int, path: Path) -> None:
    """Refuse a packed file that would fill the memory, by its size so far in bytes."""
    bound = max(ALWAYS_UNPACKED, MAX_UNPACKED * path.stat().st_size)
    if size > bound:
        raise CorpusError(
            path,
            f"refused: it unpacks to more than {bound:,} bytes, which is more than "
            f"{MAX_UNPACKED} times its size. Make several files of it",
        )


@contextmanager
def open_binary(
    path: Path, progress: Progress = lambda count: None
) -> Iterator[IO[bytes]]:
    """Open a file, and unpack it if it is packed."""
    try:
        with io.BufferedReader(_CountedFile(path, progress)) as file:
            if file.peek(2)[:2] == GZIP_MAGIC:
                with io.BufferedReader(_UnpackedFile(path, file), BUFFER) as unpacked:
                    yield unpacked
            else:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as err:
        raise CorpusError(path, f"the gzip file is damaged: {err}") from err
    except OSError as err:
        raise CorpusError(path, f"can't be read: {err.strerror or err}") from err


def read_binary_lines(path: Path, progress: Progress) -> Iterator[bytes | None]:
    """Read the lines of a file, each with its line feed, or None if it has more than
    `MAX_LINE` bytes. Nothing else ends a line.
    """
    with open_binary(path, progress) as file:
        while line := file.readline(MAX_LINE):
            if len(line) < MAX_LINE or line.endswith(b"\n"):
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield None


def read_lines(
    path: Path, progress: Progress, on_error: Callable[[CorpusError], None]
) -> Iterator[tuple[int, str | None]]:
    """Read the lines of a text file, without their line feeds, and the number of each
    from 1. One that can't be read is None, after `on_error` was called.
    """
    for number, data in enumerate(read_binary_lines(path, progress), 1):
        try:
            if data is None:
                raise CorpusError(path, f"longer than {MAX_LINE:,} bytes", number)
            line = decode(data, path, number).rstrip("\r\n")
        except CorpusError as err:
            on_error(err)
            yield number, None
        else:
            yield number, line.removeprefix(BOM) if number == 1 else line


def read_text(
    path: Path, progress: Progress = lambda count: None, *, errors: str = "strict"
) -> str:
    """Read a text file. The arguments are those of `open_binary` and `decode`."""
    with open_binary(path, progress) as file:
        return decode(file.read(), path, errors=errors).removeprefix(BOM)


def decode(
    data: bytes, path: Path, line: int | None = None, *, errors: str = "strict"
) -> str:
    """Decode a line, or all lines of a file, or raise an error that says where they
    aren't UTF-8. So do NUL characters, which are what UTF-16 looks like.
    """
    start = data.find(b"\0")
    reason = "NUL characters, as in UTF-16. Save it as UTF-8"
    cause = None
    if start == -1:
        try:
            return data.decode("utf8", errors)
        except UnicodeDecodeError as err:
            start, reason, cause = err.start, err.reason, err
    if line is None:
        line = data.count(b"\n", 0, start) + 1
    raise CorpusError(path, f"not UTF-8: {reason}", line) from cause


def load_json(text: str) -> Any:
    """Parse JSON, and refuse what can't be written again: halves of characters, which
    srsly doesn't survive in a key.
    """
    data = srsly.json_loads(text)
    try:
        json.dumps(data, ensure_ascii=False).encode("utf8")
    except RecursionError as err:
        raise ValueError("it is nested too deeply") from err
    return data


def get_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
