"""The code of the README and the tutorial runs as it stands there."""

import shutil

import pytest
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli
from spacy_epnet.encoder.download import ENCODERS, fetch_encoder
from spacy_epnet.sources.catalog import PACKED, make_source
from spacy_epnet.sources.packing import read_manifest

from .conftest import ROOT
from .util.pages import read_blocks

OURS = ["python", "-m", "spacy", "epnet"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    encoder = ENCODERS[read_manifest(PACKED / "small").encoder]
    fetched = fetch_encoder(encoder, ROOT / "assets" / "encoders")
    make_source("small", encoder=str(fetched), cache=folder)
    return folder


@pytest.fixture
def workplace(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_EPNET_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_page(text, capsys):
    """Run the Python and the commands of a page in order, and check what is printed."""
    names = {}
    for block in read_blocks(text):
        if block.language == "python":
            capsys.readouterr()
            exec(block.code, names)
            expected = [
                line.removeprefix("# ")
                for line in block.code.splitlines()
                if line.startswith("# ")
            ]
            printed = capsys.readouterr().out.splitlines()
            assert not expected or printed == expected
        for words in block.commands:
            if words[:4] == OURS and words[4] in ("adapt", "recognize", "annotate"):
                result = CliRunner().invoke(epnet_cli, words[4:])
                assert result.exit_code == 0, result.output


def test_the_tutorial_runs(workplace, capsys):
    run_page((ROOT / "docs" / "tutorial.md").read_text(encoding="utf8"), capsys)


def test_the_readme_runs(workplace, capsys):
    shutil.copytree(ROOT / "assets" / "demo", workplace / "assets" / "demo")
    (workplace / "notes.jsonl").write_text('{"text": "Juno reached Jupiter."}\n')
    run_page((ROOT / "README.md").read_text(encoding="utf8"), capsys)
