"""How what a recognizer has learned is saved and loaded."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import srsly
from spacy import util

from ..errors import LoadingError
from ..hashes import HASHES, HASHES_FIELD, add_hashes, check_hashes
from .contract import Contract


class SavedRecognizer(Contract):
    """Saves what was learned, and loads all of it or nothing. The settings are saved
    with the pipeline, in its config.
    """

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Save the component to a bytestring.

        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (bytes): What was learned. The settings are the pipeline's.
        """
        vocab = {"vocab": lambda: self.vocab.to_bytes(exclude=exclude)}
        parts = {**self._save(exclude), **util.to_dict(vocab, exclude)}
        return srsly.msgpack_dumps(parts)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to disk.

        path (Union[str, Path]): The folder.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        """
        vocab = {"vocab": lambda p: self.vocab.to_disk(p, exclude=exclude)}
        folder = util.to_disk(path, vocab, exclude)
        for name, data in self._save(exclude).items():
            (folder / name).write_bytes(data)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()):
        """Load the component from a bytestring.

        bytes_data (bytes): What `to_bytes` gave.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """

        def load() -> None:
            parts = srsly.msgpack_loads(bytes_data)
            vocab = {"vocab": lambda b: self.vocab.from_bytes(b, exclude=exclude)}
            util.from_dict(parts, vocab, exclude)
            self._take(parts, exclude)

        return self._load(load)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()):
        """Load the component from disk.

        path (Union[str, Path]): What `to_disk` wrote.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """

        def load() -> None:
            vocab = {"vocab": lambda p: self.vocab.from_disk(p, exclude=exclude)}
            folder = util.from_disk(path, vocab, exclude)
            files = [folder / name for name in ("learned", "model", HASHES)]
            parts = {f.name: f.read_bytes() for f in files if f.is_file()}
            self._take(parts, exclude)

        return self._load(load)

    def _save(self, exclude: Iterable[str]) -> dict[str, bytes]:
        """What was learned, in parts."""
        writers = {
            "learned": lambda: srsly.json_dumps(self.learned, indent=2).encode("utf8"),
            "model": self.model.to_bytes,
        }
        parts = util.to_dict(writers, exclude)
        return parts if HASHES_FIELD in exclude else add_hashes(parts)

    def _take(self, parts: dict[str, bytes], exclude: Iterable[str]) -> None:
        """Learn what `_save` gave, if it is whole."""
        readers = {
            "learned": lambda b: self._set_learned(srsly.json_loads(b)),
            "model": lambda b: self.model.from_bytes(b),
        }
        missing = {*readers} - {*exclude, *parts}
        if missing:
            raise ValueError(f"{' and '.join(sorted(missing))} is missing")
        if HASHES_FIELD not in exclude:
            check_hashes(parts, self.name, exclude=exclude)
        util.from_dict(parts, readers, exclude)

    def _set_learned(self, learned: dict[str, Any]) -> None:
        missing = set(self.learned) - set(learned)
        if missing:
            raise ValueError(f"{', '.join(sorted(missing))} is missing")
        self.learned = learned
        for label in self.labels:
            self.vocab.strings.add(label)

    def _load(self, load: Callable[[], Any]):
        """Load all or nothing."""
        model, learned = self.model, self.learned
        try:
            if self.is_ready:
                # There are weights to lose, so try it on a copy first.
                self.model = deepcopy(model)
                load()
                self.check_learned()
                self.model = model
            load()
            self.check_learned()
        except Exception as err:
            self.model, self.learned = model, learned
            if isinstance(err, OSError):
                raise
            reason = " ".join(str(err).split()) or type(err).__name__
            raise LoadingError(
                f"Can't load the weights of '{self.name}': {reason}. The file is "
                "damaged or was written by another kind of component or with other "
                "settings. Nothing was changed."
            ) from err
        return self
