"""Measure few-shot recognition: sample support sets, adapt to each, score the rest."""

import platform
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc

from ..adapting import adapt
from ..corpora.corpus import Corpus
from ..corpora.files import read_text
from ..corpora.sampling import sample_greedily
from ..errors import CorpusError, LearningError, SettingError, SupportError
from ..recognizer.base import FewShotRecognizer
from ..recognizer.pipeline import find_recognizer, hash_pipeline
from ..recognizer.settings import make_adapt_config, resolve_settings
from .query import Queries, check_query, get_prf

PACKAGES = (
    "spacy-epnet",
    "spacy",
    "spacy-transformers",
    "thinc",
    "torch",
    "transformers",
)


class Target(NamedTuple):
    """A domain to adapt to. If both corpora are the same, the sentences of a support
    set aren't scored.
    """

    name: str  # in the results
    dev: Path  # the corpus that support sets are from
    test: Path  # the corpus that is scored on


def make_targets(paths: list[Path]) -> list[Target]:
    """Read pairs of DEV and TEST. A target is called what its folder is called, with a
    number if another is called so, too.
    """
    if len(paths) % 2:
        raise SettingError(
            f"A target is two corpora, DEV and TEST, but there are {len(paths)} paths. "
            "For Few-NERD's standard evaluation give the same corpus twice."
        )
    targets: list[Target] = []
    for dev, test in zip(paths[::2], paths[1::2], strict=True):
        name = test.resolve().parent.name
        same = sum(target.name.partition("#")[0] == name for target in targets)
        targets.append(Target(f"{name}#{same + 1}" if same else name, dev, test))
    return targets


class Profile(NamedTuple):
    """A way to adapt."""

    base: str
    changes: dict[str, Any]

    def describe(self, pipe: FewShotRecognizer) -> dict[str, Any]:
        """List all settings, for one shot and for several, and check them."""
        schema = pipe.settings_type.Adapt
        described = {
            name: make_adapt_config(schema, *self, shots=shots, extends=False)
            for name, shots in (("one_shot", 1), ("several_shots", 5))
        }
        for config in described.values():
            resolve_settings(schema, config, prefix="adapt.")
        return described


