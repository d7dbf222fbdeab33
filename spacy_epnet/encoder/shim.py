"""What an encoder computes in: half precision in training, and other numbers than
float32 in prediction, where they are faster. And which part of it is trained."""

from copy import deepcopy
from typing import Any, Literal, TypeAlias, get_args

import srsly
import torch
from spacy_transformers.data_classes import HFObjects
from spacy_transformers.layers import TransformerModel
from spacy_transformers.layers.hf_shim import HFShim
from spacy_transformers.layers.transformer_model import huggingface_tokenize
from thinc.api import ArgsKwargs, Optimizer, get_torch_default_device
from thinc.util import convert_recursive, is_torch_array
from torch import nn

from ..errors import InvalidSettingError
from .freezing import freeze_lower
from .guard import check_tokenizer
from .precision import get_fastest_dtype, has_bfloat16
from .steady import ThreadSafeShim

Inference: TypeAlias = Literal["float32", "bfloat16"]


def use_precision_shim(
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
    objects = HFObjects(
        None, None, None, model._init_tokenizer_config, model._init_transformer_config
    )
    on_cuda = mixed_precision and get_torch_default_device().type == "cuda"
    shim = PrecisionShim(
        objects,
        mixed_precision=on_cuda,
        grad_scaler_config={"enabled": on_cuda, **grad_scaler_config},
    )
    shim.trains_in_half = mixed_precision
    shim.inference = inference
    shim.trained_layers = trained_layers
    model.layers[0].shims[0] = shim


class PrecisionShim(ThreadSafeShim, HFShim):
    """Trains in bfloat16 on CPUs that have it, and predicts with a twin of the network.

    What is for CUDA stays with the base class. Unless told otherwise, predictions on a
    CPU are made in full precision, so that they don't depend on the machine.
    """

    trains_in_half = False
    inference: Inference = "float32"
    trained_layers: int | None = None
    _twin: tuple[Any, list, Any] | None = None
    _frozen: Any = None  # the network whose lower layers are frozen

    def begin_update(self, inputs: ArgsKwargs):
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
        self._twin = None

    def predict(self, inputs: ArgsKwargs) -> Any:
        twin = self._get_twin()
        if twin is self._model:
            return super().predict(inputs)
        with torch.no_grad():
            return _to_float(twin.eval()(*inputs.args, **inputs.kwargs))

    def from_bytes(self, bytes_data: bytes) -> "PrecisionShim":
        message = srsly.msgpack_loads(bytes_data)
        check_tokenizer(message["tokenizer"])
        super().from_bytes(bytes_data)
        restore_numbers(self._model, message["config"])
        forget_place(self._model, message["config"])
        if self._hfmodel.tokenizer is not None:
            # The first call changes settings, which other threads would stumble over.
            huggingface_tokenize(self._hfmodel.tokenizer, [""])
        return self

    def _get_twin(self) -> Any:
        """The network that makes the predictions."""
        if self.inference == "float32":
            return self._model
        weights = [(w._version, w.device) for w in self._model.parameters()]
        known = self._twin  # which another thread may replace
        if known is None or known[:2] != (self._model, weights):
            twin = make_twin(self._model, self.inference, self.device)
            self._twin = known = (self._model, weights, twin)
        return known[-1]


def restore_numbers(network: Any, config: dict[str, Any]) -> None:
    """Give a network that was read the small numbers of its config again. The base
    class reads them through JSON of ten digits, which makes 0 of 1e-12.

    network (Optional[nn.Module]): The network, if there is one.
    config (Dict[str, Any]): Its config, as it was saved.
    """
    if network is None or "layer_norm_eps" not in config:
        return
    network.config.layer_norm_eps = config["layer_norm_eps"]
    for module in network.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = config["layer_norm_eps"]


def forget_place(network: Any, config: dict[str, Any]) -> None:
    """Let a network that was read be called what it was when it was saved, and not
    after the temporary folder that the base class reads it from, so that the same
    pipeline is saved as the same bytes.

    network (Optional[nn.Module]): The network, if there is one.
    config (Dict[str, Any]): Its config, as it was saved.
    """
    if network is not None:
        network.config._name_or_path = config.get("_name_or_path", "")


def make_twin(network: nn.Module, inference: Inference, device: torch.device) -> Any:
    """Make a network for predictions.

    network (nn.Module): The network that is trained.
    inference (str): What the other one computes in.
    device (torch.device): What it computes on.
    RETURNS (nn.Module): The other network, or the same if nothing is gained here.
    """
    if inference == "bfloat16" and get_fastest_dtype(device) == torch.bfloat16:
        return deepcopy(network).bfloat16()
    return network


def _to_float(outputs: Any) -> Any:
    for name, value in outputs.items():
        outputs[name] = convert_recursive(is_torch_array, torch.Tensor.float, value)
    return outputs
