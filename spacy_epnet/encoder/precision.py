"""What the machine computes fastest in."""

from typing import Any

import torch


def has_bfloat16() -> bool:
    """Whether the CPU multiplies bfloat16 in hardware.

    Others emulate it, at a fraction of the speed of float32.
    """
    get_capabilities = getattr(torch.cpu, "get_capabilities", dict)  # recent PyTorch
    capabilities: dict[str, Any] = get_capabilities()
    return any(capabilities.get(key) for key in ("amx_bf16", "avx512_bf16", "bf16"))


def get_fastest_dtype(device: torch.device) -> torch.dtype:
    """What a device computes in where rounding doesn't matter."""
    if device.type == "cuda":
        has_it = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        has_it = device.type == "cpu" and has_bfloat16()
    return torch.bfloat16 if has_it else torch.float32
