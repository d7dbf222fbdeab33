"""Hashes of what is saved, so that damage is found when it is loaded.

They show damage, not forgery: whoever changes a file on purpose can change its hash,
too.
"""

import warnings
from collections.abc import Iterable, Mapping
from hashlib import sha256

import srsly

HASHES = "hashes.json"
HASHES_FIELD = "hashes"  # what spaCy calls it when it is to be excluded


def add_hashes(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Add the hashes of all parts to them, as one more."""
    hashes = {name: sha256(data).hexdigest() for name, data in parts.items()}
    return {**parts, HASHES: srsly.json_dumps(hashes, indent=2).encode("utf8")}


def check_hashes(
    parts: Mapping[str, bytes], name: str, *, exclude: Iterable[str] = ()
) -> None:
    """Raise an error if a part isn't what was saved.

    parts (Mapping[str, bytes]): What `add_hashes` gave.
    name (str): What they are parts of.
    """
    if HASHES not in parts:
        warnings.warn(
            f"'{name}' was saved without hashes, so that damage to it wouldn't be "
            "found. If it is as it should be, save the pipeline again.",
            stacklevel=2,
        )
        return
    hashes = srsly.json_loads(parts[HASHES])
    if not isinstance(hashes, dict):
        raise ValueError(f"{HASHES} isn't what was saved")
    for part in {*hashes} - {*exclude}:
        if part not in parts:
            raise ValueError(f"{part} is missing")
        if sha256(parts[part]).hexdigest() != hashes[part]:
            raise ValueError(f"{part} isn't what was saved")
