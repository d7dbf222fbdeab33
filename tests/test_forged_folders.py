"""Folders that others made to look like ours: nothing but the output is changed."""

import os
import shutil
import sys
import tarfile

import pytest

from spacy_epnet.errors import PipelineError
from spacy_epnet.sources import catalog
from spacy_epnet.sources.catalog import find_pipeline
from spacy_epnet.writing import (
    LOCK,
    NEW,
    OLD,
    find_moved_aside,
    get_prefix,
    write_whole,
)

from .util.faults import run_in_child

NOBODY = 65534


def link_lock(work, precious):
    (work / LOCK).symlink_to(precious / "key")


def link_lock_hard(work, precious):
    (work / LOCK).hardlink_to(precious / "key")


def link_folders(work, precious):
    (work / LOCK).touch()
    for name in (OLD, NEW):
        (work / name).symlink_to(precious)


def link_inside_folders(work, precious):
    (work / LOCK).touch()
    for name in (OLD, NEW):
        (work / name).mkdir()
        (work / name / "folder").symlink_to(precious)
        (work / name / "output").symlink_to(precious / "key")


def link_all(work, precious):
    work.rmdir()
    (precious / LOCK).touch()
    work.symlink_to(precious)


def add_neighbors(work, precious):
    (work / LOCK).touch()
    for name in (OLD, NEW, "whole", "old", "new"):
        (work / name).mkdir()
        for neighbor in ("key", ".bashrc", "output"):
            (work / name / neighbor).write_text("forged")


def keep_thesis(work, precious):
    (work / "thesis.txt").write_text("years of work")


FORGERIES = [
    link_lock,
    link_lock_hard,
    link_folders,
    link_inside_folders,
    link_all,
    add_neighbors,
    keep_thesis,
]


def read(folder):
    """All that is in a folder, links as such."""
    return {
        path: os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def precious(tmp_path):
    """A folder of the user's that has nothing to do with the output."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "key").write_text("secret")
    return folder


@pytest.fixture
def shared(tmp_path):
    """A folder with an output and files beside it, in which anyone may write."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    for name in ("output", ".bashrc", "key"):
        (folder / name).write_text("old")
    return folder


def forge(forgery, shared, precious, output="output"):
    for name in (f"{get_prefix(shared / output)}forged", f".epnet-{output}"):
        (shared / name).mkdir()
        forgery(shared / name, precious)


def write_output(shared):
    with write_whole(shared / "output") as path:
        path.write_text("new")


def check_rest(shared, before):
    """Nothing has changed but the output, and what is called as ours is."""
    after = read(shared)
    assert after.pop(shared / "output") == b"new"
    prefix = get_prefix(shared / "output")
    left = {p for p in before if p.relative_to(shared).parts[0].startswith(prefix)}
    kept = {path: data for path, data in before.items() if path not in left}
    assert kept.items() <= after.items() | {(shared / "output", b"old")}
    assert after.items() <= before.items()


@pytest.mark.parametrize("forgery", FORGERIES)
def test_folders_from_an_archive(shared, precious, tmp_path, forgery):
    forge(forgery, shared, precious)
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        archive.add(shared, "shared")
    shutil.rmtree(shared)
    with tarfile.open(tmp_path / "archive.tar") as archive:
        archive.extractall(tmp_path, filter="fully_trusted")
    before, secret = read(shared), read(precious)
    write_output(shared)
    check_rest(shared, before)
    assert read(precious) == secret
    if forgery is keep_thesis:
        assert read(shared).items() >= (before.items() - {(shared / "output", b"old")})


@pytest.mark.parametrize("forgery", FORGERIES)
def test_folders_of_the_same_user(shared, precious, forgery):
    forge(forgery, shared, precious)
    before, secret = read(shared), read(precious)
    write_output(shared)
    check_rest(shared, before)
    if forgery in (link_lock, link_lock_hard, link_all):
        assert read(shared) == {**before, shared / "output": b"new"}
    assert read(precious) == secret


@pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0,
    reason="only root can become another user",
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("forgery", FORGERIES)
def test_folders_of_another_user(shared, precious, tmp_path, forgery):
    def forge_as_nobody():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        forge(forgery, shared, precious)

    for folder in (tmp_path, *tmp_path.parents[:-1]):
        folder.chmod(folder.stat().st_mode | 0o111)
    precious.chmod(0o777 if forgery is link_all else 0o755)
    if forgery is link_lock_hard:
        os.chown(precious / "key", NOBODY, NOBODY)
    assert run_in_child(forge_as_nobody) == 0
    precious.chmod(0o700)
    before, secret = read(shared), read(precious)
    write_output(shared)
    assert read(shared) == {**before, shared / "output": b"new"}
    assert read(precious) == secret


@pytest.mark.parametrize("forgery", FORGERIES)
def test_looking_for_a_pipeline_changes_nothing(shared, precious, monkeypatch, forgery):
    for name in ("small", "missing"):
        forge(forgery, shared, precious, name)
    before, secret = read(shared), read(precious)
    monkeypatch.chdir(shared)
    monkeypatch.setattr(catalog, "make_source", lambda name: f"the source {name}")
    assert find_pipeline("small") == "the source small"
    with pytest.raises(PipelineError, match="There is no pipeline 'missing'"):
        find_pipeline("missing")
    assert read(shared) == before
    assert read(precious) == secret


def test_a_pipeline_that_was_moved_aside_is_named_and_stays(tmp_path):
    work = tmp_path / f"{get_prefix(tmp_path / 'mine')}1234"
    (work / OLD / "mine").mkdir(parents=True)
    (work / OLD / "mine" / "meta.json").write_text("{}")
    (work / LOCK).touch()
    assert find_moved_aside(tmp_path / "mine") == work / OLD / "mine"
    with pytest.raises(PipelineError, match=f"moved it to '{work / OLD / 'mine'}'"):
        find_pipeline(str(tmp_path / "mine"))
    assert (work / OLD / "mine" / "meta.json").exists()
    assert not (tmp_path / "mine").exists()
