"""Sample support sets and episodes from the counts of a corpus."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError, EvaluationError, SettingError
from .corpus import Corpus, Manifest, check_support_places

MAX_TRIES = 200  # choices of types, until there are enough sentences of them


def sample_greedily(
    mentions: Sequence[Counter[str]], shots: int, seed: int
) -> list[int]:
    """Draw sentences until every type occurs often enough.

    Types of fewer sentences come first. Sentences are drawn without replacement from
    those of the type, and all their entities count.

    mentions (Sequence[Counter[str]]): The entities of each sentence by type.
    RETURNS (List[int]): Indices of the sentences, in the order of drawing.
    """
    rng = random.Random(seed)
    spread = Counter(label for counts in mentions for label in counts)
    drawn: dict[int, None] = {}  # a set that keeps the order
    found: Counter[str] = Counter()
    for label in sorted(spread, key=lambda label: (spread[label], label)):
        pool = [
            i for i, counts in enumerate(mentions) if label in counts and i not in drawn
        ]
        while found[label] < shots and pool:
            i = pool.pop(rng.randrange(len(pool)))
            drawn[i] = None
            found.update(mentions[i])
    return list(drawn)


class SupportSets(NamedTuple):
    """Support sets that were written."""

    manifests: dict[Path, Manifest]  # of each
    rare: dict[str, int]  # mentions of types of which the corpus has too few


def write_support_sets(
    path: Path, output: Path, *, shots: int = 5, seed: int = 0, count: int = 1
) -> SupportSets:
    """Sample support sets by `sample_greedily`, and write them with their manifests. If
    there are several, each has a seed of its own, which is added to its name.
    """
    seeds = range(seed, seed + count)
    outputs = [output]
    if count > 1:
        outputs = [output.with_stem(f"{output.stem}-{number}") for number in seeds]
    check_support_places(outputs, [path])
    corpus = Corpus(path)
    if not corpus.totals:
        raise CorpusError(path, "there are no entities to sample")
    manifests = {
        each: corpus.write_support(
            each,
            sample_greedily(corpus.mentions, shots, number),
            shots=shots,
            seed=number,
        )
        for number, each in zip(seeds, outputs, strict=True)
    }
    totals = sorted(corpus.totals.items())
    return SupportSets(manifests, {name: n for name, n in totals if n < shots})


def write_given_support(path: Path, output: Path, indices: Path) -> Manifest:
    """Write a support set of given sentences, see `Corpus.read_indices`."""
    check_support_places([output], [path, indices])
    corpus = Corpus(path)
    return corpus.write_support(
        output, corpus.read_indices(indices), given_by=indices.name
    )


class Draw(NamedTuple):
    """The types of an episode, and the indices of its sentences in a corpus."""

    types: list[str]
    support: list[int]
    query: list[int]


class EpisodeSampler:
    """Draw N-way K~2K episodes by the rules of Few-NERD: a sentence has entities of the
    episode's types only, each type occurs K to 2K times, and no sentence is in both
    sets.
    """

    def __init__(
        self,
        mentions: Sequence[Counter[str]],  # of each sentence
        *,
        ways: int,  # N
        shots: int,  # K of the support set
        query_shots: int,  # K of the query set
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
        """Draw the episode of a number, whatever was drawn before."""
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
        """List sentences with entities of some types and of no others."""
        groups = (own for kinds, own in self._by_types.items() if kinds <= types)
        return sorted(i for own in groups for i in own)

    def _fill(
        self, pool: Iterable[int], types: list[str], shots: int
    ) -> tuple[list[int], list[str]]:
        """Add sentences until each type occurs often enough, and list the types that
        don't. A sentence that doesn't fit now never will, because counts only grow.
        """
        found: Counter[str] = Counter()
        added = []
        for i in pool:
            counts = self.mentions[i]
            is_wanted = any(found[label] < shots for label in counts)
            if is_wanted and all(found[t] + n <= 2 * shots for t, n in counts.items()):
                added.append(i)
                found.update(counts)
                if all(found[label] >= shots for label in types):
                    return added, []
        return added, [label for label in types if found[label] < shots]
