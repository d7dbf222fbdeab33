"""A PyTorch network inside a Thinc model, saved as numbers only."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..encoder.networks import ThreadSafeShim


class NetworkShim(ThreadSafeShim):
    """Saves its network as safetensors, and makes it anew when loading.

    make_network (Callable): Makes the network from the sizes that aren't settings.
    get_sizes (Callable): Finds these sizes in the weights, by their names.
    learn_rate_scale (float): Multiple of the learning rate, see `scale_rates`.
    config (Dict[str, Any]): What weights must have been trained with to be loaded.
    """

    def __init__(
        self,
        make_network: Callable[..., Any],
        get_sizes: Callable[[dict[str, Any]], dict[str, int]],
        learn_rate_scale: float,
        config: dict[str, Any],
    ):
        super().__init__(
            None,
            config,
            serialize_model=save_network,
            deserialize_model=partial(load_network, make_network, get_sizes),
        )
        self.make_network = make_network
        self.learn_rate_scale = learn_rate_scale

    def from_bytes(self, bytes_data: bytes) -> "NetworkShim":
        config = self.cfg
        super().from_bytes(bytes_data)  # type: ignore[no-untyped-call]
        if self.cfg != config:
            raise ValueError(f"the weights are for {self.cfg}, not {config}")
        return self


def save_network(network: Any) -> bytes:
    """Serialize the weights of a network as safetensors, which can't run code, or
    nothing if it isn't initialized.
    """
    from safetensors.torch import save

    if network is None:
        return b""
    state = network.state_dict()
    return save({name: value.cpu().contiguous() for name, value in state.items()})


def load_network(
    make_network: Callable[..., Any],
    get_sizes: Callable[[dict[str, Any]], dict[str, int]],
    network: Any,
    data: bytes,
    device: Any,
) -> Any:
    """Rebuild a network from its weights, or nothing from nothing.

    make_network (Callable): Makes an untrained network from its sizes.
    get_sizes (Callable): Finds the sizes in the weights.
    network (Any): Not needed.
    data (bytes): The weights.
    device (Any): Not needed.
    RETURNS (Any): The network.
    """
    from safetensors.torch import load

    if not data:
        return None
    weights = load(data)
    network = make_network(**get_sizes(weights))
    network.load_state_dict(weights)
    return network
