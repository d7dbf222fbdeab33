"""Give memory back that isn't used any more."""

import ctypes
from functools import cache
from typing import Any


def return_memory() -> None:
    """Give free memory back to the system.

    A training frees arrays of all sizes all the time. The C library keeps what lies
    between those in use, which grows to several times of what is needed.
    """
    trim = _find_trim()
    if trim is not None:
        trim(0)


@cache
def _find_trim() -> Any:
    """Find a function of the GNU C library. Other libraries don't have it."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
