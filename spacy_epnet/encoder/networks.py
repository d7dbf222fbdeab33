"""PyTorch networks inside Thinc models: used by several threads, in the numbers that
the machine computes fastest in, copied, and their weights compared.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from thinc.api import ArgsKwargs, Model, PyTorchShim
from thinc.shims import Shim

from .._compat import forget_params, get_network

if TYPE_CHECKING:
    import torch


class ThreadSafeShim(PyTorchShim):
    """Leaves its network ready to predict.

    Thinc turns dropout on again after each prediction, so that one thread would turn it
    on for another that is in the midst of its own. An update turns it on by itself.
    """

    def predict(self, inputs: ArgsKwargs) -> Any:
        import torch

        self._model.eval()
        is_mixed = self._mixed_precision
        with torch.no_grad(), torch.autocast("cuda", enabled=is_mixed):
            return self._model(*inputs.args, **inputs.kwargs)


def has_bfloat16() -> bool:
    """Whether the CPU multiplies bfloat16 in hardware. Others are slow in emulating."""
    import torch

    # Recent versions of PyTorch have it.
    capabilities: Any = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(key) for key in ("amx_bf16", "avx512_bf16", "bf16"))


def get_fastest_dtype(device: "torch.device") -> "torch.dtype":
    """Return the fastest dtype for approximate computations on a device."""
    import torch

    if device.type == "cuda":
        has_it = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        has_it = device.type == "cpu" and has_bfloat16()
    return torch.bfloat16 if has_it else torch.float32


def iter_weights(model: Model[Any, Any]) -> Iterator[bytes]:
    """Yield all arrays of weights of a model, in an order that is always the same."""
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield node.ops.to_numpy(node.get_param(name)).tobytes()
        for shim in node.shims:
            network = get_network(shim)
            if isinstance(shim, PyTorchShim) and network is not None:
                for value in network.state_dict().values():
                    yield value.cpu().contiguous().numpy().tobytes()


def copy_model(
    model: Model[Any, Any], *, sharing: Model[Any, Any] | None = None
) -> Model[Any, Any]:
    """Copy a model, but for the PyTorch networks inside a part of it.

    sharing (Optional[Model]): The part whose networks both have in common, if any.
    """
    nodes = [] if sharing is None else sharing.walk()
    shared = {id(shim): shim for node in nodes for shim in node.shims}
    copy = deepcopy(model, dict(shared))
    for node in copy.walk():
        renew_node(node)
        for shim in node.shims:
            if id(shim) not in shared:
                renew_shim(shim)
    return copy


def renew_shim(shim: Shim) -> None:
    """Give a network a number of its own, by which an optimizer keeps its moments."""
    with Shim.global_id_lock:
        Shim.global_id += 1
        shim.id = Shim.global_id


def renew_node(node: Model[Any, Any]) -> None:
    """Give a layer of Thinc a number of its own, see `renew_shim`."""
    weights = {n: node.get_param(n) for n in node.param_names if node.has_param(n)}
    forget_params(node)
    with Model.global_id_lock:
        Model.global_id += 1
        node.id = Model.global_id
    for name, value in weights.items():
        node.set_param(name, value)
