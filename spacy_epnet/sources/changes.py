"""What training has changed of an encoder, in few bytes.

    weights after training = weights before + step of the row x whole number

The whole numbers are from -127 to 127. What is no matrix is kept as it is.
"""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn

Weights: TypeAlias = Mapping[str, Tensor]

STEPS = ".steps"  # added to the name of a matrix
LARGEST = 127


def find_changes(before: Weights, after: Weights) -> dict[str, Tensor]:
    """Find what is different.

    before (Mapping[str, Tensor]): The weights of the encoder.
    after (Mapping[str, Tensor]): The same after training.
    RETURNS (Dict[str, Tensor]): What has changed.
    """
    changes = {}
    for name, weight in after.items():
        difference = weight.float() - before[name].float()
        if not difference.any():
            continue
        if difference.dim() < 2:
            changes[name] = difference
            continue
        steps = difference.abs().amax(dim=1, keepdim=True) / LARGEST
        numbers = difference / steps.clamp(min=torch.finfo(torch.float32).tiny)
        changes[name] = numbers.round().to(torch.int8)
        changes[name + STEPS] = steps
    return changes


def apply_changes(network: nn.Module, changes: Weights) -> None:
    """Make the changes to an encoder.

    network (nn.Module): The encoder.
    changes (Mapping[str, Tensor]): What `find_changes` gave.
    """
    weights = network.state_dict()
    with torch.no_grad():
        for name, change in changes.items():
            if name.endswith(STEPS):
                continue
            steps = changes.get(name + STEPS)
            weights[name] += change if steps is None else change.float() * steps
