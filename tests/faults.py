"""Processes that something happens to at a certain step."""

import errno
import os
import signal
import sys
import traceback

# What Python tells before it does something to the disk.
EVENTS = {
    "ctypes.dlsym",  # before two folders change places
    "fcntl.flock",
    "open",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "shutil.copyfile",
    "shutil.rmtree",
    "tempfile.mkdtemp",
}
# What a full disk lets fail.
GROWING = {"open", "os.mkdir", "os.rename", "shutil.copyfile", "tempfile.mkdtemp"}


def run_in_child(function, *, before=lambda: None):
    """Run a function in a process of its own, which a signal may end.

    function (Callable[[], object]): The function.
    before (Callable[[], object]): Called in the process first.
    RETURNS (int): 0 if it went well, 1 if it failed, or the negative signal.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            # Else Ctrl-C is left to whoever reads a terminal.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            before()
            function()
            code = 0
        except (KeyboardInterrupt, OSError):
            pass
        except BaseException:
            traceback.print_exc()
            code = 3
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def list_steps(function, path):
    """What a function does to the disk, in a process of its own.

    function (Callable[[], object]): The function.
    path (Path): A file to note it in.
    RETURNS (List[str]): The events.
    """
    with path.open("w") as notes:

        def note(event, args):
            if event in EVENTS:
                notes.write(f"{event}\n")
                notes.flush()

        assert run_in_child(function, before=lambda: sys.addaudithook(note)) == 0
    return path.read_text().split()


def fail_at(step, fault):
    """Let something happen before a step.

    step (int): The number of the step.
    fault (Union[signal.Signals, int]): A signal, or an error number.
    RETURNS (Callable[[], None]): To be called in the process.
    """
    left = step

    def strike(event, args):
        nonlocal left
        if event in EVENTS:
            left -= 1
            if left == -1 and isinstance(fault, signal.Signals):
                os.kill(os.getpid(), fault)
            elif left == -1:
                raise OSError(fault, os.strerror(fault))

    return lambda: sys.addaudithook(strike)


FAULTS = [signal.SIGKILL, signal.SIGINT, errno.ENOSPC]
