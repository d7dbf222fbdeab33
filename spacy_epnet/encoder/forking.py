"""What a forked process needs to know about threads."""

import os
import sys
from functools import cache


@cache
def survive_forks() -> None:
    """Let processes that are forked from now on compute on one thread.

    A worker of `nlp.pipe` inherits PyTorch's thread pool without its threads, and would
    wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_work_alone)


def _work_alone() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
