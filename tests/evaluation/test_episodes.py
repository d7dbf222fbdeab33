"""Evaluation by episodes: drawing them, counting, going on."""

import random
import re
from collections import Counter
from functools import partial

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_epnet.corpora.episodes import read_episodes
from spacy_epnet.corpora.sampling import EpisodeSampler
from spacy_epnet.evaluation.benchmark import Profile
from spacy_epnet.evaluation.episode_benchmark import EpisodeBenchmark, EpisodeResults

from ..conftest import SMALL_TOK2VEC
from ..util import commands, toy

assert toy.make_toy

# The toy recognizer knows the words of the support set by heart.
EPISODES = [
    {
        # Ada is right, Rio is missed, and the second Ulm is invented.
        "support": [["Ada/per", "saw", "Ulm/loc"]],
        "query": [["Ada/per", "saw", "Rio/loc"], ["Ulm", "is", "old"]],
    },
    {
        # Otto ends one sentence and begins the next one.
        "support": [["Otto/per", "left"]],
        "query": [["It", "was", "Otto/per"], ["Otto/per", "left"]],
    },
    {
        # Rex is taken for a dog, and is a person.
        "support": [["Rex/dog", "barked", "at", "Eva/per"]],
        "query": [["Rex/per", "met", "Eva/per"]],
    },
]
# Found, invented, missed.
BY_SENTENCE = {"per": (4, 0, 1), "loc": (0, 1, 1), "dog": (0, 1, 0)}
# Otto and Otto are one.
BY_EPISODE = {**BY_SENTENCE, "per": (3, 0, 1)}


