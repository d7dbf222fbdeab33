"""Training the upper layers of an encoder only."""

from torch import nn


def freeze_lower(network: nn.Module, trained_layers: int) -> None:
    """Keep all of an encoder as it is, but for its upper layers.

    A step takes less time then, and the embeddings of words that the training texts
    don't have stay where those of related words are.

    network (nn.Module): The encoder.
    trained_layers (int): How many of the upper layers are trained.
    """
    layers = list(find_layers(network))
    trained = layers[max(0, len(layers) - trained_layers) :]
    weights = {id(weight) for layer in trained for weight in layer.parameters()}
    for weight in network.parameters():
        weight.requires_grad_(id(weight) in weights)


def find_layers(network: nn.Module) -> nn.ModuleList:
    """The layers of an encoder, which are its longest list of modules."""
    lists = (part for part in network.modules() if isinstance(part, nn.ModuleList))
    return max(lists, key=len, default=nn.ModuleList())
