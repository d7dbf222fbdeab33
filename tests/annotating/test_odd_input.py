"""Annotating what nobody expects in files, and what they are called."""

import json
import os
import time
import zlib

import pytest
import srsly
from spacy.language import Language
from spacy.util import ignore_error

from spacy_epnet.annotating import annotate, annotator
from spacy_epnet.annotating.cluster import PREFIX, SETTLED, remove_left_overs
from spacy_epnet.annotating.folder import lock
from spacy_epnet.annotating.inputs import expand, tell_format
from spacy_epnet.annotating.records import Item, read_items
from spacy_epnet.corpora import files
from spacy_epnet.errors import CorpusError

from ..util.annotating_tools import (
    make_ruler,
    read_output,
    use_no_processes,
    write_lines,
)


@pytest.fixture(scope="module")
def ruler(tmp_path_factory):
    return make_ruler(tmp_path_factory.mktemp("ruler"))


@pytest.fixture
def here(monkeypatch):
    return use_no_processes(monkeypatch)


def get_rejects(out):
    return {
        row["record"]: row["reason"] for row in srsly.read_jsonl(out / "rejects.jsonl")
    }


def test_a_number_that_is_too_long(tmp_path, ruler, here):
    long = f'{{"text": "Ada", "n": {"1" * 5000}}}'
    path = write_lines(tmp_path / "in.jsonl", ['{"text": "Ada"}', long])
    summary = annotate(ruler, [path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (1, 1)
    assert "not JSON" in get_rejects(tmp_path / "out")[f"{path}:2"]


def test_a_quote_that_does_not_end_is_told(tmp_path, ruler, here):
    rows = ["n,text", "1,Ada", '2,"Ulm', *(f"{i},Ada" for i in range(3, 9))]
    path = write_lines(tmp_path / "in.csv", rows)
    summary = annotate(ruler, [path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (1, 1)
    assert "lines 3-9" in get_rejects(tmp_path / "out")[f"{path}:2"]


def test_rows_that_are_rejected_are_shown(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.csv", ["text", "Ada,more"])
    annotate(ruler, [path], tmp_path / "out")
    (row,) = srsly.read_jsonl(tmp_path / "out" / "rejects.jsonl")
    assert "Ada" in row["content"]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_header_that_is_not_unicode(tmp_path, ruler, here, format):
    (tmp_path / "in.csv").write_bytes(b"text,caf\xe9\nAda,1\n")
    summary = annotate(ruler, [tmp_path / "in.csv"], tmp_path / "out", format=format)
    assert (summary.records, summary.rejected) == (0, 1)


def test_values_that_python_does_not_have(tmp_path, ruler, here):
    import pyarrow
    from pyarrow.parquet import write_table

    days = pyarrow.array([1, 10**7, 2], pyarrow.date32())
    table = pyarrow.table({"text": ["Ada", "Ulm", "Ada"], "day": days})
    write_table(table, tmp_path / "in.parquet")
    summary = annotate(ruler, [tmp_path / "in.parquet"], tmp_path / "out")
    assert (summary.records, summary.rejected) == (2, 1)
    assert list(get_rejects(tmp_path / "out")) == [f"{tmp_path / 'in.parquet'}:2"]


def test_docs_are_unpacked_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ALWAYS_UNPACKED", 1_000_000)
    path = tmp_path / "in.spacy"
    path.write_bytes(zlib.compress(bytes(2_000_000_000 // 100)))
    (item,) = read_items(path, "spacy", lambda count: None)
    assert "Nothing is read of the file" in item.reason


def test_a_record_that_a_component_drops_is_rejected(ruler):
    @Language.component("faulty")
    def faulty(doc):
        raise ValueError("no")

    found = annotator.Annotator(
        annotator.Recipe(ruler, annotator.Layout("jsonl", "text"), None, 1, -1)
    )
    found.nlp.add_pipe("faulty")
    found.nlp.set_error_handler(ignore_error)
    result = found.annotate([Item("in.txt", 1, "text", b"Ada")])
    assert result.records == 0
    assert "dropped" in result.rejects[0].reason


def test_a_pattern_that_fits_folders_only(tmp_path):
    (tmp_path / "in1").mkdir()
    write_lines(tmp_path / "in1" / "a.txt", ["Ada"])
    assert expand(str(tmp_path / "in*")) == [tmp_path / "in1"]
    with pytest.raises(CorpusError, match="nothing fits"):
        expand(str(tmp_path / "out*"))


def test_a_pattern_does_not_fit_the_output(tmp_path, ruler, here):
    write_lines(tmp_path / "in.jsonl", ['{"text": "Ada"}'])
    pattern, out = str(tmp_path / "**" / "*.jsonl"), tmp_path / "out"
    for _ in range(2):
        assert annotate(ruler, [pattern], out).records == 1
    assert len(read_output(out)) == 1


def test_an_output_may_be_a_link_to_what_is_not_there(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", ["Ada"])
    (tmp_path / "link").symlink_to(tmp_path / "out")
    annotate(ruler, [path], tmp_path / "link")
    assert len(read_output(tmp_path / "out")) == 1
    assert (tmp_path / "link").is_symlink()


def test_a_name_that_is_not_unicode(tmp_path, ruler, here):
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    write_lines(path, ["Ada"])
    for _ in range(2):
        annotate(ruler, [path], tmp_path / "out")
    (row,) = read_output(tmp_path / "out")
    assert row["record"].endswith("caf\\xe9.txt:1")


def test_a_lock_of_somebody_else_keeps_what_is_in_it(tmp_path):
    (tmp_path / ".lock").write_text("mine")
    with lock(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text() == "mine"


def test_a_journal_that_something_else_has_changed(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", ["Ada"])
    annotate(ruler, [path], tmp_path / "out")
    (tmp_path / "out" / "done.jsonl").write_text("3\n")
    with pytest.raises(CorpusError, match=r"done\.jsonl"):
        annotate(ruler, [path], tmp_path / "out")


def test_capitals_in_the_names_of_files(tmp_path, ruler, here):
    assert tell_format(tmp_path / "x.CSV.GZ") == "csv"
    path = write_lines(tmp_path / "x.TSV", ["n\ttext", "1\tAda"])
    annotate(ruler, [path], tmp_path / "out")
    (row,) = read_output(tmp_path / "out")
    assert json.loads(row["n"]) == 1


def test_what_killed_actors_have_left_is_removed(tmp_path):
    long_ago = time.time() - 2 * SETTLED
    for name in ("dead", "alive", "new"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
        (tmp_path / f"{PREFIX}{name}" / "model").touch()
    with lock(tmp_path / f"{PREFIX}alive"):
        for name in ("dead", "alive"):
            os.utime(tmp_path / f"{PREFIX}{name}", (long_ago, long_ago))
        remove_left_overs(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"{PREFIX}alive", f"{PREFIX}new"}
