"""The order of the folders, which docs/architecture.md states and imports keep."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    # The base class is one thing in one place, as spaCy's `SpanCategorizer` is.
    base = PACKAGE / "recognizer" / "base.py"
    for path in PACKAGE.rglob("*.py"):
        most = 600 if path == base else 350
        assert len(path.read_text(encoding="utf8").splitlines()) <= most, path


# Public, although their names look otherwise.
PUBLIC = {"_", "_asdict", "_replace", "_exit", "_typeshed"}


def is_private(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not is_special and name not in PUBLIC


def list_own(tree: ast.AST) -> Iterator[str]:
    """The names that a module defines, also as attributes of its classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from {node.attr} if ast.unparse(node.value) == "self" else ()


def list_private(tree: ast.AST) -> Iterator[str]:
    """What a module uses that is private to an object or package not its own."""
    own = set(list_own(tree))
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner not in ("self", "cls", "super()") and node.attr not in own:
                names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [*(node.module or "").split("."), *(a.name for a in node.names)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("attr"):
            names = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
        if any(map(is_private, names)):
            yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("shim._model", True),
        ("self._model.x", False),
        ("self.shim._model", True),
        ("getattr(shim, '_model', None)", True),
        ("from spacy.cli._util import app", True),
        ("from .cli._app import app", False),
        ("from thinc.api import _x", True),
        ("class A:\n  def _f(self): pass\nA()._f()", False),
        ("doc._.x, gold._replace(a=1), x.__class__", False),
    ],
)
def test_uses_of_private_attributes_are_found(code, is_found):
    assert bool(list(list_private(ast.parse(code)))) == is_found


def test_what_is_private_to_other_packages_stands_in_one_file():
    for path in PACKAGE.rglob("*.py"):
        position = path.relative_to(PACKAGE)
        if position.name != "_compat.py":
            found = list(list_private(ast.parse(path.read_text(encoding="utf8"))))
            assert not found, f"{position}: {found}"
