"""Training in half precision, on whatever the machine has for it."""

from typing import Any

import torch
from spacy_transformers.data_classes import HFObjects
from spacy_transformers.layers import TransformerModel
from spacy_transformers.layers.hf_shim import HFShim
from thinc.api import ArgsKwargs, get_torch_default_device
from thinc.util import convert_recursive, is_torch_array

from .precision import has_bfloat16


def use_mixed_precision(
    model: TransformerModel, grad_scaler_config: dict[str, Any]
) -> None:
    """Let a transformer that isn't loaded yet train in half precision."""
    objects = HFObjects(
        None, None, None, model._init_tokenizer_config, model._init_transformer_config
    )
    on_cuda = get_torch_default_device().type == "cuda"
    model.layers[0].shims[0] = MixedPrecisionShim(
        objects,
        mixed_precision=on_cuda,
        grad_scaler_config={"enabled": on_cuda, **grad_scaler_config},
    )


class MixedPrecisionShim(HFShim):
    """Runs updates in bfloat16 on CPUs that have it.

    What is for CUDA stays with the base class. Predictions on a CPU are made in
    full precision, so that they don't depend on the machine.
    """

    def begin_update(self, inputs: ArgsKwargs):
        use_bfloat16 = self.device.type == "cpu" and has_bfloat16()
        with torch.autocast("cpu", torch.bfloat16, enabled=use_bfloat16):
            outputs, backprop = super().begin_update(inputs)
        for name, value in outputs.items():
            outputs[name] = convert_recursive(is_torch_array, torch.Tensor.float, value)
        return outputs, backprop
