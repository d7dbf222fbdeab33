"""Find the files of an input, and split it into shards."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import NamedTuple

from ..corpora.files import list_files, walk
from ..errors import CorpusError
from ..writing import find_place
from .input_formats import (
    INPUT_FORMATS,
    Content,
    Item,
    detect_format,
    escape_path,
    read_items,
)

BYTES_PER_RECORD = 1000  # a shard with more on average ends early


class Shard(NamedTuple):
    """Records that are annotated together, and become one file."""

    number: int  # from 0
    items: list[Item]
    size: int  # bytes of the input


class InputFile(NamedTuple):
    """A file to read, and its format."""

    path: Path
    format: str


@dataclass(frozen=True)
class Input:
    """Files with records, which are always split into the same shards."""

    files: list[InputFile]
    shard_size: int  # the most records of a shard, which ends earlier if they are long

    def read(self, done: Collection[int] = ()) -> Iterator[Shard]:
        """Read shards, except those that are done."""
        most = self.shard_size * BYTES_PER_RECORD
        number = 0
        sizes: list[int] = []  # of what was read since the last shard
        items: list[Item] = []
        length = 0
        for file in self.files:
            for item in read_items(file.path, file.format, sizes.append):
                items.append(item)
                length += measure(item.content)
                if len(items) >= self.shard_size or length >= most:
                    if number not in done:
                        yield Shard(number, items, sum(sizes))
                    number, items, length = number + 1, [], 0
                    sizes.clear()
        if (items or not number) and number not in done:
            yield Shard(number, items, sum(sizes))

    def describe(self) -> list[list[str | int]]:
        """Describe each file by its path, format, size and time of its last change."""
        return [
            [escape_path(path), format, path.stat().st_size, path.stat().st_mtime_ns]
            for path, format in self.files
        ]

    def get_size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.path.stat().st_size for file in self.files)


def measure(content: Content) -> int:
    """Return the approximate size of a record."""
    if isinstance(content, str | bytes):
        return len(content)
    if isinstance(content, dict):
        return sum(map(measure, content.values()))
    return 8


def open_input(
    inputs: Iterable[str],
    *,
    format: str | None,
    text_field: str,
    shard_size: int,
    output: Path | None = None,
) -> Input:
    """Find the files of an input, which are files, folders and patterns such as
    data/*.jsonl.gz that don't match the output, and check their columns.
    """
    paths = list_files(path for name in inputs for path in expand(name, output))
    once: dict[Path, Path] = {}
    for path in paths:
        once.setdefault(path.resolve(), path)
    files = [InputFile(p, format or detect_format(p)) for p in once.values()]
    for path, name in files:
        header = find_header(path, name) or []
        if header and text_field not in header:
            columns = ", ".join(header)
            raise CorpusError(
                path,
                f"there is no column '{text_field}' to annotate. Name the one that has "
                f"the text with --text-field. There are: {columns}",
            )
        twice = [column for column, count in Counter(header).items() if count > 1]
        if twice:
            reason = f"several columns have the same name: {', '.join(twice)}"
            raise CorpusError(path, f"{reason}. Rename all but one of each")
    return Input(files, shard_size)


def find_header(path: Path, format_name: str) -> list[str] | None:
    """Read the columns of a file, None if its format has no columns. A file that can't
    be read has none, which is reported when its records are read.
    """
    read_header = INPUT_FORMATS[format_name].read_header
    try:
        return None if read_header is None else read_header(path)
    except CorpusError:
        return []


def expand(name: str, without: Path | None = None) -> list[Path]:
    """Expand a pattern to files, or else folders, or return the path if it is none. A
    folder to do without is never matched, nor anything in it.
    """
    path = Path(name)
    if path.exists() or not set(name) & set("*?["):
        return [path]
    found = sorted(_match(path))
    if without is not None:
        hidden = find_place(without)
        found = [p for p in found if not find_place(p).is_relative_to(hidden)]
    if not found:
        raise CorpusError(path, "no file matches this pattern")
    return [each for each in found if each.is_file()] or found


def _match(pattern: Path) -> set[Path]:
    """Find the paths that a pattern matches. As ** never follows links, which may form
    circles, this isn't left to `glob`.
    """
    if "**" not in pattern.parts:
        return {Path(each) for each in glob(str(pattern))}
    first = pattern.parts.index("**")
    base, rest = Path(*pattern.parts[:first]), pattern.parts[first + 1 :] or ("*",)
    bases = [Path(each) for each in glob(str(base))] if first else [Path()]
    folders = {path for each in bases if each.is_dir() for path, _ in walk(each)}
    return {p for path in folders for p in _match(Path(escape(str(path)), *rest))}
