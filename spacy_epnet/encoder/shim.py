"""The shim around a transformer's network: which numbers it computes in, which part of
it is trained, how it is loaded, and that several threads can use it at once.
"""

from copy import deepcopy
from typing import Any, Literal, TypeAlias, get_args

import srsly
import torch
from spacy_transformers.data_classes import HFObjects
from spacy_transformers.layers import TransformerModel
from spacy_transformers.layers.hf_shim import HFShim
from thinc.api import ArgsKwargs, Optimizer, get_torch_default_device
from thinc.util import convert_recursive, is_torch_array
from torch import nn
from transformers.file_utils import ModelOutput

from .._compat import get_init_settings, get_version, set_objects
from ..errors import InvalidSettingError
from .loading import load_objects
from .networks import ThreadSafeShim, get_fastest_dtype, has_bfloat16

Inference: TypeAlias = Literal["float32", "bfloat16"]


def use_transformer_shim(
    model: TransformerModel,
    *,
    mixed_precision: bool,
    grad_scaler_config: dict[str, Any],
    inference: Inference,
    trained_layers: int | None,
) -> None:
    """Let a transformer that isn't loaded yet compute in other numbers, and train a
    part of it.
    """
    if trained_layers is not None and trained_layers < 1:
        raise InvalidSettingError(
            "trained_layers",
            trained_layers,
            "a number above 0, or null. To train no layer at all, name "
            "the transformer under [training] frozen_components",
        )
    if inference not in get_args(Inference):
        raise InvalidSettingError(
            "inference", inference, " or ".join(get_args(Inference))
        )
    on_cuda = mixed_precision and get_torch_default_device().type == "cuda"
    shim = TransformerShim(
        HFObjects(None, None, None, *get_init_settings(model)),
        mixed_precision=on_cuda,
        grad_scaler_config={"enabled": on_cuda, **grad_scaler_config},
    )
    shim.trains_in_half = mixed_precision
    shim.inference = inference
    shim.trained_layers = trained_layers
    model.layers[0].shims[0] = shim


class TransformerShim(ThreadSafeShim, HFShim):
    """Trains in bfloat16 on CPUs that have it, and may predict with a faster copy of
    the network.

    What is for CUDA stays with the base class. Unless told otherwise, predictions on a
    CPU are made in full precision, so that they don't depend on the machine.
    """

    trains_in_half = False
    inference: Inference = "float32"
    trained_layers: int | None = None
    # The network, the versions and devices of its weights, and its copy.
    _copied: "tuple[nn.Module, list[tuple[int, torch.device]], nn.Module] | None" = None
    _frozen: nn.Module | None = None  # the network whose lower layers are frozen

    def begin_update(self, inputs: ArgsKwargs) -> tuple[ModelOutput, Any]:
        if self.trained_layers is not None and self._frozen is not self._model:
            freeze_lower(self._model, self.trained_layers)
            self._frozen = self._model
        is_cpu = self.device.type == "cpu"
        use_bfloat16 = self.trains_in_half and is_cpu and has_bfloat16()
        with torch.autocast("cpu", torch.bfloat16, enabled=use_bfloat16):
            outputs, backprop = super().begin_update(inputs)
        return _to_float(outputs), backprop

    def finish_update(self, optimizer: Optimizer) -> None:
        super().finish_update(optimizer)
        self._copied = None

    def predict(self, inputs: ArgsKwargs) -> Any:
        network = self._get_fastest()
        if network is self._model:
            return super().predict(inputs)
        with torch.no_grad():
            return _to_float(network.eval()(*inputs.args, **inputs.kwargs))

    def from_bytes(self, bytes_data: bytes) -> "TransformerShim":
        set_objects(self, load_objects(srsly.msgpack_loads(bytes_data)))
        return self

    def _get_fastest(self) -> nn.Module:
        """Return the network that makes the predictions, a copy if that is faster."""
        network = self._model
        if self.inference == "float32":
            return network
        weights = [(get_version(w), w.device) for w in network.parameters()]
        known = self._copied  # which another thread may replace
        if known is None or known[:2] != (network, weights):
            fastest = network
            if get_fastest_dtype(self.device) == torch.bfloat16:
                fastest = deepcopy(network).bfloat16()
            self._copied = known = (network, weights, fastest)
        return known[-1]


def freeze_lower(network: nn.Module, trained_layers: int) -> None:
    """Keep all of an encoder as it is, but for its upper layers.

    A step takes less time then, and the embeddings of words that the training texts
    don't have stay where those of related words are.
    """
    # The layers of an encoder are its longest list of modules.
    lists = (part for part in network.modules() if isinstance(part, nn.ModuleList))
    layers = max(lists, key=len, default=nn.ModuleList())
    trained = list(layers)[max(0, len(layers) - trained_layers) :]
    weights = {id(weight) for layer in trained for weight in layer.parameters()}
    for weight in network.parameters():
        weight.requires_grad_(id(weight) in weights)


def _to_float(outputs: ModelOutput) -> ModelOutput:
    for name, value in outputs.items():
        outputs[name] = convert_recursive(is_torch_array, torch.Tensor.float, value)
    return outputs
