"""Store how training changed an encoder in a few bytes.

    weights after training = weights before + step of the row x whole number

The whole numbers are from -7 to 7, two in a byte. What is no matrix is kept as it is.
"""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

Weights: TypeAlias = Mapping[str, Tensor]

STEPS = ".steps"  # added to the name of a matrix
LARGEST = 7
OFFSET, BASE = 8, 16  # of the digits that whole numbers are written as


def is_origin(before: Weights, after: Weights) -> bool:
    """Check whether training can have made weights of others.

    They have the same names and sizes, and matrices that are nearer to the others than
    to nothing: those of an encoder that has nothing to do with them are farther away.
    """
    if [(n, w.shape) for n, w in before.items()] != [
        (n, w.shape) for n, w in after.items()
    ]:
        return False
    matrices = [
        (w.float(), before[n].float()) for n, w in after.items() if w.dim() == 2
    ]
    distance = sum(float((new - old).square().sum()) for new, old in matrices)
    return distance < sum(float(new.square().sum()) for new, _ in matrices)


def find_changes(before: Weights, after: Weights) -> dict[str, Tensor]:
    """Find how training has changed the weights of an encoder."""
    changes = {}
    for name, weight in after.items():
        difference = weight.float() - before[name].float()
        if not difference.any():
            continue
        if difference.dim() != 2:
            changes[name] = difference
            continue
        steps = difference.abs().amax(dim=1, keepdim=True) / LARGEST
        numbers = difference / steps.clamp(min=torch.finfo(torch.float32).tiny)
        changes[name] = write_numbers(numbers.round())
        changes[name + STEPS] = steps
    return changes


def apply_changes(network: nn.Module, changes: Weights) -> None:
    """Apply what `find_changes` gave to an encoder."""
    weights = network.state_dict()
    with torch.no_grad():
        for name, change in changes.items():
            if name.endswith(STEPS):
                continue
            steps = changes.get(name + STEPS)
            if steps is not None:
                change = read_numbers(change, weights[name].shape[1]) * steps
            weights[name] += change


def write_numbers(numbers: Tensor) -> Tensor:
    """Write rows of whole numbers from -7 to 7, two in a byte."""
    digits = pad(numbers, (0, numbers.shape[1] % 2)) + OFFSET
    return (digits[:, ::2] * BASE + digits[:, 1::2]).to(torch.uint8)


def read_numbers(written: Tensor, length: int) -> Tensor:
    """Read rows of so many whole numbers."""
    digits = torch.stack([written // BASE, written % BASE], dim=-1).flatten(1)
    return digits[:, :length].float() - OFFSET
