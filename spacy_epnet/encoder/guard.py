"""What is checked of a saved encoder before it is loaded."""

from collections.abc import Mapping
from pathlib import PureWindowsPath
from typing import Any

import srsly
from spacy_transformers.layers import TransformerModel

from ..errors import LoadingError
from ..hashes import add_hashes, check_hashes

# How spacy-transformers saves a tokenizer: its files by their names, and under this one
# what is passed to the class that reads them.
KWARGS = "kwargs"
KNOWN_KWARGS = {"use_fast"}


class GuardedTransformer(TransformerModel):
    """spacy-transformers' model, saved with a hash."""

    def to_bytes(self) -> bytes:
        return srsly.msgpack_dumps(add_hashes({"model": super().to_bytes()}))

    def from_bytes(self, bytes_data: bytes) -> "GuardedTransformer":
        try:
            parts = srsly.msgpack_loads(bytes_data)
            if "nodes" in parts:
                # spacy-transformers has saved it by itself.
                parts = {"model": bytes_data}
            check_hashes(parts, self.name)
            super().from_bytes(parts["model"])
        except (ValueError, KeyError, TypeError) as err:
            reason = " ".join(str(err).split())
            raise LoadingError(
                f"Can't load the encoder of the transformer: {reason}. The file is "
                "damaged or was changed. Get the pipeline again from where it came "
                "from."
            ) from err
        return self


def check_tokenizer(tokenizer: Mapping[str, Any]) -> None:
    """Raise an error if a tokenizer would be written anywhere but to the folder that is
    made for it, or would be read otherwise than spacy-transformers does.

    tokenizer (Mapping[str, Any]): Its files by their names, and how to read them.
    """
    for name in tokenizer:
        # These know the separators and drives of all systems.
        if name != PureWindowsPath(name).name or name in ("", "..") or "\0" in name:
            raise ValueError(f"its tokenizer names the file {name!r}")
    unknown = {*tokenizer.get(KWARGS, {})} - KNOWN_KWARGS
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"its tokenizer is to be read with {names}")
