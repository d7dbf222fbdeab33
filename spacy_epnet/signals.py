"""Ctrl-C and the signal to terminate: let them wait, or finish in good order."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Let signals wait until something is done."""
    held: dict[int, None] = {}
    try:
        with _handle(held.setdefault):
            yield
    finally:
        for number in held:
            signal.raise_signal(number)


@dataclass
class Interruption:
    """Whether somebody wants the work to end."""

    is_asked_for: bool = False


@contextmanager
def catch_interruption() -> Iterator[Interruption]:
    """Note a signal instead of ending at once. A second one ends the work as usual."""
    interruption = Interruption()

    def note(number: int) -> None:
        interruption.is_asked_for = True

    with _handle(note, once=True):
        yield interruption


@contextmanager
def _handle(act: Callable[[int], None], *, once: bool = False) -> Iterator[None]:
    """Let signals do something else, all of them or only the first of each kind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    before = {int(n): handler for n, handler in handlers.items() if handler is not None}

    def handle(number: int, frame: object) -> None:
        act(number)
        if once:
            signal.signal(number, before[number])

    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
