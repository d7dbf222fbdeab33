"""Count the lines of two versions, and the files that a task crosses."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..speed.setup import Table
from .checkout import Versions
from .material import read_target

FOLDERS = ("spacy_epnet", "configs", "measurements", "tests")
SUFFIXES = (".py", ".cfg")


def count_size(setup: Versions) -> Iterator[Table]:
    """Count the lines of code and configs by folder."""
    old, new = count_lines(setup.old.path), count_lines(setup.new.path)
    rows = []
    for folder in sorted({*old, *new}):
        before, after = old[folder], new[folder]
        rows.append([folder, f"{before:,}", f"{after:,}", f"{after - before:+,}"])
    results = {"old": dict(old), "new": dict(new)}
    yield Table("size, lines", ["", "old", "new", "difference"], rows, results)


def count_lines(root: Path) -> Counter[str]:
    """Count the lines of a checkout: those of each folder, and of each in the package
    by itself.
    """
    lines: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.suffix not in SUFFIXES:
                continue
            count = len(path.read_text(encoding="utf8").splitlines())
            lines[folder] += count
            if folder == FOLDERS[0]:
                parents = path.relative_to(root).parts[:-1]
                lines["/".join([*parents[:2], ""])] += count
    return lines


def count_files(setup: Versions) -> Iterator[Table]:
    """Count the files of the package in which functions are called."""
    target = read_target("demo", setup.corpora, 1)
    case = {"support": target.draw(5, 0), "test": target.test}
    old, new = setup.run("files", source=setup.sources[0], case=case)
    rows = [
        [task, str(len(old[task])), str(len(new[task])), " ".join(new[task])]
        for task in new
    ]
    header = ["", "old", "new", "which"]
    yield Table("files that are crossed", header, rows, {"old": old, "new": new})
