"""What holds for the tests themselves."""

import ast

from .conftest import ROOT

TESTS = ROOT / "tests"


def test_what_tests_share_is_in_one_place():
    for path in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.ImportFrom):
                names = [*(node.module or "").split("."), *(a.name for a in node.names)]
                modules = [name for name in names if name.startswith("test_")]
                assert not modules, f"{path} imports {modules}: use tests/util"
