"""Processes that something happens to at a certain step."""

import os
import signal
import sys
import traceback

import pytest

# What Python tells before it changes something on the disk.
GROWING = {"open", "os.mkdir", "os.rename", "shutil.copyfile", "tempfile.mkdtemp"}
EXCHANGING = "ctypes.dlsym"
STEPS = {*GROWING, EXCHANGING, "os.remove", "os.rmdir"}


def make_pipe(path):
    """Make a named pipe, or skip the test where there are none."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)


def start(function):
    """Start a function in a process of its own. RETURNS (int): The process."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    child = os.fork()
    if not child:
        code = 3
        try:
            # A process in the background may have been told to ignore it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            function()
            code = 0
        except (KeyboardInterrupt, OSError):
            code = 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def wait(child):
    """Wait until a process has ended.

    child (int): The process.
    RETURNS (int): 0 if it went well, 1 if it was interrupted or failed as a disk does,
        3 if it failed otherwise, or the negative signal that ended it.
    """
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_in_child(function):
    """Run a function in a process of its own. RETURNS (int): How it ended."""
    return wait(start(function))


class Faults:
    """Strikes a function before each of its steps. It can't be taken back, and belongs
    into a process of its own.
    """

    def __init__(self):
        self.steps = []
        self.wanted = self.fault = None
        sys.addaudithook(self._hear)

    def _hear(self, event, args):
        if event not in STEPS or (event == "open" and not args[2] & os.O_CREAT):
            return
        self.steps.append(event)
        if len(self.steps) - 1 != self.wanted:
            return
        if isinstance(self.fault, signal.Signals):
            os.kill(os.getpid(), self.fault)
        elif event in GROWING:
            raise OSError(self.fault, os.strerror(self.fault))

    def strike(self, function, step, fault):
        """Run a function, and let something happen before one of its steps.

        function (Callable[[], object]): The function.
        step (Optional[int]): The number of the step.
        fault (Union[signal.Signals, int]): A signal, or an error of the disk.
        RETURNS (List[str]): The steps.
        """
        self.steps, self.wanted, self.fault = [], step, fault
        try:
            function()
        except (KeyboardInterrupt, OSError):
            assert step is not None
        finally:
            self.wanted = None
        return self.steps
