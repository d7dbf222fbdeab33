"""What is written is there whole, whatever happens."""

import errno
import os
import shutil
import signal
import stat
import threading
from unittest.mock import patch

import pytest

from spacy_epnet import writing
from spacy_epnet.errors import CorpusError
from spacy_epnet.writing import (
    PREFIX,
    check_places,
    hold_signals,
    settle_left_overs,
    write_together,
    write_whole,
)

from .util.faults import Faults, run_in_child

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


def write_without_exchange(folder, text):
    with patch.object(writing, "exchange", lambda one, other: False):
        write_folder(folder, text)


def count_steps(write, folder):
    """How often a writer changes something on the disk."""
    write(folder, "old")

    def count():
        steps = Faults().strike(lambda: write(folder, "new"), None, None)
        (folder.parent / "steps").write_text(str(len(steps)))

    assert run_in_child(count) == 0
    write(folder, "old")
    return int((folder.parent / "steps").read_text())


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


WRITERS = [write_file, write_folder, write_without_exchange, write_pair, write_to_link]


@pytest.mark.parametrize("write", WRITERS)
def test_processes_killed_at_any_step_leave_the_old_or_the_new(folder, write):
    n_steps = count_steps(write, folder)
    assert n_steps > 8
    old = read(folder)
    new = dict.fromkeys(old, "new")
    found = []
    for step in range(n_steps):
        code = run_in_child(
            lambda step=step: Faults().strike(
                lambda: write(folder, "new"), step, signal.SIGKILL
            )
        )
        assert code == -signal.SIGKILL
        if write in (write_pair, write_without_exchange):
            # Whoever reads or writes there next puts them back in one step.
            settle_left_overs(folder)
        found.append(read(folder))
        write(folder, "old")
        assert read(folder) == old
        assert not list_left_overs(folder)
    n_old = found.count(old)
    assert 0 < n_old < n_steps
    assert found == [old] * n_old + [new] * (n_steps - n_old)


@pytest.mark.parametrize("fault", [signal.SIGINT, errno.ENOSPC])
@pytest.mark.parametrize("write", WRITERS)
def test_interrupts_and_full_disks_at_any_step_leave_no_left_over(folder, write, fault):
    def strike_all():
        faults = Faults()
        n_steps = len(faults.strike(lambda: write(folder, "new"), None, None))
        for step in range(n_steps):
            write(folder, "old")
            faults.strike(lambda: write(folder, "new"), step, fault)
            assert read(folder) in (old, new)
            assert not list_left_overs(folder)

    write(folder, "old")
    old = read(folder)
    new = dict.fromkeys(old, "new")
    assert run_in_child(strike_all) == 0


@pytest.mark.parametrize("write", [write_file, write_folder, write_pair])
def test_what_was_not_there_is_there_whole_or_not_at_all(folder, write):
    n_steps = count_steps(write, folder)
    new = dict.fromkeys(read(folder), "new")
    for step in range(0, n_steps):
        shutil.rmtree(folder)
        folder.mkdir()
        run_in_child(
            lambda step=step: Faults().strike(
                lambda: write(folder, "new"), step, signal.SIGKILL
            )
        )
        settle_left_overs(folder)
        assert read(folder) in ({}, new)
        assert not list_left_overs(folder)


def test_errors_of_the_writer_leave_the_old(tmp_path):
    write_folder(tmp_path, "old")
    before = read(tmp_path)

    def fail(error):
        with write_whole(tmp_path / "a", may_replace=lambda folder: True) as path:
            path.mkdir()
            raise error

    for error in (OSError, ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
        assert read(tmp_path) == before
        assert not list_left_overs(tmp_path)


def test_the_second_of_two_files_that_can_not_be_moved_takes_the_first_back(tmp_path):
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

        with patch("os.replace", fail), pytest.raises(OSError, match="bad disk"):
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


@pytest.fixture
def listening():
    """Processes in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_signals_wait_and_then_are_as_before():
    steps = []

    def work():
        with hold_signals():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            steps.append("done")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["done"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_threads_can_write(tmp_path):
    thread = threading.Thread(target=write_folder, args=(tmp_path, "new"))
    thread.start()
    thread.join()
    assert read(tmp_path) == {"a/one": "new", "a/two": "new"}
