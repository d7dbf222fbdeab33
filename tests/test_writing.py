"""What is written is there whole, whatever happens."""

import errno
import os
import shutil
import signal
import stat
import threading

import pytest

from spacy_epnet import writing
from spacy_epnet.errors import CorpusError
from spacy_epnet.writing import (
    PREFIX,
    check_places,
    find_place,
    hold_signals,
    settle_left_overs,
    write_together,
    write_whole,
)

from .faults import FAULTS, GROWING, fail_at, list_steps, run_in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def write_file(folder, text):
    with write_whole(folder / "a") as path:
        path.write_text(text)


def write_folder(folder, text):
    with write_whole(folder / "a", may_replace=lambda folder: True) as path:
        path.mkdir()
        for name in ("one", "two"):
            (path / name).write_text(text)


def write_pair(folder, text):
    with write_together([folder / "a", folder / "b"]) as paths:
        for path in paths:
            path.write_text(text)


def write_to_link(folder, text):
    (folder / "far").mkdir(exist_ok=True)
    if not (folder / "a").is_symlink():
        (folder / "a").symlink_to(folder / "far" / "c")
    write_folder(folder, text)


def read(folder):
    """All there is, but for what is hidden: paths and texts."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and PREFIX not in str(path)
    }


def list_left_overs(folder):
    return list(folder.rglob(f"{PREFIX}*"))


def write_old(write, folder):
    write(folder, "old")
    return read(folder)


@pytest.fixture(params=[True, False], ids=["exchanged", "moved aside"])
def can_exchange(request, monkeypatch):
    """Whether the system can let two folders change places."""
    if not request.param:
        monkeypatch.setattr(writing, "exchange", lambda one, other: False)
    return request.param


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("write", [write_file, write_folder, write_pair, write_to_link])
def test_old_or_new_is_there_whatever_happens_at_any_step(
    tmp_path, write, fault, can_exchange
):
    folder = tmp_path / "out"
    folder.mkdir()
    old = write_old(write, folder)
    new = dict.fromkeys(old, "new")
    steps = list_steps(lambda: write(folder, "new"), tmp_path / "steps")
    assert len(steps) > 8
    assert read(folder) == new
    codes = set()
    for number, step in enumerate(steps):
        if fault == errno.ENOSPC and step not in GROWING:
            continue
        write_old(write, folder)
        strike = fail_at(number, fault)
        codes.add(run_in_child(lambda: write(folder, "new"), before=strike))
        if fault != signal.SIGKILL:
            assert not list_left_overs(folder), step
        elif write is write_pair or not can_exchange:
            settle_left_overs(find_place(folder / "a").parent)
        assert read(folder) in (old, new), step
        # Whoever writes there next removes what is left.
        write(folder, "new")
        assert read(folder) == new
        assert not list_left_overs(folder), step
    expected = {signal.SIGKILL: {-9}, signal.SIGINT: {1}, errno.ENOSPC: {1}}
    assert codes - {0} == expected[fault]


@pytest.mark.parametrize("write", [write_file, write_folder, write_pair])
def test_what_was_not_there_is_there_whole_or_not_at_all(tmp_path, write):
    folder = tmp_path / "out"
    folder.mkdir()
    steps = list_steps(lambda: write(folder, "new"), tmp_path / "steps")
    new = read(folder)
    for number in range(len(steps)):
        shutil.rmtree(folder)
        folder.mkdir()
        strike = fail_at(number, signal.SIGKILL)
        run_in_child(lambda: write(folder, "new"), before=strike)
        settle_left_overs(folder)
        assert read(folder) in ({}, new)
        assert not list_left_overs(folder)


def test_errors_of_the_writer_leave_the_old(tmp_path):
    write_folder(tmp_path, "old")
    before = read(tmp_path)
    for error in (OSError, ValueError, KeyboardInterrupt):
        with (
            pytest.raises(error),
            write_whole(tmp_path / "a", may_replace=lambda folder: True) as path,
        ):
            path.mkdir()
            raise error
        assert read(tmp_path) == before
        assert not list_left_overs(tmp_path)


def test_the_second_of_two_files_that_can_not_be_moved_takes_the_first_back(
    tmp_path, monkeypatch
):
    for old in ({}, {"a": "old"}, {"a": "old", "b": "old"}):
        folder = tmp_path / str(len(old))
        folder.mkdir()
        for name, text in old.items():
            (folder / name).write_text(text)
        replace = os.replace

        def fail(source, target, replace=replace, folder=folder):
            if target == folder / "b" and "whole" in str(source):
                raise OSError(errno.EIO, "bad disk")
            return replace(source, target)

        with monkeypatch.context() as patched, pytest.raises(OSError, match="bad disk"):
            patched.setattr("os.replace", fail)
            write_pair(folder, "new")
        assert read(folder) == old
        assert not list_left_overs(folder)


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    with write_whole(tmp_path / "a") as path:
        path.write_text("first")
        assert run_in_child(lambda: write_folder(tmp_path, "x")) == 0
        assert path.read_text() == "first"
        shutil.rmtree(tmp_path / "a")
    assert read(tmp_path) == {"a": "first"}


def test_folders_that_only_look_like_left_overs_are_left_alone(tmp_path):
    mine = tmp_path / f"{PREFIX}mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path)
    (tmp_path / f"{PREFIX}file").write_text("mine")
    write_file(tmp_path, "new")
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert len(list_left_overs(tmp_path)) == 3


def test_links_stay_and_what_they_point_to_is_replaced(tmp_path):
    far = tmp_path / "far"
    far.mkdir()
    (far / "there").write_text("old")
    (tmp_path / "a").symlink_to(far / "there")
    write_file(tmp_path, "new")
    assert (tmp_path / "a").is_symlink()
    assert (far / "there").read_text() == "new"
    (far / "there").unlink()
    write_file(tmp_path, "newer")
    assert (far / "there").read_text() == "newer"
    assert read(far) == {"there": "newer"}


def test_files_that_belong_together_are_in_one_folder(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "far" / "b")
    with pytest.raises(CorpusError, match="belongs beside"):
        write_pair(tmp_path, "new")
    assert read(tmp_path) == {}


def test_devices_pipes_and_folders_of_others_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(CorpusError, match="a device or a pipe"):
        write_file(tmp_path, "new")
    assert stat.S_ISFIFO((tmp_path / "a").stat().st_mode)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("/dev/null")
    with pytest.raises(CorpusError, match="a device or a pipe"):
        write_file(tmp_path, "new")
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    with pytest.raises(CorpusError, match="a folder at this place"):
        write_file(tmp_path, "new")
    assert not list_left_overs(tmp_path)


def test_names_as_long_as_the_disk_allows(tmp_path):
    with write_whole(tmp_path / ("x" * 255)) as path:
        path.write_text("new")
    assert (tmp_path / ("x" * 255)).read_text() == "new"


def test_outputs_are_apart_from_inputs_and_from_each_other(tmp_path):
    folder = tmp_path / "pipeline"
    folder.mkdir()
    (folder / "meta.json").write_text("{}")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "corpus").write_text("")
    places = ["pipeline", "pipeline/meta.json", "pipeline/new", "link/new", "corpus"]
    for place in [*places, "link", ".", "pipeline/../corpus"]:
        with pytest.raises(CorpusError, match="used already"):
            check_places([tmp_path / place], [str(folder), tmp_path / "corpus", None])
    for one, other in [
        ("a", "a"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("link/x", "pipeline/x"),
    ]:
        with pytest.raises(CorpusError, match="used already"):
            check_places([tmp_path / one, None, tmp_path / other], [])
    apart = [tmp_path / "pipeline-2", tmp_path / "corpus.json", tmp_path / "x" / "y"]
    check_places(apart, [folder, tmp_path / "corpus", "small"])


def test_signals_wait_and_then_are_as_before():
    steps = []
    with pytest.raises(KeyboardInterrupt), hold_signals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        steps.append("done")
    assert steps == ["done"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_threads_can_write(tmp_path):
    thread = threading.Thread(target=write_folder, args=(tmp_path, "new"))
    thread.start()
    thread.join()
    assert read(tmp_path) == {"a/one": "new", "a/two": "new"}
