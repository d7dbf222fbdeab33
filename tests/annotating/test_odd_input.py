"""Annotating what nobody expects in files, and what they are called."""

import json
import os
import time
import zlib
from pathlib import Path

import pytest
from spacy.language import Language
from spacy.util import ignore_error

from spacy_epnet.annotating import annotate, annotator
from spacy_epnet.annotating.cluster import PREFIX, SETTLED, remove_left_overs
from spacy_epnet.annotating.folder import FIELDS, LOCK, lock
from spacy_epnet.annotating.input_formats import Item, detect_format, read_items
from spacy_epnet.annotating.inputs import expand
from spacy_epnet.corpora import files
from spacy_epnet.errors import CorpusError

from ..util.annotating_tools import (
    read_output,
    read_rejects,
    write_lines,
)


def get_rejects(out):
    return {row["record"]: row["reason"] for row in read_rejects(out)}


def test_a_number_that_is_too_long(tmp_path, ruler, here):
    long = f'{{"text": "Ada", "n": {"1" * 5000}}}'
    path = write_lines(tmp_path / "in.jsonl", ['{"text": "Ada"}', long])
    summary = annotate(ruler, [path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (1, 1)
    assert "not JSON" in get_rejects(tmp_path / "out")[f"{path}:2"]


def test_a_quote_that_does_not_end_is_reported(tmp_path, ruler, here):
    rows = ["n,text", "1,Ada", '2,"Ulm', *(f"{i},Ada" for i in range(3, 9))]
    path = write_lines(tmp_path / "in.csv", rows)
    summary = annotate(ruler, [path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (1, 1)
    assert "lines 3-9" in get_rejects(tmp_path / "out")[f"{path}:2"]


def test_rejected_rows_are_written(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.csv", ["text", "Ada,more"])
    annotate(ruler, [path], tmp_path / "out")
    (row,) = read_rejects(tmp_path / "out")
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
    with pytest.raises(CorpusError, match="no file matches"):
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


def test_a_lock_that_is_a_link_changes_nothing(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(OSError), lock(tmp_path):  # noqa: PT011
        pass
    assert (tmp_path / "mine").read_text() == "mine"


WRONG_NUMBER = dict.fromkeys(FIELDS, 0) | {"shard": "0"}


@pytest.mark.parametrize("line", [3, "0", [1], None, {"shard": 0}, WRONG_NUMBER])
def test_a_journal_that_something_else_has_changed(tmp_path, ruler, here, line):
    path = write_lines(tmp_path / "in.txt", ["Ada"])
    annotate(ruler, [path], tmp_path / "out")
    with (tmp_path / "out" / "done.jsonl").open("a") as file:
        file.write(f"{json.dumps(line)}\n")
    with pytest.raises(CorpusError, match=r"done\.jsonl.*Remove the output"):
        annotate(ruler, [path], tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("shards/00000001.jsonl", Path.unlink),
        ("shards/00000001.jsonl", lambda path: path.write_bytes(b"")),
        ("rejects/00000001.jsonl", Path.unlink),
    ],
)
def test_what_is_missing_of_a_finished_output_is_made_again(
    tmp_path, ruler, here, name, damage
):
    lines = [f'{{"text": "{text}"}}' for text in ("Ada", "Ulm", "Ada")]
    path = write_lines(tmp_path / "in.jsonl", [*lines, "broken", "broken, too"])
    out = tmp_path / "out"
    before = annotate(ruler, [path], out, shard_size=2)
    assert here == [0, 1, 2]
    files = {file: file.read_bytes() for file in out.rglob("[!.]*") if file.is_file()}
    here.clear()
    damage(out / name)
    assert annotate(ruler, [path], out, shard_size=2) == before
    assert here == [1]
    del files[out / "done.jsonl"]  # which is in the order of annotating
    assert {file: file.read_bytes() for file in files} == files


def test_what_json_does_not_have(tmp_path, ruler, here):
    import pyarrow
    from pyarrow.parquet import write_table

    numbers = [1.5, float("nan"), float("inf")]
    table = pyarrow.table({"text": ["Ada", "Ulm", "Ada"], "n": numbers})
    write_table(table, tmp_path / "in.parquet")
    lines = ['{"text": "Ada", "n": 1e999}', '{"text": "Ada", "n": NaN}']
    path = write_lines(tmp_path / "in.jsonl", lines)
    summary = annotate(ruler, [tmp_path / "in.parquet", path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (2, 3)

    def refuse(name):
        raise AssertionError(name)

    (shard,) = (tmp_path / "out" / "shards").iterdir()
    rows = [
        json.loads(line, parse_constant=refuse)
        for line in shard.read_text("utf8").splitlines()
    ]
    assert [row["n"] for row in rows] == [1.5, None]


def test_names_as_bytes_and_as_text_have_different_ids(tmp_path, ruler, here):
    paths = [tmp_path / os.fsdecode(b"\xff.txt"), tmp_path / r"\xff.txt"]
    for path in paths:
        write_lines(path, ["Ada"])
    summary = annotate(ruler, paths, tmp_path / "out")
    assert summary.records == 2
    assert len({row["record"] for row in read_output(tmp_path / "out")}) == 2


def test_keys_that_occur_twice_are_rejected(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.jsonl", ['{"text": "Ada", "text": "Ulm"}'])
    summary = annotate(ruler, [path], tmp_path / "out")
    assert (summary.records, summary.rejected) == (0, 1)
    assert "'text' occurs more than once" in get_rejects(tmp_path / "out")[f"{path}:1"]


def test_columns_of_the_same_name_are_refused(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.csv", ["text,n,n", "Ada,1,2"])
    with pytest.raises(CorpusError, match="the same name: n"):
        annotate(ruler, [path], tmp_path / "out")


def test_a_byte_order_mark_is_dropped_in_the_first_line_only(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", ["\ufeffAda", "\ufeffUlm"])
    annotate(ruler, [path], tmp_path / "out")
    texts = [row["text"] for row in read_output(tmp_path / "out")]
    assert texts == ["Ada", "\ufeffUlm"]


def test_links_to_folders_are_not_passed_over(tmp_path, ruler, here):
    for name in ("in", "other"):
        (tmp_path / name).mkdir()
        write_lines(tmp_path / name / "a.txt", ["Ada"])
    (tmp_path / "in" / "link").symlink_to(tmp_path / "other")
    for name in (tmp_path / "in", tmp_path / "in" / "**" / "*.txt"):
        with pytest.raises(CorpusError, match="link to a folder"):
            annotate(ruler, [name], tmp_path / "out")


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "in").mkdir()
    path = write_lines(tmp_path / "in" / "a.txt", ["Ada"])
    for name in ("one", "two"):
        (tmp_path / "in" / name).symlink_to(".")
    assert expand(str(tmp_path / "in" / "**" / "*.txt")) == [path]
    assert expand(str(tmp_path / "**")) == [path]
    assert files.list_files([tmp_path / "in"]) == [path]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["in.txt", "in.jsonl", "in.csv"])
def test_utf16_is_rejected(tmp_path, ruler, here, name, encoding):
    header = "text\n" if name == "in.csv" else ""
    line = '{"text": "Ada"}\n' if name == "in.jsonl" else "Ada\n"
    (tmp_path / name).write_bytes((header + 2 * line).encode(encoding))
    summary = annotate(ruler, [tmp_path / name], tmp_path / "out")
    assert summary.records == 0
    assert summary.rejected


def test_capitals_in_the_names_of_files(tmp_path, ruler, here):
    assert detect_format(tmp_path / "x.CSV.GZ") == "csv"
    path = write_lines(tmp_path / "x.TSV", ["n\ttext", "1\tAda"])
    annotate(ruler, [path], tmp_path / "out")
    (row,) = read_output(tmp_path / "out")
    assert json.loads(row["n"]) == 1


def test_what_killed_actors_have_left_is_removed(tmp_path):
    long_ago, later = (time.time() + sign * 2 * SETTLED for sign in (-1, 1))
    for name in ("dead", "alive", "new", "later"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
        (tmp_path / f"{PREFIX}{name}" / "model").touch()
    with lock(tmp_path / f"{PREFIX}alive"):
        for name in ("dead", "alive"):
            os.utime(tmp_path / f"{PREFIX}{name}", (long_ago, long_ago))
        # The clock was set back since.
        os.utime(tmp_path / f"{PREFIX}later", (later, later))
        remove_left_overs(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"{PREFIX}alive", f"{PREFIX}new"}
