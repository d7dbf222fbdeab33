"""Times that take turns, ratios with their spread, and memory of a process."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any


def get_seconds(function: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def take_turns(
    contestants: dict[str, Callable[[Any], object]],
    blocks: Sequence[Any],
    *,
    measure: Callable[[Callable[[], Any]], float] = get_seconds,
    on_block: Callable[[int], object] = lambda count: None,
) -> dict[str, list[float]]:
    """Time contestants on blocks of work, all on one block before the next.

    A machine is faster at one time than at another. Who begins changes from block to
    block, so that all have the same share of it.

    contestants (Dict[str, Callable[[Any], object]]): What each does with a block.
    blocks (Sequence[Any]): The work.
    measure (Callable[[Callable[[], Any]], float]): Calls a contestant and returns the
        seconds: `operator.call` if it returns them itself.
    on_block (Callable[[int], object]): Told how many blocks are done.
    RETURNS (Dict[str, List[float]]): The seconds of each contestant for each block.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for i, block in enumerate(blocks):
        turn = i % len(names)
        for name in names[turn:] + names[:turn]:
            seconds[name].append(measure(partial(contestants[name], block)))
        on_block(i + 1)
    return seconds


def compare(seconds: list[float], others: list[float]) -> dict[str, float]:
    """Compute how many times as fast one is as another, by their seconds for the same
    blocks: the middle, smallest and largest ratio of a block, and that of all the work.
    The middle one doesn't depend on what else a machine did during a block.
    """
    ratios = [b / a for a, b in zip(seconds, others, strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "total": sum(others) / sum(seconds),
    }


def show(comparison: dict[str, float]) -> str:
    """Format a ratio with its spread."""
    return "{ratio:.2f} ({low:.2f}-{high:.2f})".format(**comparison)


def judge(
    value: float, *, least: float | None = None, most: float | None = None
) -> str:
    """Format a goal and whether it is reached."""
    if least is not None:
        return f">= {least:g}: {'reached' if value >= least else 'missed'}"
    assert most is not None
    return f"<= {most:g}: {'reached' if value <= most else 'missed'}"


def read_own_peak() -> float:
    """Return the peak memory of this process since it began or was last reset, in MB.

    Linux only: what getrusage tells includes the parent's memory at the start.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forget_own_peak() -> None:
    """Count the peak from now on, and not what loading took before."""
    Path("/proc/self/clear_refs").write_text("5")


def run_apart(module: str, *arguments: str) -> str:
    """Run a module in a process of its own, and give what it prints last."""
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout.strip().splitlines()[-1]
