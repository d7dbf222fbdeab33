"""Run tasks in a checkout of the project, in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

PROBE = Path(__file__).with_name("probe.py")


class Checkout:
    """A checkout of the project, which is run by this interpreter and its packages, so
    that nothing but the project differs.

    name (str): What to call it.
    path (Path): Its root.
    folder (Path): A folder for what is made on the way.
    """

    def __init__(self, name: str, path: Path, folder: Path):
        self.name = name
        self.path = path.resolve()
        self.folder = folder / name
        self.cache = self.folder / "cache"
        metadata = self.folder / "metadata"
        metadata.mkdir(parents=True)
        # spaCy finds components by the metadata of packages, which a checkout lacks.
        command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base"]
        subprocess.run(
            [*command, str(metadata)],
            cwd=self.path,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(metadata), str(self.path)]),
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "ignore",
        }

    def start(self, task: str, *, threads: int | None = None, **request: Any) -> "Run":
        """Start a task of the probe, which is given the request as JSON. By default as
        many threads compute as there are cores.
        """
        environment = dict(self.environment)
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        # Without the folder of this script among the paths of modules.
        process = subprocess.Popen(
            [sys.executable, "-P", PROBE, task],
            cwd=self.path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        run = Run(f"{task} in {self.path}", process)
        run.send({"root": str(self.path), "cache": str(self.cache), **request})
        return run


class Run:
    """A task that runs: it answers each request with a line of JSON.

    name (str): What runs, for errors.
    process (subprocess.Popen): Its process.
    """

    def __init__(self, name: str, process: "subprocess.Popen[str]"):
        self.name = name
        self.process = process

    def send(self, request: dict[str, Any]) -> None:
        """Send a request."""
        stdin = cast(IO[str], self.process.stdin)
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()

    def read(self) -> Any:
        """Wait for an answer: what the task found."""
        line = cast(IO[str], self.process.stdout).readline()
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"{self.name} ended with exit code {code}")
        return json.loads(line)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()  # sends no more, and waits for the end


@dataclass
class Versions:
    """Two versions, and what they are compared with.

    old (Checkout): The version before.
    new (Checkout): The version after.
    corpora (Path): The folder with the corpora, one folder each.
    sources (List[str]): The shipped sources.
    encoders (Dict[str, str]): Folders of their encoders, as far as they are there.
    quick (bool): Whether to compare less, in a minute.
    """

    old: Checkout
    new: Checkout
    corpora: Path
    sources: list[str]
    encoders: dict[str, str]
    quick: bool

    def run(
        self, task: str, *, threads: int | None = None, **request: Any
    ) -> tuple[Any, Any]:
        """Return what a task finds in the old and in the new version, which run at
        once. See `Checkout.start` for the arguments.
        """
        request["encoders"] = self.encoders
        with (
            self.old.start(task, threads=threads, **request) as old,
            self.new.start(task, threads=threads, **request) as new,
        ):
            return old.read(), new.read()
