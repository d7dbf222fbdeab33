"""Episodes: small tasks of a few types, each with a support set and a query set."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import CorpusError
from .corpus import Corpus
from .docs import make_doc
from .documents import Reading, TokenDocument
from .files import get_hash
from .readers.json_lines import SUPPORT, read_json
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


def read_episodes(path: Path) -> list[Episode]:
    """Read episodes as Few-NERD releases them: JSON Lines, each with a support and a
    query set.
    """
    vocab = Vocab()
    episodes: dict[str | int, Episode] = defaultdict(lambda: Episode([], []))
    for document in read_json(path, Reading()):
        if not isinstance(document, TokenDocument) or document.meta is None:
            reason = "it isn't an episode, which has a support and a query set"
            raise CorpusError(path, reason, document.line)
        episode = episodes[document.meta["episode"]]
        docs = episode.support if document.meta["part"] == SUPPORT else episode.query
        try:
            docs.append(make_doc(vocab, document.sentences))
        except UnicodeEncodeError as err:
            reason = "a word has half of a character"
            raise CorpusError(path, reason, document.line) from err
    if not episodes:
        raise CorpusError(path, "there are no episodes in it")
    return list(episodes.values())


class EpisodeSet(NamedTuple):
    """Episodes of a file, or drawn from a corpus."""

    numbers: range
    get: Callable[[int], Episode]  # of a number
    description: dict[str, Any]  # the file and the settings that reproduce them


def open_episodes(path: Path, count: int | None, draw: dict[str, int]) -> EpisodeSet:
    """Read episodes, by default all of a file, or draw them from a .spacy corpus, with
    arguments of `EpisodeSampler`.
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
        drawn = sampler.draw(number)
        docs = corpus.docs
        return Episode([docs[i] for i in drawn.support], [docs[i] for i in drawn.query])

    how = {"file": path.name, "sha256": corpus.hash, "count": count, **draw}
    return EpisodeSet(range(count), get, how)