def describe_source(nlp: Language, pipe: FewShotRecognizer) -> dict[str, Any]:
    """List what results depend on whatever is measured: the source and the software."""
    return {
        "source": f"{nlp.meta['lang']}_{nlp.meta['name']}",
        "source_sha256": hash_pipeline(nlp),
        "recognizer": nlp.get_pipe_meta(pipe.name).factory,
        "versions": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def format_shots(shots: int | None) -> str:
    """Format the kind of a support set for a table."""
    return "given" if shots is None else f"{shots}-shot"


class Run(NamedTuple):
    """One adaptation of a benchmark."""

    target: str
    profile: str
    shots: int | None  # None if the support set was given
    support: int  # seed of the support set, or its number if it was given

    @property
    def key(self) -> str:
        """RETURNS (str): What names the run in the results."""
        return "/".join(map(str, self))


class Adapted(NamedTuple):
    """A pipeline that knows the types of a support set."""

    nlp: Language
    seconds: float  # that it took
    summary: str
    cells: dict[str, tuple[str, ...]]  # what is told of each type


@dataclass
class Benchmark:
    """A benchmark to run."""

    nlp: Language  # the source pipeline
    targets: list[Target]
    profiles: dict[str, Profile]  # by the names that the results have
    shots: list[int]  # mentions of each type in a support set
    seeds: list[int]  # one for each support set
    given: list[Path] = field(default_factory=list)  # sentences to use instead
    name: str | None = None  # of the component, if there are several recognizers
    texts: Mapping[str, str] = field(default_factory=dict)  # what types are in words

    def __post_init__(self) -> None:
        source = find_recognizer(self.nlp, self.name)
        self.name, self.pipe = source.name, source.recognizer
        if self.given and len(self.targets) > 1:
            raise SettingError(
                "Support sets can be given for one target only, because they name "
                "sentences of its dev set. Measure each target by a command of its "
                "own."
            )

    def list_runs(self, target: Target) -> list[Run]:
        """List the runs on a target, in order."""
        # Without examples, all support sets are the same.
        sets = [
            (shots, seed)
            for shots in self.shots
            for seed in (self.seeds if shots else self.seeds[:1])
        ]
        if self.given:
            sets = [(None, number) for number in range(len(self.given))]
        return [
            Run(target.name, profile, shots, number)
            for profile in self.profiles
            for shots, number in sets
        ]

    def describe(self) -> dict[str, Any]:
        """Describe all that the results depend on."""
        return {
            **describe_source(self.nlp, self.pipe),
            "targets": [
                {
                    "name": target.name,
                    "dev": target.dev.name,
                    "dev_sha256": Corpus(target.dev).hash,
                    "test": target.test.name,
                    "test_sha256": Corpus(target.test).hash,
                }
                for target in self.targets
            ],
            "profiles": {
                name: profile.describe(self.pipe)
                for name, profile in self.profiles.items()
            },
            "shots": self.shots,
            "seeds": self.seeds,
            "given": [read_text(path) for path in self.given],
            **({"types": dict(self.texts)} if self.texts else {}),
        }

    def run(self, done: Container[str] = ()) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Measure the runs whose keys aren't done."""
        for target in self.targets:
            yield from self.run_target(target, Queries(), done)

    def run_target(
        self, target: Target, queries: Queries, done: Container[str] = ()
    ) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Measure the runs on one target, see `run`, with query sets that other
        benchmarks may have encoded, too.
        """
        runs = [run for run in self.list_runs(target) if run.key not in done]
        if not runs:
            return
        corpus = Corpus(target.dev, self.nlp.vocab)
        if not corpus.totals:
            raise CorpusError(target.dev, "there are no entities to sample")
        supports = {run: self._choose_support(run, corpus) for run in runs}
        test = Corpus(target.test, self.nlp.vocab)
        is_split = test.hash == corpus.hash
        for run, chosen in supports.items():
            check_query(test, chosen if is_split else [], run.key)
        for run, chosen in supports.items():
            result: dict[str, Any] = {**run._asdict(), "sentences": chosen}
            support = [corpus.docs[i] for i in chosen]
            without = chosen if is_split else []
            try:
                adapted = self.adapt(support, corpus.totals, run.profile)
            except (SupportError, LearningError) as err:
                # An unlucky support set is a result, too. The others go on.
                yield run, {**result, "failed": str(err)}
                continue
            scores, seconds = self.score(adapted, test, queries, without)
            result |= get_prf(scores, corpus.totals)
            result["seconds"] = {**seconds, "adapt": adapted.seconds}
            yield run, {**result, "learning": adapted.summary, "types": adapted.cells}

    def adapt(self, support: list[Doc], labels: Iterable[str], profile: str) -> Adapted:
        """Adapt the source to a support set, or to labels alone, by one of the
        profiles.
        """
        base, changes = self.profiles[profile]
        known = {label: self.texts.get(label, "") for label in labels}
        report = adapt(
            self.nlp,
            support,
            labels=known if self.texts or not support else (),
            name=self.name,
            profile=base,
            check=False,
            **changes,
        )
        seconds, learning = report.seconds["total"], report.learning
        return Adapted(report.nlp, seconds, learning.summary, learning.cells)

    def score(
        self,
        adapted: Adapted,
        test: Corpus,
        queries: Queries,
        without: list[int],
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Recognize the test set and score it, but for some docs. The scores come with
        how long each part took.
        """
        pipeline = find_recognizer(adapted.nlp, self.name)
        query = queries.get(pipeline, test)
        begin = perf_counter()
        scores = query.score(pipeline.recognizer, without=without)
        recognize = perf_counter() - begin
        return scores, {"encode_query": query.seconds, "recognize": recognize}

    def _choose_support(self, run: Run, corpus: Corpus) -> list[int]:
        if run.shots is None:
            return corpus.read_indices(self.given[run.support])
        return sample_greedily(corpus.mentions, run.shots, run.support)
