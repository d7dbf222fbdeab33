"""Where commands may write, and what they print where."""

import io
import sys

import pytest
import srsly
from typer.testing import CliRunner

from spacy_epnet import writing
from spacy_epnet.cli import epnet_cli
from spacy_epnet.errors import CorpusError
from spacy_epnet.training.loop import check_training_places
from spacy_epnet.writing import PREFIX

from ..conftest import ROWS
from ..util.faults import make_pipe

# What is read is no pipeline and no corpus, so that all else than the places of the
# outputs would be told, if it came first.
WRONG = [
    "adapt source corpus.spacy source",
    "adapt source corpus.spacy source/new",
    "adapt source corpus.spacy .",
    "adapt source corpus.spacy out --report corpus.spacy",
    "adapt source corpus.spacy out --report source/meta.json",
    "adapt source corpus.spacy out --report out/report.json",
    "recognize source --file texts.txt --html texts.txt",
    "recognize source --marked corpus.spacy --html link.png",
    "recognize source Ada --html source/page.html",
    "mistakes source corpus.spacy --output corpus.spacy",
    "mistakes source corpus.spacy --output source/mistakes.json",
    "benchmark source corpus.spacy corpus.spacy --output corpus.spacy",
    "benchmark source corpus.spacy corpus.spacy --given set.spacy --output set.json",
    "benchmark source corpus.spacy corpus.spacy --output source/results.json",
    "episodes source corpus.spacy --output corpus.spacy",
    "episodes source corpus.spacy --output source/results.json",
    "sweep source corpus.spacy corpus.spacy --set adapt.lr=1 --output corpus.spacy",
    "sweep source corpus.spacy corpus.spacy --set adapt.lr=1 --output x --plot x/y.png",
    "plot prototypes mine=source --output source/plot.png",
    "plot spans source corpus.spacy --output link.png",
    "compare run/results.json --output run/results.json",
    "convert rows.txt x.spacy --report rows.txt",
    "convert rows.txt x.spacy --report x.spacy",
    "convert rows.txt x.spacy --hold-out x.spacy",
    "convert rows.txt x.spacy --groups texts.txt --report texts.txt",
    "convert run x.spacy --report run/report.json",
    "sample corpus.spacy corpus.spacy",
    "sample corpus.spacy set.spacy --indices set.json",
    "mark-missing source corpus.spacy corpus.spacy",
    "mark-missing source corpus.spacy source/x.spacy",
    "pack source encoder source/packed",
    "pack source encoder encoder",
    "source small --encoder encoder --output encoder/small",
    "report run --output run/results.json",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("source", "encoder", "run"):
        (tmp_path / name).mkdir()
    for name in ("source/meta.json", "encoder/config.json", "set.json"):
        (tmp_path / name).write_text("{}")
    for name in ("corpus.spacy", "texts.txt", "set.spacy"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "rows.txt").write_text(ROWS)
    results = {"benchmark": {}, "summary": [], "runs": {}}
    srsly.write_json(tmp_path / "run" / "results.json", results)
    (tmp_path / "link.png").symlink_to("corpus.spacy")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def call(args):
    result = CliRunner().invoke(epnet_cli, args.split())
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    return " ".join(result.output.split())


@pytest.mark.parametrize("args", WRONG)
def test_no_output_is_an_input_or_another_output(folder, args):
    before = read(folder)
    assert "used already" in call(args)
    assert read(folder) == before


@pytest.mark.parametrize(
    "args",
    [
        "adapt source corpus.spacy out --report {}",
        "recognize source Ada --html {}",
        "mistakes source corpus.spacy --output {}",
        "benchmark source corpus.spacy corpus.spacy --output {}",
        "episodes source corpus.spacy --output {}",
        "plot prototypes source --output {}",
        "compare run/results.json --output {}",
        "convert rows.txt x.spacy --report {}",
        "report run --output {}",
    ],
)
def test_pipes_and_folders_stay(folder, args):
    (folder / "folder.png").mkdir()
    make_pipe(folder / "pipe.png")
    before = read(folder)
    assert "a folder at this place" in call(args.format("folder.png"))
    assert "a device or a pipe" in call(args.format("pipe.png"))
    assert read(folder) == before


@pytest.mark.parametrize(
    "args",
    [
        "adapt source corpus.spacy out",
        "pack source encoder out",
        "source small --output out",
        "mark-missing source corpus.spacy out",
        "convert rows.txt out.spacy",
    ],
)
def test_mount_points_are_refused_first(folder, monkeypatch, args):
    lines = [f"1 1 0:1 / {folder / name} rw\n" for name in ("out", "out.spacy")]
    (folder / "mounts").write_text("".join(lines))
    monkeypatch.setattr(writing, "MOUNTS", folder / "mounts")
    before = read(folder)
    assert "mounted at this place" in call(args)
    assert read(folder) == before


def test_files_that_are_no_manifest_are_not_replaced_by_one(folder):
    (folder / "notes.json").write_text('{"shopping": ["milk"]}')
    assert "would replace it" in call("sample corpus.spacy notes.spacy")
    (folder / "notes-1.json").write_text("not even JSON")
    assert "would replace it" in call("sample corpus.spacy notes.spacy --count 2")
    assert (folder / "notes-1.json").read_text() == "not even JSON"
    assert not (folder / "notes-0.spacy").exists()


def test_trainings_replace_nothing_else(tmp_path):
    corpus = tmp_path / "run" / "model-best" / "train.spacy"
    corpus.parent.mkdir(parents=True)
    corpus.write_text("mine")
    log = {"logger": {"output_file": str(corpus)}}
    read = {"train": {"path": str(corpus)}}
    for config, output in [
        ({"paths": {"train": str(corpus)}, "training": {"logger": {}}}, "run"),
        ({"paths": {"n": 1}, "corpora": read, "training": {"logger": {}}}, "run"),
        ({"paths": {}, "corpora": read, "training": log}, "other"),
    ]:
        with pytest.raises(CorpusError, match="used already"):
            check_training_places(tmp_path / output, config)
    config = {"paths": {}, "training": {"logger": {}}}
    with pytest.raises(CorpusError, match="a folder at this place"):
        check_training_places(tmp_path / "run", config)
    check_training_places(tmp_path / "other", {**config, "corpora": read})


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf8"])
def test_consoles_without_a_character_show_its_number(folder, monkeypatch, encoding):
    (folder / "rows.txt").write_text("Łódź\tB-ÉŁ\n", encoding="utf8")
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as end:
        epnet_cli(["convert", "rows.txt", "Ł.spacy"])
    assert end.value.code == 0
    shown = out.buffer.getvalue().decode(encoding)
    assert {"ascii": "\\xc9\\u0141", "latin-1": "É\\u0141"}.get(encoding, "ÉŁ") in shown
    assert ("Ł.spacy" if encoding == "utf8" else "\\u0141.spacy") in shown
    assert (folder / "Ł.spacy").is_file()
    assert not list(folder.glob(f"{PREFIX}*"))
