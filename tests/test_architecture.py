"""The order of the folders, which docs/architecture.md states and imports keep."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .conftest import ROOT

PACKAGE = ROOT / "spacy_epnet"
# What stands beside the folders may be known to all of them.
SHARED = {path.stem for path in PACKAGE.glob("*.py")}


def read_order() -> list[str]:
    """The folders in the order in which the page lists them."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    return re.findall(r"^      (\w+)/ ", text, flags=re.MULTILINE)


def list_imports(path: Path) -> Iterator[str]:
    """The folders or files of the package that a file imports from."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names = [*base, *(node.module or "").split(".")]
            targets = [[*names, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for first, *others in targets:
            if first == "spacy_epnet" and any(others):
                yield next(filter(None, others))


def test_each_folder_imports_only_those_before_it():
    order = read_order()
    assert set(order) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    for folder in order:
        known = {*order[: order.index(folder) + 1], *SHARED} - {"baselines"}
        if folder == "baselines":
            known.add(folder)
        for path in (PACKAGE / folder).rglob("*.py"):
            unknown = {*list_imports(path)} - known
            assert not unknown, f"{path.relative_to(ROOT)} imports {unknown}"


def test_files_stay_short():
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text(encoding="utf8").splitlines()) <= 320, path
