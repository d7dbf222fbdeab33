"""Episodes: small tasks of a few types, each with a support set and a query set."""

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import CorpusError
from .corpus import Corpus
from .docs import drop_overlapping, make_doc
from .documents import Document, Reading, TokenDocument
from .files import get_hash
from .readers.json_lines import PARTS, read_json
from .sampling import EpisodeSampler

DRAWN = 500  # by default


class Episode(NamedTuple):
    """The support and the query set of a small task."""

    support: list[Doc]
    query: list[Doc]

    @property
    def types(self) -> list[str]:
        """Return the types of the support set."""
        return sorted({ent.label_ for doc in self.support for ent in doc.ents})


def read_episodes(path: Path, vocab: Vocab | None = None) -> list[Episode]:
    """Read episodes as Few-NERD releases them: JSON Lines, each with a support and a
    query set.
    """
    vocab = vocab or Vocab()
    parts: dict[int, dict[str, list[Doc]]] = defaultdict(lambda: {p: [] for p in PARTS})
    for document in read_json(path, Reading()):
        number, part, doc = _read_sentence(path, document, vocab)
        parts[number][part].append(doc)
    if not parts:
        raise CorpusError(path, "there are no episodes in it")
    return [Episode(**parts[number]) for number in sorted(parts)]


def _read_sentence(
    path: Path, document: Document, vocab: Vocab
) -> tuple[int, str, Doc]:
    meta = document.meta or {}
    if "episode" not in meta or not isinstance(document, TokenDocument):
        reason = "it isn't an episode, which has a support and a query set"
        raise CorpusError(path, reason, document.line)
    (sentence,) = document.sentences
    entities = drop_overlapping(sentence.entities, Counter())
    doc = make_doc(vocab, [sentence._replace(entities=entities)])
    return int(meta["episode"]), str(meta["part"]), doc


class EpisodeSet(NamedTuple):
    """Episodes of a file, or drawn from a corpus.

    numbers (range): Their numbers.
    get (Callable[[int], Episode]): Returns the episode of a number.
    description (Dict[str, Any]): The file and the settings that reproduce them.
    """

    numbers: range
    get: Callable[[int], Episode]
    description: dict[str, Any]


def open_episodes(path: Path, count: int | None, draw: dict[str, int]) -> EpisodeSet:
    """Read episodes, or draw them from a corpus.

    path (Path): The file, or a .spacy corpus.
    count (Optional[int]): The number of episodes, by default all of a file, or 500.
    draw (Dict[str, int]): Arguments of `EpisodeSampler`.
    """
    if path.suffix != ".spacy":
        known = read_episodes(path)[:count]
        if not any(doc.ents for episode in known for doc in episode.query):
            reason = "the query sets have no entities, so nothing can be scored"
            raise CorpusError(path, reason)
        how = {"file": path.name, "sha256": get_hash(path), "count": len(known)}
        return EpisodeSet(range(len(known)), known.__getitem__, how)
    corpus = Corpus(path)
    sampler = EpisodeSampler(corpus.mentions, **draw)
    count = count or DRAWN

    def get(number: int) -> Episode:
        _, support, query = sampler.draw(number)
        docs = corpus.docs
        return Episode([docs[i] for i in support], [docs[i] for i in query])

    how = {"file": path.name, "sha256": corpus.hash, "count": count, **draw}
    return EpisodeSet(range(count), get, how)
