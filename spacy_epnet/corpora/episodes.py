"""Episodes: a few types, a small support set and a small query set, many times over."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import CorpusError, EvaluationError, SettingError
from .corpus import Corpus
from .docs import drop_overlapping, make_doc
from .files import get_hash
from .readers import read_json
from .readers.json_lines import PARTS
from .reading import Document, Reading, TokenDocument

# How often types are chosen anew if there aren't enough sentences of them.
MAX_TRIES = 200
DRAWN = 500  # how many are drawn if it isn't said


class Episode(NamedTuple):
    """One small task of its own."""

    support: list[Doc]
    query: list[Doc]

    @property
    def types(self) -> list[str]:
        """RETURNS (List[str]): The types that are marked in the support set."""
        return sorted({ent.label_ for doc in self.support for ent in doc.ents})


class Draw(NamedTuple):
    """The types of an episode, and where its sentences are in a corpus."""

    types: list[str]
    support: list[int]
    query: list[int]


def read_episodes(path: Path, vocab: Vocab | None = None) -> list[Episode]:
    """Read episodes as Few-NERD releases them.

    path (Path): A file of JSON Lines, each with a support and a query set.
    vocab (Optional[Vocab]): The vocabulary of the docs.
    RETURNS (List[Episode]): The episodes, in order.
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
        reason = "it has no support and query, so that it isn't an episode"
        raise CorpusError(path, reason, document.line)
    (sentence,) = document.sentences
    entities = drop_overlapping(sentence.entities, Counter())
    doc = make_doc(vocab, [sentence._replace(entities=entities)])
    return int(meta["episode"]), str(meta["part"]), doc


class EpisodeSampler:
    """Draws N-way K~2K episodes by the rules of Few-NERD's: a sentence has entities of
    the episode's types only, each type is there K times or up to twice as often, and
    no sentence is in both sets.

    mentions (Sequence[Counter[str]]): The entities of each sentence by type.
    ways (int): N, the types of an episode.
    shots (int): K, for the support set.
    query_shots (int): K for the query set.
    seed (int): Decides what is drawn.
    """

    def __init__(
        self,
        mentions: Sequence[Counter[str]],
        *,
        ways: int,
        shots: int,
        query_shots: int,
        seed: int,
    ):
        self.mentions = mentions
        self.ways, self.shots, self.query_shots = ways, shots, query_shots
        self.seed = seed
        self.types = sorted({label for counts in mentions for label in counts})
        self._by_types: dict[frozenset[str], list[int]] = defaultdict(list)
        for i, counts in enumerate(mentions):
            if counts:
                self._by_types[frozenset(counts)].append(i)
        if ways > len(self.types):
            raise SettingError(
                f"There can't be episodes of {ways} types: the corpus has "
                f"{len(self.types)}. Ask for fewer with --ways."
            )

    def draw(self, number: int) -> Draw:
        """Draw an episode.

        number (int): Which one. It doesn't depend on those that were drawn before.
        RETURNS (Draw): Its types and sentences.
        """
        rng = random.Random(f"{self.seed}/{number}")
        short: Counter[str] = Counter()
        for _ in range(MAX_TRIES):
            types = sorted(rng.sample(self.types, self.ways))
            pool = self._list_pure({*types})
            rng.shuffle(pool)
            support, missing = self._fill(pool, types, self.shots)
            if not missing:
                rest = [i for i in pool if i not in {*support}]
                query, missing = self._fill(rest, types, self.query_shots)
                if not missing:
                    return Draw(types, support, query)
            short.update(missing)
        label, count = short.most_common(1)[0]
        raise EvaluationError(
            f"No episode of {self.ways} types was found in {MAX_TRIES} tries, with "
            f"{self.shots} to twice as many of each in the support set and "
            f"{self.query_shots} in the query set. A sentence counts only if it has "
            f"no other types, and of '{label}' there were too few in {count} of the "
            "tries: it is the only type of "
            f"{len(self._by_types.get(frozenset([label]), ()))} sentences. Ask for "
            "fewer shots, other ways, or draw from a larger corpus."
        )

    def _list_pure(self, types: set[str]) -> list[int]:
        """Sentences with entities of some types, and of no others."""
        groups = (own for kinds, own in self._by_types.items() if kinds <= types)
        return sorted(i for own in groups for i in own)

    def _fill(
        self, pool: Iterable[int], types: list[str], shots: int
    ) -> tuple[list[int], list[str]]:
        """Take sentences until each type is there often enough. One that doesn't fit
        never will, because there are only ever more of each type.
        """
        found: Counter[str] = Counter()
        taken = []
        for i in pool:
            counts = self.mentions[i]
            is_wanted = any(found[label] < shots for label in counts)
            if is_wanted and all(found[t] + n <= 2 * shots for t, n in counts.items()):
                taken.append(i)
                found.update(counts)
                if all(found[label] >= shots for label in types):
                    return taken, []
        return taken, [label for label in types if found[label] < shots]


class EpisodeSet(NamedTuple):
    """Episodes of a file, or that are drawn from a corpus.

    numbers (range): The numbers that they have.
    get (Callable[[int], Episode]): The episode of a number.
    description (Dict[str, Any]): What they depend on.
    """

    numbers: range
    get: Callable[[int], Episode]
    description: dict[str, Any]


def open_episodes(path: Path, count: int | None, draw: dict[str, int]) -> EpisodeSet:
    """Read episodes, or draw them from a corpus.

    path (Path): The file, or a .spacy corpus.
    count (Optional[int]): How many: of a file all by default, 500 if they are drawn.
    draw (Dict[str, int]): How they are drawn, see `EpisodeSampler`.
    RETURNS (EpisodeSet): The episodes.
    """
    if path.suffix != ".spacy":
        known = read_episodes(path)[:count]
        if not any(doc.ents for episode in known for doc in episode.query):
            reason = "nothing is marked in the query sets, so nothing can be scored"
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
