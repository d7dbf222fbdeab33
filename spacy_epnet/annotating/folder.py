"""Write the folder of an output, and know which shards are done.

    manifest.json   the input, the pipeline and the settings, and at the end the counts
    done.jsonl      a line for each shard that is done
    shards/         a file for each shard
    rejects/        a file for each shard with records that couldn't be annotated
    rejects.jsonl   all of these, at the end

A shard is done if its line is there, and its files are as the line says. The line is
written last, so that an interrupted shard is annotated again and replaces itself.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import srsly
from filelock import FileLock, Timeout

from ..errors import CorpusError, OutputError
from ..writing import write_whole
from .annotator import Result
from .output_formats import OUTPUT_FORMATS, Layout, Reject, to_json_line

MANIFEST = "manifest.json"
DONE = "done.jsonl"
SHARDS = "shards"
REJECTS = "rejects"
REJECTED = "rejects.jsonl"
LOCK = ".epnet-lock"
COUNTS = ("records", "rejected", "words", "entities", "size")
FIELDS = ("shard", *COUNTS, "bytes")


class OutputFolder:
    """Write an output, new or begun by an earlier run."""

    def __init__(self, path: Path, layout: Layout):
        self.path = path
        self.layout = layout
        self.done: dict[int, dict[str, int]] = {}  # the line of each shard

    @contextmanager
    def open(self, description: dict[str, Any]) -> Iterator[None]:
        """Begin an output, or continue one with the same description, which is of the
        input, the pipeline and the settings.
        """
        self._description = description
        self._check()
        self.path.mkdir(parents=True, exist_ok=True)
        with lock(self.path):
            self._check()  # another run may have been quicker
            self.done = {line["shard"]: line for line in self._read_done()}
            if not self.is_finished():
                self._write_manifest()
            with write_whole(self.path / DONE) as path:
                path.write_bytes(b"".join(map(to_json_line, self.done.values())))
            with (self.path / DONE).open("ab") as self._journal:
                yield

    def _check(self) -> None:
        """Refuse to write into a folder with other files or another output."""
        if self.path.exists() and not self.path.is_dir():
            raise CorpusError(self.path, "it is a file, and not a folder")
        if not any(self.path.glob("[!.]*")):
            return
        found = self._read_manifest().get("annotation")
        if not isinstance(found, dict):
            raise CorpusError(self.path, "the folder has other files")
        wanted = self._description.items()
        changed = [key for key, value in wanted if found.get(key) != value]
        if changed:
            raise OutputError(
                f"The output in '{self.path}' is of another annotation, which differs "
                f"in: {', '.join(changed)}. Continue with what it was begun with, "
                "choose another folder, or remove it to begin anew."
            )

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = srsly.read_json(self.path / MANIFEST)
        except (OSError, ValueError):
            return {}
        return manifest if isinstance(manifest, dict) else {}

    def _write_manifest(self, **more: Any) -> None:
        with write_whole(self.path / MANIFEST) as path:
            srsly.write_json(path, {"annotation": self._description, **more})

    def _read_done(self) -> Iterator[dict[str, int]]:
        if not (self.path / DONE).exists():
            return
        for line in (self.path / DONE).read_bytes().splitlines():
            try:
                done = json.loads(line)
            except ValueError:  # it was being written
                continue
            if not is_done_line(done):
                reason = "it was changed by something else. Remove the output"
                raise CorpusError(self.path / DONE, f"{reason} to begin anew")
            if self._is_intact(done):
                yield done

    def _is_intact(self, done: dict[str, int]) -> bool:
        """Check whether the files of a shard are as they were written."""
        path = self.get_path(done["shard"])
        has_rejects = self.get_rejects_path(done["shard"]).is_file()
        return (
            path.is_file()
            and path.stat().st_size == done["bytes"]
            and has_rejects == (done["rejected"] > 0)
        )

    def get_path(self, number: int) -> Path:
        """Return the file of a shard."""
        suffix = OUTPUT_FORMATS[self.layout.format].suffix
        return self.path / SHARDS / f"{number:08}{suffix}"

    def get_rejects_path(self, number: int) -> Path:
        """Return the file of records of a shard that were rejected."""
        return self.path / REJECTS / f"{number:08}.jsonl"

    def add(self, shard: int, size: int, result: Result) -> None:
        """Write a shard that was annotated, of so many bytes of the input."""
        rejects = self.get_rejects_path(shard)
        if result.rejects:
            lines = [to_json_line(reject._asdict()) for reject in result.rejects]
            with write_whole(rejects) as path:
                path.write_bytes(b"".join(lines))
        else:
            rejects.unlink(missing_ok=True)
        with write_whole(self.get_path(shard)) as path, path.open("wb") as file:
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
            "bytes": len(result.data),
        }
        self._journal.write(to_json_line(done))
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self.done[shard] = done

    def count(self) -> dict[str, int]:
        """Count the shards that are done, and what is in them."""
        counts = {name: sum(d[name] for d in self.done.values()) for name in COUNTS}
        return {"shards": len(self.done), **counts}

    def read_rejects(self) -> Iterator[Reject]:
        """Read the records that couldn't be annotated."""
        for path in self._list_rejects():
            for line in srsly.read_jsonl(path):
                yield Reject(**line)

    def _list_rejects(self) -> list[Path]:
        return [
            self.get_rejects_path(number)
            for number, done in sorted(self.done.items())
            if done["rejected"]
        ]

    def is_finished(self) -> bool:
        """Check whether all shards are done."""
        counts = self.count()
        has_rejects = (self.path / REJECTED).is_file() or not counts["rejected"]
        return has_rejects and self._read_manifest().get("finished") == counts

    def finish(self) -> None:
        """Note that all shards are done."""
        if self.is_finished():
            return
        files = self._list_rejects()
        if files:
            with write_whole(self.path / REJECTED) as path, path.open("wb") as together:
                for file in files:
                    together.write(file.read_bytes())
        self._write_manifest(finished=self.count())


def is_done_line(line: object) -> bool:
    """Check whether a line of `done.jsonl` is one that was written here."""
    return isinstance(line, dict) and all(
        type(line.get(name)) is int and line[name] >= 0 for name in FIELDS
    )


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keep other runs from writing to a folder, until this one ends in whatever way."""
    held = FileLock(folder / LOCK, blocking=False, thread_local=False)
    try:
        held.acquire()
    except Timeout as err:
        raise CorpusError(folder, "another run is writing to it") from err
    try:
        yield
    finally:
        held.release()
