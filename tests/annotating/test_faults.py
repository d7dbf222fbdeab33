"""Annotating is killed, its processes die, and nothing is lost or twice."""

import os
import random
import signal
import time
from itertools import count

import pytest
import srsly

from spacy_epnet.annotating import annotate, folder, local
from spacy_epnet.annotating.annotator import Recipe, Result
from spacy_epnet.annotating.inputs import Shard
from spacy_epnet.annotating.local import run_local
from spacy_epnet.annotating.output_formats import Layout

from ..util.annotating_tools import (
    count_done,
    make_ruler,
    make_texts,
    read_output,
    read_rejects,
    use_no_processes,
    write_lines,
)
from ..util.faults import start, wait


def read_all(out):
    """Everything that an output says, and nothing that is left over in it."""
    assert {path.name for path in out.iterdir()} <= {
        *(
            "manifest.json",
            "done.jsonl",
            "rejects.jsonl",
            "rejects",
            "shards",
            ".epnet-lock",
        )
    }
    assert all(path.is_file() for path in (out / "shards").iterdir())
    done = sorted(srsly.read_jsonl(out / "done.jsonl"), key=lambda line: line["shard"])
    return (
        read_output(out),
        read_rejects(out),
        [{**line, "size": 0} for line in done],
        srsly.read_json(out / "manifest.json")["finished"],
    )


def write_mixed(path, count):
    """Records of which every third can't be annotated."""
    lines = [f'{{"text": "{text}"}}' for text in make_texts(count)]
    return write_lines(
        path, [line[: 99 if i % 3 else 5] for i, line in enumerate(lines)]
    )


# Newer Pythons warn of forks beside threads, which these forks don't use.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_killed_at_random_moments_it_ends_with_every_record_once(
    tmp_path, ruler, monkeypatch, name
):
    path = write_mixed(tmp_path / "in.jsonl", 180)
    expected = tmp_path / "expected"
    use_no_processes(monkeypatch)
    annotate(ruler, [path], expected, shard_size=3)
    out = tmp_path / "out"
    rand = random.Random(0)
    kills = 0
    while True:
        pid = start(lambda: annotate(ruler, [path], out, shard_size=3))
        wait_for_a_step(out, pid)
        time.sleep(rand.uniform(0, 0.01))
        os.kill(pid, getattr(signal, name))
        if wait(pid) == 0:
            break
        kills += 1
    assert kills >= 10
    assert read_all(out) == read_all(expected)


def wait_for_a_step(out, pid):
    """Wait until a process has written something, or has ended."""
    before = count_done(out)
    while count_done(out) == before:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.001)


def test_interrupted_at_every_step_it_goes_on(tmp_path, ruler, monkeypatch):
    path = write_mixed(tmp_path / "in.jsonl", 12)
    annotated = use_no_processes(monkeypatch)
    annotate(ruler, [path], tmp_path / "expected", shard_size=6)
    expected = read_all(tmp_path / "expected")
    for last in count(1):
        out = tmp_path / str(last)
        annotated.clear()
        with monkeypatch.context() as patch:
            stumble = Stumble(last)
            patch.setattr(os, "replace", stumble.wrap(os.replace))
            patch.setattr(os, "fsync", stumble.wrap(os.fsync))
            patch.setattr(folder, "to_json_line", stumble.wrap(folder.to_json_line))
            try:
                annotate(ruler, [path], out, shard_size=6)
                break
            except KeyboardInterrupt:
                pass
        annotate(ruler, [path], out, shard_size=6)
        assert read_all(out) == expected
        assert len(annotated) <= 2 + 1  # at most one shard is annotated twice
    assert last > 10


class Stumble:
    """Interrupts at a certain call of any of several functions."""

    def __init__(self, last):
        self.left = last

    def wrap(self, function):
        def stumbling(*args, **kwargs):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return stumbling


