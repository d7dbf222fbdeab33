"""Finish in good order when a training is interrupted."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Interruption:
    """Whether somebody wants the work to end."""

    is_asked_for: bool = False


@contextmanager
def catch_interruption() -> Iterator[Interruption]:
    """Note Ctrl-C, and the signal to terminate, instead of ending at once. A second one
    ends the work as usual.

    YIELDS (Interruption): Whether one has come.
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: object) -> None:
        interruption.is_asked_for = True
        signal.signal(number, before[signal.Signals(number)])

    for number in SIGNALS:
        signal.signal(number, note)
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
