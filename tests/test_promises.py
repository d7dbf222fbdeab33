"""What the docs promise is held by tests, which notice when it is broken."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from .conftest import ROOT

COPIED = ["spacy_epnet", "tests", "docs", "configs", "measurements"]
COPIED += ["assets/demo", "assets/toy"]  # and no encoders
PROMISES = tomllib.loads((ROOT / "tests" / "promises.toml").read_text("utf8"))
PROMISES = {promise["says"]: promise for promise in PROMISES["promise"]}
TESTS = sorted({test for promise in PROMISES.values() for test in promise["tests"]})
FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)
LONGEST = 900  # seconds


def get_file(test):
    return test.partition("::")[0]


def run_tests(folder, tests):
    """Run tests in a copy. RETURNS (Set[str]): Those that failed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rfE", *tests]
    # Not as one of the processes of pytest-xdist, and with this copy of the package.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    environment |= {
        "PYTHONPATH": str(folder),
        "COLUMNS": "1000",
        "OMP_NUM_THREADS": "1",
    }
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf8",
        timeout=LONGEST,
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return set(FAILURE.findall(result.stdout))


def has_failed(test, failed):
    """Whether a test is among those that failed, or one of its parametrizations is."""
    return any(each == test or each.startswith(f"{test}[") for each in failed)


@pytest.fixture(scope="session")
def copy(tmp_path_factory):
    """A copy of the checkout, to be broken and mended again."""
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    return folder


@pytest.mark.parametrize("says", PROMISES)
def test_a_promise_stands_on_its_page_and_can_be_broken(says):
    promise = PROMISES[says]
    page = (ROOT / promise["page"]).read_text(encoding="utf8")
    assert promise["quote"] in " ".join(page.split())
    code = (ROOT / promise["file"]).read_text(encoding="utf8")
    assert code.count(promise["text"]) == 1
    broken = code.replace(promise["text"], promise["replacement"])
    assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(code))


@pytest.mark.parametrize("test", TESTS)
def test_a_test_that_holds_a_promise_is_there(test):
    file, _, name = test.partition("::")
    code = (ROOT / file).read_text(encoding="utf8")
    assert f"\ndef {name.partition('[')[0]}(" in code


def test_each_promise_is_there_once():
    text = (ROOT / "tests" / "promises.toml").read_text(encoding="utf8")
    assert len(PROMISES) == text.count("[[promise]]")


@pytest.mark.breaks
@pytest.mark.parametrize("file", sorted({get_file(test) for test in TESTS}))
def test_nothing_fails_without_a_break(copy, file):
    assert run_tests(copy, [test for test in TESTS if get_file(test) == file]) == set()


@pytest.mark.breaks
@pytest.mark.parametrize("says", PROMISES)
def test_a_break_is_noticed(copy, says):
    promise = PROMISES[says]
    path = copy / promise["file"]
    code = path.read_text(encoding="utf8")
    path.write_text(code.replace(promise["text"], promise["replacement"]), "utf8")
    try:
        failed = run_tests(copy, promise["tests"])
    finally:
        path.write_text(code, encoding="utf8")
    assert [test for test in promise["tests"] if not has_failed(test, failed)] == []