def test_a_line_of_the_journal_that_was_being_written(tmp_path, ruler, monkeypatch):
    path = write_lines(tmp_path / "in.txt", make_texts(6))
    annotated = use_no_processes(monkeypatch)
    out = tmp_path / "out"
    annotate(ruler, [path], out, shard_size=2)
    expected = read_all(out)
    manifest = srsly.read_json(out / "manifest.json")
    del manifest["finished"]
    srsly.write_json(out / "manifest.json", manifest)
    journal = (out / "done.jsonl").read_bytes()
    (out / "done.jsonl").write_bytes(journal[:-20])
    (out / "shards" / "00000000.jsonl").unlink()
    annotated.clear()
    annotate(ruler, [path], out, shard_size=2)
    assert annotated == [0, 2]
    assert read_all(out) == expected


def test_processes_give_what_one_gives(tmp_path, trained, monkeypatch):
    trained.to_disk(tmp_path / "trained")
    path = write_lines(tmp_path / "in.txt", make_texts(40))
    summary = annotate(
        str(tmp_path / "trained"), [path], tmp_path / "two", shard_size=5, processes=2
    )
    assert summary.shards == 8
    use_no_processes(monkeypatch)
    annotate(str(tmp_path / "trained"), [path], tmp_path / "one", shard_size=5)
    assert read_all(tmp_path / "two") == read_all(tmp_path / "one")


def test_a_process_that_dies_once_is_no_harm(tmp_path, fatal, code):
    texts = make_texts(12)
    texts[5] = "UNLUCKY Ada"
    path = write_lines(tmp_path / "in.txt", texts)
    summary = annotate(fatal, [path], tmp_path / "out", shard_size=4, code=code)
    assert code.with_name("mark").exists()
    assert (summary.records, summary.rejected) == (12, 0)
    assert [row["text"] for row in read_output(tmp_path / "out")] == texts


def test_a_record_with_which_processes_die_is_rejected(tmp_path, fatal, code):
    texts = make_texts(8)
    texts[2] = "DEADLY Ada"
    path = write_lines(tmp_path / "in.txt", texts)
    summary = annotate(
        fatal, [path], tmp_path / "out", shard_size=4, code=code, processes=1
    )
    assert (summary.records, summary.rejected) == (7, 1)
    rows = read_output(tmp_path / "out")
    assert [row["text"] for row in rows] == texts[:2] + texts[3:]
    (reject,) = read_rejects(tmp_path / "out")
    assert reject["record"] == f"{path}:3"
    assert "died 3 times" in reject["reason"]


def test_a_pipeline_that_cant_be_loaded(tmp_path):
    path = write_lines(tmp_path / "in.txt", ["Ada"])
    broken = make_ruler(tmp_path / "broken")
    (tmp_path / "broken" / "config.cfg").write_text("[nlp]\nlang = 3\n")
    with pytest.raises(ValueError, match="Can't import language 3"):
        annotate(broken, [path], tmp_path / "out", processes=1)


def test_a_clock_that_was_set_back_is_no_harm(tmp_path, ruler, monkeypatch):
    path = write_lines(tmp_path / "in.txt", make_texts(6))
    annotated = use_no_processes(monkeypatch)
    later = time.time() + 10**8
    os.utime(path, (later, later))
    first = annotate(ruler, [path], tmp_path / "out", shard_size=2)
    for made in (tmp_path / "out").rglob("*"):
        os.utime(made, (later, later))
    (tmp_path / "out" / "shards" / "00000001.jsonl").unlink()
    assert annotate(ruler, [path], tmp_path / "out", shard_size=2) == first
    assert annotated == [0, 1, 2, 1]


def test_no_more_is_read_than_keeps_the_processes_busy(monkeypatch):
    class Idle:
        def __init__(self, recipe):
            pass

        def annotate(self, items):
            return Result(b"", [], 0, 0, 0)

        def close(self):
            pass

    monkeypatch.setattr(local, "Worker", Idle)
    read = 0

    def read_shards():
        nonlocal read
        for read in range(1, 101):
            yield Shard(read, [], 0)

    recipe = Recipe("", Layout("jsonl", "text"), None, 1, -1)
    for finished, _ in enumerate(run_local(read_shards(), recipe, 3), 1):
        assert read - finished < 3 * 2
    assert finished == 100
