"""How what a recogniser has learned is saved and loaded."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import srsly
from spacy import util

from ..errors import Errors
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
        return util.to_bytes(
            {
                "learned": lambda: srsly.json_dumps(self.learned),
                "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
                "model": self.model.to_bytes,
            },
            exclude,
        )

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to disk.

        path (Union[str, Path]): The folder.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        """
        util.to_disk(
            path,
            {
                "learned": lambda p: srsly.write_json(p, self.learned),
                "vocab": lambda p: self.vocab.to_disk(p, exclude=exclude),
                "model": lambda p: self.model.to_disk(p),
            },
            exclude,
        )

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()):
        """Load the component from a bytestring.

        bytes_data (bytes): What `to_bytes` gave.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """
        readers = {
            "learned": lambda b: self._set_learned(srsly.json_loads(b)),
            "vocab": lambda b: self.vocab.from_bytes(b, exclude=exclude),
            "model": lambda b: self.model.from_bytes(b),
        }
        return self._load(partial(util.from_bytes, bytes_data, readers, exclude))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()):
        """Load the component from disk.

        path (Union[str, Path]): What `to_disk` wrote.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """
        readers = {
            "learned": lambda p: self._set_learned(srsly.read_json(p)),
            "vocab": lambda p: self.vocab.from_disk(p, exclude=exclude),
            "model": lambda p: self.model.from_bytes(p.read_bytes()),
        }
        return self._load(partial(util.from_disk, path, readers, exclude))

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
            raise ValueError(
                Errors.EP007.format(name=self.name, reason=reason)
            ) from err
        return self
