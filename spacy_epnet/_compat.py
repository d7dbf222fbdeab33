"""Private parts of other packages that this one needs, with the versions they are of.

No other module touches a private attribute of an object that isn't its own, which a
test checks. If a new version of a package breaks something, look here first.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from spacy.language import Language, PipeCallable
    from spacy_transformers.data_classes import HFObjects
    from spacy_transformers.layers import TransformerModel
    from spacy_transformers.layers.hf_shim import HFShim
    from thinc.api import Config, Model
    from thinc.shims import Shim
    from torch import nn
    from transformers import PreTrainedModel

# Thinc 8.3


def get_network(shim: "Shim") -> Any:
    """Return the PyTorch network of a shim, or None if it isn't built."""
    return getattr(shim, "_model", None)


def set_network(shim: "Shim", network: "nn.Module | None") -> None:
    """Replace the PyTorch network of a shim."""
    shim._model = network


def set_forward(layer: "Model[Any, Any]", forward: "Callable[..., Any]") -> None:
    """Replace what a layer computes."""
    layer._func = forward


def forget_params(layer: "Model[Any, Any]") -> None:
    """Let a layer have no weights of its own."""
    from thinc.backends import ParamServer

    layer._params = ParamServer()


# PyTorch 2.13


def get_version(weight: "torch.Tensor") -> int:
    """Return a number that changes whenever a tensor is changed in place."""
    return weight._version


# spaCy 3.8


def copy_language(nlp: "Language") -> "Language":
    """Copy a pipeline and its settings, but not its components."""
    other = copy(nlp)
    other._meta = deepcopy(nlp._meta)
    other._pipe_meta = dict(nlp._pipe_meta)
    other._pipe_configs = deepcopy(nlp._pipe_configs)
    other._config = nlp._config.copy()
    other._disabled = set(nlp._disabled)
    other._optimizer = None
    return other


def set_components(
    nlp: "Language", components: "list[tuple[str, PipeCallable]]"
) -> None:
    """Replace all components of a pipeline, in one step."""
    nlp._components = components


def enable_components(nlp: "Language") -> None:
    """Let all components of a pipeline run."""
    nlp._disabled = set()


def set_pipe_config(nlp: "Language", name: str, config: "Config") -> None:
    """Replace the config of a component."""
    nlp._pipe_configs[name] = config


def import_code(path: "Path | None") -> None:
    """Import a file of Python code, as spaCy's commands do with --code."""
    from spacy.cli._util import import_code

    import_code(path)


def setup_gpu(use_gpu: int, *, silent: bool = False) -> None:
    """Use a GPU, or say that the CPU is used, as spaCy's commands do."""
    from spacy.cli._util import setup_gpu

    setup_gpu(use_gpu, silent=silent)


def parse_config_overrides(
    args: list[str], *, env_var: str | None = "SPACY_CONFIG_OVERRIDES"
) -> dict[str, Any]:
    """Read settings such as --training.max_steps 500 from the command line and an
    environment variable.
    """
    from spacy.cli._util import parse_config_overrides

    return parse_config_overrides(args, env_var)


def show_validation_error(path: "Path") -> AbstractContextManager[None]:
    """Show errors of a config as spaCy's commands do."""
    from spacy.cli._util import show_validation_error

    return show_validation_error(path)


# spaCy 3.8, spacy-transformers 1.4 and spacy-curated-transformers 0.3


def has_batch(listener: "Model[Any, Any]") -> bool:
    """Whether a listener was handed the vectors of a batch that is learned from."""
    if is_curated_listener(listener):
        return listener.attrs["_state"].batch_id is not None
    return getattr(listener, "_batch_id", None) is not None


def is_curated_listener(node: "Model[Any, Any]") -> bool:
    """Whether a layer listens to a transformer of spacy-curated-transformers."""
    return "_TRANSFORMER_LISTENER" in node.attrs


def set_objects(shim: "HFShim", objects: "HFObjects") -> None:
    """Replace the tokenizer and the network of a transformer."""
    shim._hfmodel = objects
    shim._model = objects.transformer


def get_init_settings(
    model: "TransformerModel",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a transformer's tokenizer and network are to be loaded with."""
    return model._init_tokenizer_config, model._init_transformer_config


def replace_listener_cfg(
    transformer: dict[str, Any], listener: dict[str, Any]
) -> dict[str, Any]:
    """Return the config of the layer that takes a listener's place."""
    from spacy_transformers.layers._util import replace_listener_cfg

    config: dict[str, Any] = replace_listener_cfg(transformer, listener)
    return config


# Transformers 4.53


def set_name(network: "PreTrainedModel", name: str) -> None:
    """Let a network be known by a name, which is saved with it."""
    network.config._name_or_path = name
