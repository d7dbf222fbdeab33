import pytest
from spacy.cli._util import import_code

from ..util.annotating_tools import FATAL, make_ruler, use_no_processes


@pytest.fixture(scope="module")
def ruler(tmp_path_factory):
    return make_ruler(tmp_path_factory.mktemp("ruler"))


@pytest.fixture
def here(monkeypatch):
    return use_no_processes(monkeypatch)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "fatal.py"
    path.write_text(FATAL)
    import_code(path)
    return path


@pytest.fixture(scope="module")
def fatal(tmp_path_factory, code):
    return make_ruler(tmp_path_factory.mktemp("fatal"), fatal=True)
