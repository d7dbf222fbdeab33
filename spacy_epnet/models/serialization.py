"""Networks as safetensors, which hold numbers and can't run code."""

from collections.abc import Callable, Iterator

from safetensors.torch import load, save
from thinc.api import Model, PyTorchShim

from .network import SpanPrototypeNetwork


def network_to_bytes(network: SpanPrototypeNetwork | None) -> bytes:
    """Weights of a network, or nothing if it isn't initialized."""
    if network is None:
        return b""
    state = network.state_dict()
    return save({name: value.cpu().contiguous() for name, value in state.items()})


def network_from_bytes(
    make_network: Callable[..., SpanPrototypeNetwork], data: bytes
) -> SpanPrototypeNetwork | None:
    """Rebuild a network from its weights, or nothing from nothing.

    make_network (Callable[..., SpanPrototypeNetwork]): Makes an untrained network
        from the two sizes that aren't settings, which the weights tell.
    data (bytes): The weights.
    RETURNS (Optional[SpanPrototypeNetwork]): The network.
    """
    if not data:
        return None
    weights = load(data)
    width_size = weights["width_embeddings.weight"].shape[1]
    network = make_network(
        token_width=weights["projection.0.weight"].shape[1] - width_size,
        n_prototypes=len(weights["prototypes"]),
    )
    network.load_state_dict(weights)
    return network


def iter_weights(model: Model) -> Iterator[bytes]:
    """All weights of a model, in an order that is always the same.

    model (Model): The model.
    YIELDS (bytes): The weights, one array after the other.
    """
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield node.ops.to_numpy(node.get_param(name)).tobytes()
        for shim in node.shims:
            if isinstance(shim, PyTorchShim) and shim._model is not None:
                for value in shim._model.state_dict().values():
                    yield value.cpu().contiguous().numpy().tobytes()
