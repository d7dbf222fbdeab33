"""An output is the old one or the new one, whatever happens to the process."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spacy_epnet import writing
from spacy_epnet.errors import CorpusError
from spacy_epnet.signals import hold_signals
from spacy_epnet.writing import (
    PREFIX,
    check_places,
    check_replaceable,
    find_moved_aside,
    is_mount_point,
    write_whole,
)

from .util.faults import Faults, make_pipe, run_in_child

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="paths are others there")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def write_file(folder, text):
    with write_whole(folder / "a") as path:
        path.write_text(text)


def write_folder(folder, text):
    with write_whole(folder / "a", may_replace=lambda folder: True) as path:
        path.mkdir()
        for name in ("one", "two"):
            (path / name).write_text(text)


def write_folder_in_two_steps(folder, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "exchange", lambda one, other: False)
        write_folder(folder, text)


def write_to_link(folder, text):
    (folder / "far").mkdir(exist_ok=True)
    if not (folder / "a").is_symlink():
        (folder / "a").symlink_to(folder / "far" / "c")
    write_folder(folder, text)


WRITERS = [write_file, write_folder, write_folder_in_two_steps, write_to_link]


def read(folder):
    """All files but hidden ones: paths and texts."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and PREFIX not in str(path)
    }


def list_left_overs(folder):
    return list(folder.rglob(f"{PREFIX}*"))


def count_steps(write, folder):
    """How often a writer changes something on the disk."""

    def count():
        steps = Faults().strike(lambda: write(folder, "new"), None, None)
        (folder.parent / "steps").write_text(str(len(steps)))

    assert run_in_child(count) == 0
    return int((folder.parent / "steps").read_text())


def strike(write, folder, step, fault):
    """Let something happen to a writer before one of its steps."""
    return run_in_child(
        lambda: Faults().strike(lambda: write(folder, "new"), step, fault)
    )


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("write", WRITERS)
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new(folder, write):
    write(folder, "old")
    old = read(folder)
    new = dict.fromkeys(old, "new")
    n_steps = count_steps(write, folder)
    assert n_steps > 8
    found = []
    for step in range(n_steps):
        write(folder, "old")
        assert not list_left_overs(folder)
        assert strike(write, folder, step, signal.SIGKILL) == -signal.SIGKILL
        aside = find_moved_aside(folder / "a")
        if aside is not None and not (folder / "a").exists():
            assert write is write_folder_in_two_steps
            shutil.move(aside, folder / "a")
        found.append(read(folder))
    n_old = found.count(old)
    assert 0 < n_old < n_steps
    assert found == [old] * n_old + [new] * (n_steps - n_old)
    write(folder, "new")
    assert not list_left_overs(folder)


@pytest.mark.parametrize("write", WRITERS)
def test_a_first_output_is_complete_or_missing(folder, write):
    n_steps = count_steps(write, folder)
    new = read(folder)
    for step in range(n_steps):
        shutil.rmtree(folder)
        folder.mkdir()
        strike(write, folder, step, signal.SIGKILL)
        assert read(folder) in ({}, new)
        write(folder, "new")
        assert not list_left_overs(folder)


@pytest.mark.parametrize("fault", [signal.SIGINT, errno.ENOSPC])
@pytest.mark.parametrize("write", WRITERS)
def test_interrupts_and_full_disks_leave_nothing_else(folder, write, fault):
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


def test_the_signal_to_terminate_waits_until_the_output_is_in_its_place(folder):
    write = write_folder_in_two_steps
    n_steps = count_steps(write, folder)
    new = read(folder)
    for step in range(n_steps):
        write(folder, "old")
        assert strike(write, folder, step, signal.SIGTERM) == -signal.SIGTERM
        assert read(folder) in (new, dict.fromkeys(new, "old"))
    write(folder, "new")
    assert not list_left_overs(folder)


def test_an_error_of_the_writer_leaves_the_old(tmp_path):
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


def test_an_old_output_that_cannot_be_moved_back_is_kept(tmp_path, monkeypatch):
    write_folder(tmp_path, "old")
    replace = os.replace

    def fail(source, target):
        if target == tmp_path / "a":
            raise OSError(errno.EIO, "bad disk")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="bad disk"):
        write_folder_in_two_steps(tmp_path, "new")
    assert (find_moved_aside(tmp_path / "a") / "one").read_text() == "old"
    monkeypatch.undo()
    write_folder(tmp_path, "new")
    assert read(tmp_path) == {"a/one": "new", "a/two": "new"}
    assert not list_left_overs(tmp_path)


def test_an_output_that_has_become_something_else_is_not_replaced(tmp_path):
    def write():
        with write_whole(tmp_path / "a") as path:
            path.write_text("new")
            (tmp_path / "a").mkdir()
            (tmp_path / "a" / "notes.txt").write_text("mine")

    with pytest.raises(CorpusError, match="a folder at this place"):
        write()
    assert read(tmp_path) == {"a/notes.txt": "mine"}


def test_another_process_that_writes_the_same_is_left_alone(tmp_path):
    with write_whole(tmp_path / "a") as path:
        path.write_text("first")
        assert run_in_child(lambda: write_folder(tmp_path, "second")) == 0
        assert path.read_text() == "first"
        shutil.rmtree(tmp_path / "a")
    assert read(tmp_path) == {"a": "first"}


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_threads_write_the_same(folder, write):
    def write_often():
        for _ in range(20):
            write(folder, "new")

    threads = [threading.Thread(target=write_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read(folder).values()) == {"new"}
    assert not list_left_overs(folder)


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


def test_devices_pipes_and_folders_of_others_are_not_replaced(tmp_path):
    make_pipe(tmp_path / "a")
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


@pytest.mark.parametrize("kind", [["-t", "tmpfs", "none"], ["--bind", "."]])
def test_a_mount_point_is_refused_before_anything_is_written(tmp_path, kind):
    output = tmp_path / "my output"
    output.mkdir()
    is_root = hasattr(os, "getuid") and os.getuid() == 0
    mount = ["mount", *kind, output]
    if not is_root or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount")
    try:
        assert is_mount_point(output)
        with pytest.raises(CorpusError, match="mounted at this place"):
            check_replaceable(output, lambda folder: True)
    finally:
        subprocess.run(["umount", output], check=True)
    check_replaceable(output, lambda folder: True)


@on_posix
def test_mount_points_with_odd_names_are_found(tmp_path, monkeypatch):
    line = r"29 1 0:26 / /a\040b\134c rw - ext4 /dev/sda rw" + "\n"
    (tmp_path / "mountinfo").write_text(line)
    monkeypatch.setattr(writing, "MOUNTS", tmp_path / "mountinfo")
    assert is_mount_point(Path("/a b\\c"))
    assert not is_mount_point(tmp_path)
    monkeypatch.setattr(writing, "MOUNTS", tmp_path / "missing")
    assert is_mount_point(Path("/"))


@on_posix
def test_names_as_long_as_the_disk_allows(tmp_path):
    with write_whole(tmp_path / ("x" * 255)) as path:
        path.write_text("new")
    assert (tmp_path / ("x" * 255)).read_text() == "new"


def test_an_output_is_apart_from_inputs_and_other_outputs(tmp_path):
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
