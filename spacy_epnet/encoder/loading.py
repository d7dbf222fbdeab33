"""Safe loading of encoders: what a saved one may hold, and how it is read.

A pipeline from somebody else must not run code, read files of its own choice or write
anywhere when it is loaded.
"""

import json
import pickle
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import Any

import srsly
import torch
from spacy_transformers.data_classes import HFObjects
from spacy_transformers.layers import TransformerModel
from spacy_transformers.layers.transformer_model import huggingface_tokenize
from thinc.api import get_torch_default_device
from torch import nn
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    AutoTokenizer,
    PreTrainedTokenizerBase,
)

from ..errors import LoadingError
from ..hashes import add_hashes, check_hashes

# How spacy-transformers saves a tokenizer: its files by their names, and under this one
# what is passed to the class that reads them.
KWARGS = "kwargs"
KNOWN_KWARGS = {"use_fast"}
# JSON files of a tokenizer that are data. Others are arguments of its class.
DATA_FILES = {"tokenizer.json", "vocab.json"}
LENGTH_WARNING = "sequence-length-is-longer-than-the-specified-maximum"


class CheckedTransformer(TransformerModel):
    """spacy-transformers' model, saved with a hash."""

    def to_bytes(self) -> bytes:
        return srsly.msgpack_dumps(add_hashes({"model": super().to_bytes()}))

    def from_bytes(self, bytes_data: bytes) -> "CheckedTransformer":
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


def load_objects(message: dict[str, Any]) -> HFObjects:
    """Load a tokenizer and a network that spacy-transformers has saved."""
    settings = message["_init_tokenizer_config"], message["_init_transformer_config"]
    if not message["config"]:  # it wasn't initialized
        return HFObjects(None, None, None, *settings)
    tokenizer, vocabulary = load_tokenizer(message["tokenizer"], message["config"])
    network = load_network(message["config"], message["state"])
    return HFObjects(tokenizer, network, vocabulary, *settings)


def load_tokenizer(
    files: Mapping[str, Any], config: dict[str, Any]
) -> tuple[PreTrainedTokenizerBase, bytes | None]:
    """Load a tokenizer of checked files, and the file with its vocabulary, if it needs
    it to be saved again.
    """
    check_tokenizer(files)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf8")
        for file, data in files.items():
            if file != KWARGS:
                (folder / file).write_bytes(data)
        tokenizer = AutoTokenizer.from_pretrained(
            name, trust_remote_code=False, **files.get(KWARGS, {})
        )
        vocabulary = None
        if hasattr(tokenizer, "vocab_file"):
            file = Path(tokenizer.vocab_files_names["vocab_file"]).name
            vocabulary = (folder / file).read_bytes()
    prepare_tokenizer(tokenizer)
    return tokenizer, vocabulary


def load_network(config: dict[str, Any], state: bytes) -> nn.Module:
    """Build a network and load its weights, which may be nothing but numbers."""
    built = CONFIG_MAPPING[config["model_type"]].from_dict(config)
    network: nn.Module = AutoModel.from_config(built, trust_remote_code=False)
    device = get_torch_default_device()
    try:
        # Said here, because an environment variable can turn the default off.
        weights = torch.load(BytesIO(state), map_location=device, weights_only=True)
        missing = network.load_state_dict(weights, strict=False).missing_keys
    except (pickle.UnpicklingError, RuntimeError, AttributeError) as err:
        raise ValueError("its weights aren't those of such an encoder") from err
    if missing:
        raise ValueError(f"it has no weights for {', '.join(missing)}")
    network.to(device)
    return network


def prepare_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Get a tokenizer ready for several threads. The first call changes settings, which
    other threads would stumble over. Don't warn of long texts, which are cut.
    """
    tokenizer.deprecation_warnings[LENGTH_WARNING] = True
    huggingface_tokenize(tokenizer, [""])


def check_tokenizer(files: Mapping[str, Any]) -> None:
    """Raise an error if a tokenizer would be written anywhere but to the folder that is
    made for it, would read other files, or has code.
    """
    unknown = {*files.get(KWARGS, {})} - KNOWN_KWARGS
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"its tokenizer is to be read with {names}")
    for name, data in files.items():
        # These know the separators and drives of all systems.
        if name != PureWindowsPath(name).name or name in ("", "..") or "\0" in name:
            raise ValueError(f"its tokenizer names the file {name!r}")
        if name.lower().endswith((".py", ".pyc", ".so", ".pyd")):
            raise ValueError(f"its tokenizer has code, the file {name!r}")
        if name.endswith(".json") and name not in DATA_FILES:
            check_arguments(name, srsly.json_loads(data))


def check_arguments(name: str, arguments: Any) -> None:
    """Raise an error if arguments of a tokenizer, from a file, name code or files."""
    for key, value in arguments.items() if isinstance(arguments, dict) else ():
        is_file = isinstance(value, str) and key.endswith("_file")
        if is_file or (key in ("auto_map", "init_inputs") and value):
            raise ValueError(f"its tokenizer has {key} in {name}: {value!r}")
