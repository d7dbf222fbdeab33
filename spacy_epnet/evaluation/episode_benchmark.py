"""Evaluation by episodes: adapt to the support set of each, and count what is right in
its query set. Counts are pooled over all episodes.

Several processes each have the source, and draw their episodes themselves: what one
costs is many small steps, of which cores can't share out a single one well.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias

from spacy.language import Language
from spacy.scorer import PRFScore
from spacy.tokens import Doc
from spacy.training import Example

from .._compat import import_code, setup_gpu
from ..adapting import adapt
from ..adapting.support import make_bare_example
from ..adapting.vocab_copy import make_separate_vocab
from ..corpora.episodes import Episode, EpisodeSet, open_episodes
from ..corpora.tags import OUTSIDE, read_tags
from ..errors import EvaluationError, LearningError, SupportError
from ..processes import belong_to_parent, count_cores, get_context
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline
from .benchmark import Profile, describe_source
from .results import ResultsFile

Scoring: TypeAlias = Literal["sentence", "episode"]
Pairs: TypeAlias = list[tuple[Doc, Doc]]  # as marked, and as recognized
Marks: TypeAlias = set[tuple[int, int, int, str]]  # sentence, first, end, type


@dataclass
class EpisodeBenchmark:
    """A benchmark to run. Entities are those of a "sentence", or runs of equal tags in
    the whole "episode", as in Few-NERD's published code: there an entity that ends a
    sentence and one of its type that begins the next one are taken for one.
    """

    nlp: Language  # the source pipeline
    profile: Profile
    scoring: Scoring = "sentence"
    name: str | None = None  # of the component, if there are several recognizers

    def __post_init__(self) -> None:
        source = find_recognizer(self.nlp, self.name)
        self.name, self.pipe = source.name, source.recognizer

    def describe(self) -> dict[str, Any]:
        """Describe all that the results depend on but the episodes."""
        return {
            **describe_source(self.nlp, self.pipe),
            "profile": self.profile.base,
            "settings": self.profile.describe(self.pipe),
            "scoring": self.scoring,
        }

    def run(
        self, episodes: Iterable[tuple[int, Episode]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Measure episodes, given with their numbers."""
        for number, episode in episodes:
            yield str(number), self.measure(episode)

    def measure(self, episode: Episode) -> dict[str, Any]:
        """Adapt to an episode, and count for each type what is right, wrong and missed.
        If nothing could be learned, all is missed. The source stays as it is.
        """
        begin = perf_counter()
        base, changes = self.profile
        result: dict[str, Any] = {"types": episode.types}
        # The source's vocabulary stays as it is, too, so that it is copied only once.
        separate = make_separate_vocab(self.nlp)
        query = [make_bare_example(separate, doc) for doc in episode.query]
        try:
            report = adapt(
                self.nlp,
                episode.support,
                name=self.name,
                profile=base,
                check=False,
                **changes,
            )
        except (SupportError, LearningError) as err:
            result["failed"] = str(err)
        else:
            adapted = find_recognizer(report.nlp, self.name)
            docs = [eg.predicted for eg in query]
            recognizer, tokens = adapted.recognizer, adapted.encode(docs)
            recognizer.set_annotations(docs, recognizer.recognize(docs, tokens))
        seconds = perf_counter() - begin
        return {**result, "counts": count(query, self.scoring), "seconds": seconds}


def count(query: list[Example], scoring: Scoring) -> dict[str, list[int]]:
    """Count the entities of each type that were found, invented and missed."""
    read = SCORINGS[scoring]
    gold = read([(eg.reference, eg.reference) for eg in query])
    found = read([(eg.reference, eg.predicted) for eg in query])
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for place, marks in enumerate((gold & found, found - gold, gold - found)):
        for label, number in Counter(mark[-1] for mark in marks).items():
            counts[label][place] = number
    return dict(sorted(counts.items()))


def read_sentences(docs: Pairs) -> Marks:
    """List the entities recognized in each sentence, by character."""
    return {
        (i, ent.start_char, ent.end_char, ent.label_)
        for i, (_, doc) in enumerate(docs)
        for ent in doc.ents
    }


def read_runs(docs: Pairs) -> Marks:
    """List runs of tokens that are recognized as one type, whatever sentences they are
    in, by token of the annotation.
    """
    tags: list[str] = []
    for gold, predicted in docs:
        own = [OUTSIDE] * len(gold)
        for ent in predicted.ents:
            span: Any = gold.char_span(
                ent.start_char, ent.end_char, alignment_mode="expand"
            )
            own[span.start : span.end] = [ent.label_] * len(span)
        tags += own
    return {(0, start, end, label) for start, end, label in read_tags(tags, "io")}


SCORINGS = {"sentence": read_sentences, "episode": read_runs}


@dataclass(frozen=True)
class Task:
    """A benchmark of episodes, described for another process."""

    model: str
    profile: Profile
    scoring: Scoring
    name: str | None
    path: Path  # the episodes, or the corpus that they are drawn from
    count: int | None
    draw: dict[str, int]  # how they are drawn
    code: Path | None
    gpu: int  # or -1

    def begin(self) -> tuple[EpisodeBenchmark, EpisodeSet]:
        """Load the source and find the episodes."""
        nlp = load_pipeline(self.model)
        benchmark = EpisodeBenchmark(nlp, self.profile, self.scoring, self.name)
        return benchmark, open_episodes(self.path, self.count, self.draw)


def run_in_processes(
    task: Task, numbers: Iterable[int], processes: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure episodes in processes. The order is that in which they are done."""
    threads = max(1, count_cores() // processes)
    pool = ProcessPoolExecutor(processes, get_context(), _begin, (task, threads))
    try:
        for done in as_completed([pool.submit(_measure, number) for number in numbers]):
            yield done.result()
    except BrokenProcessPool:
        raise EvaluationError(
            "A process died. If memory is short, choose fewer --processes."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_begun: tuple[EpisodeBenchmark, EpisodeSet]


def _begin(task: Task, threads: int) -> None:
    """Get ready, in a process of its own."""
    import torch

    global _begun
    belong_to_parent()
    torch.set_num_threads(threads)
    import_code(task.code)
    setup_gpu(task.gpu, silent=True)
    _begun = task.begin()


def _measure(number: int) -> tuple[str, dict[str, Any]]:
    benchmark, episodes = _begun
    return str(number), benchmark.measure(episodes.get(number))


class EpisodeResults(ResultsFile):
    """The results of episodes."""

    def summarize(self) -> dict[str, Any]:
        """Compute scores in per cent, of all episodes together and of each type."""
        pooled: dict[str, PRFScore] = defaultdict(PRFScore)
        for run in self.runs.values():
            for label, (tp, fp, fn) in run["counts"].items():
                pooled[label] += PRFScore(tp=tp, fp=fp, fn=fn)
        per_type = dict(sorted(pooled.items()))
        total = sum(per_type.values(), PRFScore())
        seconds = [run["seconds"] for run in self.runs.values()]
        return {
            "episodes": len(self.runs),
            "failed": sum("failed" in run for run in self.runs.values()),
            **to_percent(total),
            "per_type": {label: to_percent(prf) for label, prf in per_type.items()},
            "seconds_per_episode": sum(seconds) / max(1, len(seconds)),
        }


def to_percent(prf: PRFScore) -> dict[str, float]:
    """Convert precision, recall and F1 to per cent."""
    scores = {"p": prf.precision, "r": prf.recall, "f": prf.fscore}
    return {key: 100 * value for key, value in scores.items()}
