"""Training the top of a transformer and nothing below."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thinc.api import Model, PyTorchShim


@contextmanager
def training_top_layers(transformer: Model, n_layers: int) -> Iterator[None]:
    """Hold all weights of a transformer except for those of its last layers.

    transformer (Model): spacy-transformers' model.
    n_layers (int): How many of its layers are trained.
    """
    network = get_network(transformer)
    before = {name: w.requires_grad for name, w in network.named_parameters()}
    trained = {id(w) for layer in get_layers(network)[-n_layers:] for w in layer}
    for weight in network.parameters():
        weight.requires_grad_(id(weight) in trained)
    try:
        yield
    finally:
        network.zero_grad()
        for name, weight in network.named_parameters():
            weight.requires_grad_(before[name])


def get_network(model: Model) -> Any:
    """The PyTorch network inside a model, or None."""
    networks = [
        shim._model
        for node in model.walk()
        for shim in node.shims
        if isinstance(shim, PyTorchShim)
    ]
    return networks[0] if networks else None


def get_layers(network: Any) -> list[list[Any]]:
    """The weights of each layer, of which all transformers have a list."""
    from torch import nn

    lists = [part for part in network.modules() if isinstance(part, nn.ModuleList)]
    longest = max(lists, key=len, default=nn.ModuleList())
    return [list(layer.parameters()) for layer in longest]
