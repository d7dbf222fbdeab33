"""Read and write spaCy's binary format, without trust in what is read."""

import gc
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spacy.attrs import ORTH
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import CorpusError
from ..writing import write_whole
from .files import Progress, check_unpacked, open_binary
from .labels import is_label

# Attributes of a corpus. Fewer columns are written faster.
ATTRS = ["ENT_IOB", "ENT_TYPE", "SENT_START"]
SHARD_SIZE = 20_000
PATTERN = "*.spacy"  # of the files of a corpus that is a folder
SHARD_NAME = re.compile(r"\d{5}\.spacy")
PIECE = 1 << 20  # bytes that are unpacked at once


def read_docs(
    path: Path, vocab: Vocab, progress: Progress = lambda count: None
) -> Iterator[Doc]:
    """Read the docs of a `.spacy` file."""
    with open_binary(path, progress) as file:
        data = file.read()
    _check_size(data, path)
    try:
        for doc in DocBin(store_user_data=True).from_bytes(data).get_docs(vocab):
            _check_doc(doc)
            yield doc
    except Exception as err:
        gc.enable()  # which srsly switches off, and leaves so after an error
        # Errors come from anywhere in spaCy, msgpack or NumPy.
        reason = " ".join(str(err).split()) or type(err).__name__
        raise CorpusError(path, f"not a DocBin: {reason}") from err


def _check_size(data: bytes, path: Path) -> None:
    """Unpack a DocBin piece by piece, and refuse one that is too large."""
    unpacker = zlib.decompressobj()
    size = 0
    try:
        while data and not unpacker.eof:
            size += len(unpacker.decompress(data, PIECE))
            data = unpacker.unconsumed_tail
            check_unpacked(size, path)
    except zlib.error:
        return  # raised again when it is read


def _check_doc(doc: Doc) -> None:
    """Refuse annotation that spaCy can't have written."""
    if not doc.to_array(ORTH).all():
        raise ValueError("a token is empty")
    if not all(is_label(ent.label_) for ent in doc.ents):
        raise ValueError("the type of an entity is blank")
    for group in doc.spans.values():
        if not all(0 <= span.start <= span.end <= len(doc) for span in group):
            raise ValueError("a span is no part of its doc")


class ShardWriter:
    """Write docs to files of a size, which is as many as are held in memory."""

    def __init__(self, folder: Path, shard_size: int):
        self.folder = folder
        self.shard_size = shard_size
        self.shards: list[Path] = []
        self._docs = DocBin(attrs=ATTRS)

    def add(self, doc: Doc) -> None:
        """Add a doc."""
        if doc.user_data and not self._docs.store_user_data:
            # Storing it is slow, so it is done from the first doc that has any.
            self.finish()
            self._docs = DocBin(attrs=ATTRS, store_user_data=True)
        self._docs.add(doc)
        if len(self._docs) == self.shard_size:
            self.finish()

    def finish(self) -> list[Path]:
        """Write the remaining docs, and return all files."""
        if len(self._docs):
            self.shards.append(self.folder / f"{len(self.shards):05}.spacy")
            self._docs.to_disk(self.shards[-1])
            self._docs = DocBin(attrs=ATTRS)
        return self.shards


@contextmanager
def open_shards(output: Path, shard_size: int = SHARD_SIZE) -> Iterator[ShardWriter]:
    """Write docs to a file, or to a folder of files if they don't fit into one. An
    earlier one is replaced if there was no error.
    """
    with write_whole(output, may_replace=is_sharded) as target:
        folder = target.with_name("shards")
        folder.mkdir()
        writer = ShardWriter(folder, shard_size)
        yield writer
        shards = writer.finish()
        (shards[0] if len(shards) == 1 else folder).rename(target)


def is_sharded(folder: Path) -> bool:
    """Check whether a folder has shards of a corpus and nothing else."""
    return all(SHARD_NAME.fullmatch(file.name) for file in folder.iterdir())
