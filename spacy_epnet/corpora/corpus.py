"""Read a corpus, and write support sets with manifests that reproduce them."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import srsly
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import CorpusError
from ..writing import check_outputs, write_whole
from .docbins import ATTRS, PATTERN, read_docs
from .files import get_hash, list_files, read_text

Manifest: TypeAlias = dict[str, Any]


def get_manifest_path(support: Path) -> Path:
    """Return the manifest of a support set."""
    return support.with_suffix(".json")


def check_support_places(outputs: list[Path], inputs: Iterable[Path]) -> None:
    """Refuse to replace other files by support sets or their manifests."""
    manifests = [get_manifest_path(path) for path in outputs]
    check_outputs([*outputs, *manifests], inputs)
    for path in manifests:
        if path.exists() and not is_manifest(path):
            reason = "the manifest would replace it. Choose another name for the set"
            raise CorpusError(path, reason)


def is_manifest(path: Path) -> bool:
    """Check whether a file is the manifest of a support set."""
    try:
        found = srsly.read_json(path)
    except ValueError:
        return False
    return isinstance(found, dict) and {"corpus_sha256", "indices"} <= {*found}


def is_index(value: object) -> bool:
    """Check whether a value can be the index of a sentence."""
    text = str(value)
    return text.isdecimal() and len(text) < 20


def _get_annotation(doc: Doc) -> tuple[list[str], list[tuple[int, int, str]]]:
    entities = [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    return [token.text for token in doc], entities


class Corpus:
    """A corpus to sample from, which is a `.spacy` file or a folder of them."""

    def __init__(self, path: Path, vocab: Vocab | None = None):
        self.path = path
        self.docs: list[Doc] = []
        vocab = vocab or Vocab()
        digest = hashlib.sha256()
        for file in list_files([path], PATTERN):
            digest.update(file.read_bytes())
            self.docs += read_docs(file, vocab)
        self.hash = digest.hexdigest()
        self.mentions = [Counter(ent.label_ for ent in doc.ents) for doc in self.docs]
        self.totals: Counter[str] = sum(self.mentions, Counter())

    def describe(self, indices: list[int], **settings: str | int) -> Manifest:
        """Make the manifest of a support set, which reproduces it, with settings that
        tell how the sentences were chosen.
        """
        counts: Counter[str] = sum((self.mentions[i] for i in indices), Counter())
        return {
            "corpus": self.path.name,
            "corpus_sha256": self.hash,
            "corpus_sentences": len(self.docs),
            **settings,
            "sentences": len(indices),
            "indices": indices,
            "counts": dict(sorted(counts.items())),
        }

    def write_support(
        self, output: Path, indices: list[int], **settings: str | int
    ) -> Manifest:
        """Write a support set, and beside it its manifest, which has its hash. See
        `describe` for the arguments.
        """
        docs = [self.docs[i] for i in indices]
        support = DocBin(attrs=ATTRS, docs=docs, store_user_data=True)
        manifest = self.describe(indices, **settings)
        with (
            write_whole(get_manifest_path(output)) as beside,
            write_whole(output) as path,
        ):
            support.to_disk(path)
            manifest["support_sha256"] = get_hash(path)
            srsly.write_json(beside, manifest)
        return manifest

    def read_indices(self, path: Path) -> list[int]:
        """Read the sentences of a support set from a manifest, a JSON list, or a text
        with one index a line.
        """
        text = read_text(path)
        try:
            content = srsly.json_loads(text)
        except ValueError:
            content = text.split()
        manifest = content if isinstance(content, dict) else None
        values = content if manifest is None else manifest.get("indices")
        values = [values] if isinstance(values, int) else values
        if not isinstance(values, list) or not all(map(is_index, values)):
            reason = "it has no list of indices, which are whole numbers from 0"
            raise CorpusError(path, reason)
        indices = [int(value) for value in values]
        wrong = [i for i in indices if i >= len(self.docs)]
        if manifest is not None:
            self._check_manifest(manifest, [] if wrong else indices, path)
        if wrong or len(set(indices)) < len(indices):
            reason = f"indices must differ and lie between 0 and {len(self.docs) - 1}"
            raise CorpusError(path, f"{reason}: {wrong or 'one is listed twice'}")
        return indices

    def _check_manifest(
        self, manifest: Manifest, indices: list[int], path: Path
    ) -> None:
        """Refuse a manifest that doesn't agree with the corpus, or with the support set
        beside it.
        """
        expected = self.describe(indices)
        del expected["corpus"]  # which may have been renamed
        reason = f"it is about another corpus than {self.path}, or another conversion"
        if manifest.get("corpus_sha256") != self.hash:
            raise CorpusError(path, f"{reason} of it")
        differing = [key for key in expected if manifest.get(key) != expected[key]]
        if differing:
            reason = f"it was changed: {', '.join(differing)} don't fit {self.path}"
            raise CorpusError(path, reason)
        support = path.with_suffix(".spacy")
        if support.exists():
            docs = Corpus(support, self.docs[0].vocab if self.docs else None).docs
            chosen = [self.docs[i] for i in indices]
            if list(map(_get_annotation, docs)) != list(map(_get_annotation, chosen)):
                raise CorpusError(support, f"it isn't what {path.name} says it is")
