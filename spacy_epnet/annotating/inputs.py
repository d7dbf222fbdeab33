"""The input as a whole: its files, and the shards that it is cut into."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from ..corpora.files import list_files
from ..errors import CorpusError
from ..writing import find_place
from .records import FORMATS, Item, read_items, show_path

BYTES_PER_RECORD = 1000  # how many make a shard end early


class Shard(NamedTuple):
    """Records that are annotated together, and become one file."""

    number: int
    items: list[Item]
    size: int  # bytes of the input


class InputFile(NamedTuple):
    """A file to read, and how."""

    path: Path
    format: str


@dataclass(frozen=True)
class Source:
    """The shards of an input, which are the same whenever it is read.

    files (List[InputFile]): The files.
    shard_size (int): Records in a shard, at most. It ends earlier if they are long.
    """

    files: list[InputFile]
    shard_size: int

    def read(self, is_done: Callable[[int], bool] = lambda n: False) -> Iterator[Shard]:
        """Read shards.

        is_done (Callable[[int], bool]): Which are left out, by their numbers.
        YIELDS (Shard): The others, in order.
        """
        number = 0
        counted = _Counter()
        items: list[Item] = []
        length = 0
        for file in self.files:
            for item in read_items(file.path, file.format, counted.add):
                items.append(item)
                length += measure(item.content)
                if self.is_full(len(items), length):
                    if not is_done(number):
                        yield Shard(number, items, counted.take())
                    number, items, length = number + 1, [], 0
                    counted.take()
        if (items or not number) and not is_done(number):
            yield Shard(number, items, counted.take())

    def is_full(self, count: int, length: int) -> bool:
        return count >= self.shard_size or length >= self.shard_size * BYTES_PER_RECORD

    def describe(self) -> list[list[Any]]:
        """RETURNS (List[list]): What tells this input from another, of each file."""
        return [
            [show_path(path), format, path.stat().st_size, path.stat().st_mtime_ns]
            for path, format in self.files
        ]

    def get_size(self) -> int:
        """RETURNS (int): The bytes of all files."""
        return sum(file.path.stat().st_size for file in self.files)


class _Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, count: int) -> None:
        self.count += count

    def take(self) -> int:
        count, self.count = self.count, 0
        return count


def measure(content: Any) -> int:
    """About how much a record holds."""
    if isinstance(content, str | bytes):
        return len(content)
    if isinstance(content, dict):
        return sum(map(measure, content.values()))
    return 8


def open_source(
    inputs: Iterable[str],
    *,
    format: str | None,
    text_field: str,
    shard_size: int,
    output: Path | None = None,
) -> Source:
    """Find the files of an input, and see that they can be read.

    inputs (Iterable[str]): Files, folders and patterns such as data/*.jsonl.gz.
    format (Optional[str]): A key of `FORMATS`. Told by the names of files by default.
    text_field (str): The field with the text.
    shard_size (int): Records in a shard.
    output (Optional[Path]): A folder that no pattern fits.
    RETURNS (Source): The input.
    """
    paths = list_files(path for name in inputs for path in expand(name, output))
    once = {path.resolve(): path for path in reversed(paths)}
    files = [
        InputFile(path, format or tell_format(path))
        for path in paths
        if once.pop(path.resolve(), None) is not None
    ]
    for path, name in files:
        header = find_header(path, name)
        if header and text_field not in header:
            columns = ", ".join(header)
            raise CorpusError(
                path,
                f"there is no column '{text_field}' to annotate. Name the one that has "
                f"the text with --text-field. There are: {columns}",
            )
    return Source(files, shard_size)


def find_header(path: Path, format_name: str) -> list[str]:
    """The columns of a file. A file that can't be read has none, and is rejected when
    its turn comes.
    """
    read_header = FORMATS[format_name].read_header
    try:
        return [] if read_header is None else read_header(path)
    except CorpusError:
        return []


def expand(name: str, without: Path | None = None) -> list[Path]:
    """The paths that a pattern fits, or the path that is meant.

    name (str): The pattern or the path. A pattern may fit files, or else folders.
    without (Optional[Path]): A folder that it doesn't fit, nor anything in it, which
        may be written when it is read again.
    RETURNS (List[Path]): The paths.
    """
    path = Path(name)
    if path.exists() or not set(name) & set("*?["):
        return [path]
    found = [Path(each) for each in sorted(glob(name, recursive=True))]
    if without is not None:
        hidden = find_place(without)
        found = [p for p in found if not find_place(p).is_relative_to(hidden)]
    if not found:
        raise CorpusError(path, "nothing fits this pattern")
    return [each for each in found if each.is_file()] or found


def tell_format(path: Path) -> str:
    """Tell the format of a file by its name."""
    name = path.name.lower().removesuffix(".gz")
    for format_name, each in FORMATS.items():
        if name.endswith(each.suffixes):
            return format_name
    names = ", ".join(FORMATS)
    raise CorpusError(
        path,
        "the format can't be told from the name of the file. Name it with "
        f"--input-format: {names}",
    )
