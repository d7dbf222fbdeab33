"""Worker processes, and the cores and the memory that they use."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from functools import cache
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

# What is slow to import, which only the first process of all has to do.
PRELOADED = ["spacy_epnet.adapting", "torch", "spacy_transformers"]


def count_cores() -> int:
    """RETURNS (int): The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def get_context() -> "ForkServerContext | SpawnContext":
    """Choose how processes are started: by copying one that has imported everything,
    where that is possible, and never one that computes, because its threads wouldn't be
    copied.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        return context
    return multiprocessing.get_context("spawn")


def belong_to_parent() -> None:
    """Let this process end when its parent does, however that ends, and leave it to the
    parent to be interrupted.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


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


def return_memory() -> None:
    """Give free memory back to the system, if the C library is GNU's.

    A training frees arrays of all sizes all the time. That library keeps what lies
    between those in use, which grows to several times of what is needed.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    trim(0)
