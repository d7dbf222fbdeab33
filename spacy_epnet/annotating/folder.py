"""The folder with the output, which says what is done.

    manifest.json   what is annotated with what, and at the end how much it was
    done.jsonl      a line for each shard that is done
    shards/         a file for each shard
    rejects/        a file for each shard of which something couldn't be annotated
    rejects.jsonl   all of these, at the end

A shard is done when its line is there. It comes last, so that after an interruption a
shard is annotated again, and replaces itself.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import srsly

from ..errors import CorpusError, OutputError
from ..writing import write_whole
from .annotator import Result
from .shards import SUFFIXES, Layout, to_json_line

MANIFEST = "manifest.json"
DONE = "done.jsonl"
SHARDS = "shards"
REJECTS = "rejects"
REJECTED = "rejects.jsonl"
LOCK = ".lock"
COUNTS = ("records", "rejected", "words", "entities", "size")


class Folder:
    """An output, old or new.

    path (Path): The folder.
    layout (Layout): How shards are written.
    """

    def __init__(self, path: Path, layout: Layout):
        self.path = path
        self.layout = layout
        self.done: dict[int, dict[str, int]] = {}

    @contextmanager
    def open(self, description: dict[str, Any]) -> Iterator[None]:
        """Begin an output, or go on with one that is of the same.

        description (Dict[str, Any]): What tells this output from others.
        """
        self._check(description)
        self.path.mkdir(parents=True, exist_ok=True)
        with lock(self.path):
            self._check(description)  # another run may have been quicker
            if not (self.path / MANIFEST).exists():
                self._write_manifest(description)
            self.done = {line["shard"]: line for line in self._read_done()}
            with write_whole(self.path / DONE) as path:
                path.write_bytes(b"".join(map(to_json_line, self.done.values())))
            with (self.path / DONE).open("ab") as self._journal:
                yield

    def _check(self, description: dict[str, Any]) -> None:
        """Refuse to write into a folder that has something else."""
        if self.path.exists() and not self.path.is_dir():
            raise CorpusError(self.path, "there is a file at this place")
        if not any(self.path.glob("[!.]*")):
            return
        found = self._read_manifest().get("annotation")
        if not isinstance(found, dict):
            raise CorpusError(self.path, "there is a folder with other files here")
        changed = [key for key, value in description.items() if found.get(key) != value]
        if changed:
            raise OutputError(
                f"The output in '{self.path}' is of another annotation, which differs "
                f"in: {', '.join(changed)}. Go on with what it was begun with, choose "
                "another folder, or remove it to begin anew."
            )

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = srsly.read_json(self.path / MANIFEST)
        except (OSError, ValueError):
            return {}
        return manifest if isinstance(manifest, dict) else {}

    def _write_manifest(self, description: dict[str, Any], **more: Any) -> None:
        with write_whole(self.path / MANIFEST) as path:
            srsly.write_json(path, {"annotation": description, **more})

    def _read_done(self) -> Iterator[dict[str, int]]:
        if not (self.path / DONE).exists():
            return
        for line in (self.path / DONE).read_bytes().splitlines():
            try:
                done = json.loads(line)
            except ValueError:  # it was being written
                continue
            if not isinstance(done, dict) or not {"shard", *COUNTS} <= {*done}:
                raise CorpusError(self.path / DONE, "it was changed by something else")
            if self.get_place(done["shard"]).exists():
                yield done

    def get_place(self, number: int) -> Path:
        """Where the file of a shard is."""
        return self.path / SHARDS / f"{number:08}{SUFFIXES[self.layout.format]}"

    def add(self, shard: int, size: int, result: Result) -> None:
        """Write a shard that was annotated.

        shard (int): Its number.
        size (int): Bytes of the input that it was made of.
        result (Result): What has become of its records.
        """
        rejects = self.path / REJECTS / f"{shard:08}.jsonl"
        if result.rejects:
            lines = [to_json_line(reject._asdict()) for reject in result.rejects]
            with write_whole(rejects) as path:
                path.write_bytes(b"".join(lines))
        else:
            rejects.unlink(missing_ok=True)
        with write_whole(self.get_place(shard)) as path, path.open("wb") as file:
            file.write(result.data)
            file.flush()
            os.fsync(file.fileno())
        done = {
            "shard": shard,
            "records": result.records,
            "rejected": len(result.rejects),
            "words": result.words,
            "entities": result.entities,
            "size": size,
        }
        self._journal.write(to_json_line(done))
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self.done[shard] = done

    def count(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): How much is done of everything."""
        return {name: sum(d[name] for d in self.done.values()) for name in COUNTS}

    def read_rejects(self) -> Iterator[dict[str, str]]:
        """Read what couldn't be annotated.

        YIELDS (Dict[str, str]): The records, and the reasons.
        """
        together = self.path / REJECTED
        for path in [together] if together.exists() else self._list_rejects():
            yield from srsly.read_jsonl(path)

    def _list_rejects(self) -> list[Path]:
        return sorted((self.path / REJECTS).glob("[!.]*"))

    def is_finished(self) -> bool:
        """RETURNS (bool): Whether an earlier run has done everything."""
        return "finished" in self._read_manifest()

    def finish(self, description: dict[str, Any]) -> None:
        """Note that everything is done.

        description (Dict[str, Any]): What tells this output from others.
        """
        if not self.is_finished():
            files = self._list_rejects()
            if files:
                with (
                    write_whole(self.path / REJECTED) as path,
                    path.open("wb") as together,
                ):
                    for file in files:
                        together.write(file.read_bytes())
            counts = {"shards": len(self.done), **self.count()}
            self._write_manifest(description, finished=counts)
        shutil.rmtree(self.path / REJECTS, ignore_errors=True)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keep other runs from writing to a folder. However this one ends, that ends too.

    folder (Path): The folder.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # on Windows
        yield
        return
    with (folder / LOCK).open("a") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except OSError as err:
            raise CorpusError(folder, "another run is writing to it") from err
        yield