def write_episode(episode):
    return {
        part: {
            "word": [[token.partition("/")[0] for token in s] for s in sentences],
            "label": [
                [token.partition("/")[2] or "O" for token in s] for s in sentences
            ],
        }
        for part, sentences in episode.items()
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "episodes.jsonl"
    srsly.write_jsonl(path, map(write_episode, EPISODES))
    return path


@pytest.fixture
def nlp(examples):
    nlp = spacy.blank("en")
    nlp.add_pipe("toy_ner", config={"model": SMALL_TOK2VEC})
    with pytest.warns(UserWarning, match="can't predict"):
        nlp.initialize(lambda: examples)
    return nlp


def measure(nlp, episodes, **settings):
    benchmark = EpisodeBenchmark(nlp, Profile("default", {}), **settings)
    results = EpisodeResults(None, benchmark.describe())
    for number, result in benchmark.run(episodes):
        results.keep(number, result)
    return results


def pool(results):
    counts = {}
    for run in results.runs.values():
        for label, numbers in run["counts"].items():
            before = counts.get(label, (0, 0, 0))
            counts[label] = tuple(map(sum, zip(before, numbers, strict=True)))
    return counts


@pytest.mark.parametrize(
    ("scoring", "expected"), [("sentence", BY_SENTENCE), ("episode", BY_EPISODE)]
)
def test_counts_are_those_worked_out_by_hand(nlp, file, scoring, expected):
    results = measure(nlp, enumerate(read_episodes(file)), scoring=scoring)
    assert pool(results) == expected
    summary = results.summarize()
    found, invented, missed = map(sum, zip(*expected.values(), strict=True))
    assert summary["p"] == pytest.approx(100 * found / (found + invented))
    assert summary["r"] == pytest.approx(100 * found / (found + missed))
    assert summary["f"] == pytest.approx(200 * found / (2 * found + invented + missed))
    assert summary["per_type"]["dog"]["f"] == 0
    assert summary["episodes"] == 3


def test_nothing_leaks_from_one_episode_to_the_next(nlp, file):
    episodes = list(enumerate(read_episodes(file)))
    before = nlp.to_bytes(exclude=["vocab"])
    shuffled = random.Random(1).sample(episodes, 3)
    assert shuffled != episodes
    assert pool(measure(nlp, shuffled)) == pool(measure(nlp, episodes))
    assert nlp.to_bytes(exclude=["vocab"]) == before


def test_a_type_that_cannot_be_predicted_is_missed_and_the_others_are_not(
    nlp, tmp_path
):
    path = tmp_path / "episodes.jsonl"
    episode = {
        "support": [["New/x", "York/x"], ["Ada/y"]],
        "query": [["New/x", "York/x", "!"], ["Ada/y", "left"]],
    }
    srsly.write_jsonl(path, [write_episode(episode)])
    results = measure(nlp, enumerate(read_episodes(path)))
    assert pool(results) == {"x": (0, 0, 1), "y": (1, 0, 0)}
    assert results.summarize()["failed"] == 0


def test_all_is_missed_where_nothing_can_be_learned(nlp, tmp_path):
    path = tmp_path / "episodes.jsonl"
    episode = {"support": [["Ada/x"], ["Ada"]], "query": [["Ada/x", "left"]]}
    srsly.write_jsonl(path, [write_episode(episode)])
    results = measure(nlp, enumerate(read_episodes(path)))
    (run,) = results.runs.values()
    assert "is there more than once" in run["failed"]
    assert run["counts"] == {"x": [0, 0, 1]}
    assert results.summarize()["failed"] == 1


episodes = partial(commands.read, "epnet", "episodes")


def test_processes_give_what_one_gives(trained, references, tmp_path):
    trained.to_disk(tmp_path / "source")
    DocBin(docs=references).to_disk(tmp_path / "corpus.spacy")
    args = [tmp_path / "source", tmp_path / "corpus.spacy", "--ways", "2"]
    args += ["--count", "6", "--adapt.max_steps", "3"]
    counts = []
    for processes in (1, 2):
        output = tmp_path / f"{processes}.json"
        shown = episodes(*args, "--processes", processes, "--output", output)
        assert "6 of them now" in shown
        runs = srsly.read_json(output)["runs"]
        counts.append({number: runs[number]["counts"] for number in sorted(runs)})
    assert len(counts[0]) == 6
    assert counts[0] == counts[1]
    shown = episodes(*args, "--processes", 2, "--output", output)
    assert "of them now" not in shown


def test_a_process_that_ends_is_told_of(nlp, file, tmp_path):
    nlp.to_disk(tmp_path / "source")
    code = tmp_path / "code.py"
    code.write_text(
        "import multiprocessing, os\n"
        "if multiprocessing.parent_process() is not None:\n    os._exit(1)\n"
    )
    args = [tmp_path / "source", file, "--processes", 2, "--code", code]
    shown = episodes(*args, code=1)
    assert "A process died. If memory is" in shown


def test_it_goes_on_where_it_stopped(nlp, file, tmp_path, monkeypatch):
    nlp.to_disk(tmp_path / "source")
    output = tmp_path / "results.json"
    args = [tmp_path / "source", file, "--output", output]
    whole = EpisodeBenchmark.measure
    calls = []

    def interrupt(self, episode):
        calls.append(episode)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(self, episode)

    monkeypatch.setattr(EpisodeBenchmark, "measure", interrupt)
    shown = episodes(*args, code=130)
    assert f"Interrupted. Finished work is kept in {output}" in shown
    assert list(srsly.read_json(output)["runs"]) == ["0"]
    shown = episodes(*args)
    assert "Going on after 1 episodes" in shown
    assert len(calls) == 4
    summary = srsly.read_json(output)["summary"]
    assert summary["f"] == pytest.approx(200 * 4 / (8 + 2 + 2))
    assert f"{summary['f']:.2f}" in shown
    # Others are refused.
    shown = episodes(*args, "--scoring", "episode", code=1)
    assert "scoring" in shown


def test_episodes_are_drawn_from_a_corpus(nlp, references, tmp_path):
    nlp.to_disk(tmp_path / "source")
    corpus = tmp_path / "corpus.spacy"
    single = [doc for doc in references if all(len(ent) == 1 for ent in doc.ents)]
    DocBin(docs=single * 5).to_disk(corpus)
    args = [tmp_path / "source", corpus, "--ways", 2, "--count", 4]
    shown = episodes(*args, "--output", tmp_path / "results.json")
    known = srsly.read_json(tmp_path / "results.json")
    assert known["benchmark"]["episodes"]["query_shots"] == 1
    assert known["summary"]["f"] > 0
    assert all(run["types"] == ["PERSON", "PLACE"] for run in known["runs"].values())
    assert "4 episodes" in shown


MENTIONS = [
    *[Counter({"a": 1}), Counter({"b": 2}), Counter({"a": 1, "b": 1})] * 4,
    *[Counter({"c": 1}), Counter({"a": 1, "c": 1}), Counter()] * 4,
    Counter({"d": 1}),
]


@pytest.mark.parametrize(("shots", "query_shots"), [(1, 1), (2, 1), (1, 3)])
def test_episodes_keep_the_rules(shots, query_shots):
    sampler = EpisodeSampler(
        MENTIONS, ways=2, shots=shots, query_shots=query_shots, seed=0
    )
    draws = [sampler.draw(number) for number in range(50)]
    for types, support, query in draws:
        assert len({*types}) == 2
        assert {*support}.isdisjoint(query)
        assert len({*support, *query}) == len(support) + len(query)
        for sentences, least in ((support, shots), (query, query_shots)):
            total = sum((MENTIONS[i] for i in sentences), Counter())
            assert sorted(total) == types  # no others
            assert all(least <= n <= 2 * least for n in total.values())
            assert all(MENTIONS[i] for i in sentences)
    assert len({tuple(draw.types) for draw in draws}) == 3
    # Each is the same whatever else is drawn.
    assert sampler.draw(17) == draws[17]
    other = EpisodeSampler(MENTIONS, ways=2, shots=1, query_shots=1, seed=1)
    assert [other.draw(number) for number in range(50)] != draws


def test_impossible_episodes_are_explained():
    with pytest.raises(ValueError, match=r"of 5 types: the corpus has 4"):
        EpisodeSampler(MENTIONS, ways=5, shots=1, query_shots=1, seed=0)
    sampler = EpisodeSampler(MENTIONS, ways=4, shots=1, query_shots=1, seed=0)
    with pytest.raises(ValueError, match=r"of 'd'.*only type of 1 sentences"):
        sampler.draw(0)


def test_other_files_are_refused(nlp, tmp_path):
    nlp.to_disk(tmp_path / "source")
    path = tmp_path / "texts.jsonl"
    srsly.write_jsonl(path, [{"text": "Ada left.", "spans": []}])
    shown = episodes(tmp_path / "source", path, code=1)
    assert "isn't an episode" in shown
    assert "line 1" in shown
    episode = srsly.json_dumps(write_episode(EPISODES[0]))
    path.write_text(re.sub(r'"word":\[\["\w+', r'"word":[["\\ud83d', episode, count=1))
    assert "half of a character" in episodes(tmp_path / "source", path, code=1)
    path.write_text("", encoding="utf8")
    assert "no episodes" in episodes(tmp_path / "source", path, code=1)


def test_query_sets_without_marks_are_refused(nlp, tmp_path):
    nlp.to_disk(tmp_path / "source")
    path = tmp_path / "episodes.jsonl"
    unmarked = {"support": [["Ada/per", "left"]], "query": [["Nobody", "left"]]}
    rows = [write_episode(unmarked), write_episode(EPISODES[0])]
    srsly.write_jsonl(path, rows)
    shown = episodes(tmp_path / "source", path, "--count", 1, code=1)
    assert "nothing can be scored" in shown
    episodes(tmp_path / "source", path)
