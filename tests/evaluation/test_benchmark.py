"""The K-shot protocol, with a tiny encoder."""

from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_epnet.adapting import adapt
from spacy_epnet.cli.benchmark import find_manifest
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.errors import CorpusError, OutputError
from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.query import Queries, Query
from spacy_epnet.evaluation.results import Results
from spacy_epnet.recognizer.pipeline import find_recognizer

from ..util import commands

DEV, TEST = Path("one/dev.spacy"), Path("one/test.spacy")
QUICK = {"lr": 0.01, "max_steps": 10, "average": 0}


@pytest.fixture
def folder(tmp_path, references, trained, monkeypatch):
    """A source pipeline and two targets."""
    monkeypatch.chdir(tmp_path)
    trained.to_disk(tmp_path / "source")
    for name, docs in (("dev", references[:10]), ("test", references[10:])):
        for target in ("one", "two"):
            path = tmp_path / target / f"{name}.spacy"
            path.parent.mkdir(exist_ok=True)
            DocBin(docs=docs).to_disk(path)
    return tmp_path


def make_benchmark(folder, *, profiles=("default",), shots=(1, 2), seeds=(0, 1), **kw):
    return Benchmark(
        spacy.load("source"),
        make_targets([DEV, TEST]),
        {name: Profile(name, QUICK) for name in profiles},
        list(shots),
        list(seeds),
        **kw,
    )


def strip(result):
    return {key: value for key, value in result.items() if key != "seconds"}


def measure(benchmark, path=None):
    results = Results(path, benchmark.describe())
    for run, result in benchmark.run(results.runs):
        results.keep(run.key, result)
    return results


def test_the_same_seeds_give_the_same_to_the_last_digit(folder):
    first, second = (measure(make_benchmark(folder)) for _ in range(2))
    assert len(first.runs) == 4
    assert {k: strip(r) for k, r in first.runs.items()} == {
        k: strip(r) for k, r in second.runs.items()
    }
    assert first.header == second.header


def test_scores_are_those_of_spacy_evaluate(folder):
    benchmark = make_benchmark(folder, shots=[2], seeds=[1])
    ((run, result),) = benchmark.run()
    nlp = spacy.load("source")
    corpus = Corpus(DEV, nlp.vocab)
    support = [corpus.docs[i] for i in result["sentences"]]
    adapted = adapt(nlp, support, **QUICK).nlp
    examples = list(spacy.training.Corpus(TEST)(adapted))
    scores = adapted.evaluate(examples)
    assert result["f"] == 100 * scores["ents_f"]
    assert result["p"] == 100 * scores["ents_p"]
    assert result["f"] > 0
    for label, values in scores["ents_per_type"].items():
        assert result["per_type"][label]["f"] == 100 * values["f"]
    assert run.key == "one/default/2/1"


def test_names_alone_are_measured_once(folder):
    found = measure(make_benchmark(folder, shots=[0, 1]))
    assert [*found.runs] == [f"one/default/{run}" for run in ("0/0", "1/0", "1/1")]
    result = found.runs["one/default/0/0"]
    assert result["sentences"] == []
    assert result["f"] > 0  # the source knows types of these names
    described = make_benchmark(folder, shots=[0], texts={"PERSON": "a person"})
    assert described.describe()["types"] == {"PERSON": "a person"}
    assert measure(described).header != found.header


def test_the_query_set_is_encoded_once(folder, monkeypatch):
    benchmark = make_benchmark(folder, profiles=("default", "paper"))
    transformer = benchmark.nlp.get_pipe("transformer")
    seen = []
    predict = transformer.predict

    def count(docs):
        seen.append(len(docs))
        return predict(docs)

    monkeypatch.setattr(transformer, "predict", count)
    runs = list(benchmark.run())
    assert len(runs) == 8
    n_supports = sum(len(result["sentences"]) for _, result in runs)
    n_names = sum(seen) - n_supports - 10
    assert n_names == 0  # the target's types are the source's own


def test_recognizers_over_the_same_encoder_share_query_sets(folder, trained):
    corpus = Corpus(TEST, trained.vocab)
    queries = Queries()
    first = queries.get(find_recognizer(trained), corpus)
    support = Corpus(DEV, trained.vocab).docs[:2]
    adapted = find_recognizer(adapt(trained, support, **QUICK).nlp)
    assert queries.get(adapted, corpus) is first
    # One that is read again has the same weights, and another vocabulary.
    again = find_recognizer(spacy.load("source"))
    assert queries.get(again, corpus) is first
    scores = first.score(adapted.recognizer)
    same = Query(again, corpus.docs).score(adapted.recognizer)
    assert scores["ents_f"] == same["ents_f"]
    other = Corpus(DEV, trained.vocab)
    assert queries.get(again, other) is not first
    last = queries.get(again, corpus)
    for node in again.nlp.get_pipe("transformer").model.walk():
        for shim in node.shims:
            for weight in shim._model.parameters():
                weight.data += 0.01
    assert queries.get(again, corpus) is not last


def test_an_interrupted_benchmark_goes_on(folder, tmp_path):
    path = tmp_path / "results.json"
    results = Results(path, make_benchmark(folder).describe())
    for run, result in islice(make_benchmark(folder).run(), 2):
        results.keep(run.key, result)
    assert len(Results(path, results.header).runs) == 2
    again = measure(make_benchmark(folder), path)
    whole = measure(make_benchmark(folder))
    assert {k: strip(r) for k, r in again.runs.items()} == {
        k: strip(r) for k, r in whole.runs.items()
    }
    assert srsly.read_json(path)["runs"].keys() == whole.runs.keys()


def test_results_of_another_benchmark_are_not_mixed_in(folder, tmp_path):
    path = tmp_path / "results.json"
    measure(make_benchmark(folder, shots=[1], seeds=[0]), path)
    with pytest.raises(ValueError, match=r"shots, seeds"):
        Results(path, make_benchmark(folder).describe())


def contradict(path):
    """Put a doc first that is there once more, and marked in another way."""
    docs = Corpus(path, spacy.blank("en").vocab).docs
    contradiction = docs[0].copy()
    contradiction.ents = []
    DocBin(docs=[contradiction, *docs]).to_disk(path)


def test_an_unlucky_support_set_is_a_result_and_the_others_go_on(folder, tmp_path):
    contradict(DEV)
    sets = [folder / "bad.json", folder / "good.json"]
    srsly.write_json(sets[0], [0, 1, 2])
    srsly.write_json(sets[1], [1, 2])
    output = tmp_path / "results.json"
    results = measure(make_benchmark(folder, given=sets), output)
    bad, good = results.runs.values()
    assert "is there more than once" in bad["failed"]
    assert good["f"] >= 0
    (group,) = results.summarize()
    assert (group["supports"], group["failed"]) == (1, 1)
    assert "(1 failed)" in results.get_overview()[1][0][-1]
    again = make_benchmark(folder, given=sets)
    kept = Results(output, again.describe())
    assert list(again.run(kept.runs)) == []


def test_support_sets_that_all_fail_are_shown(folder):
    contradict(DEV)
    sets = [folder / "one.json", folder / "two.json"]
    for indices, given in zip(([0, 1], [1, 0]), sets, strict=True):
        srsly.write_json(given, indices)
    results = measure(make_benchmark(folder, given=sets))
    assert len(results.failed) == 2
    assert all("more than once" in reason for reason in results.failed.values())
    assert results.summarize() == []
    assert results.get_overview()[1] == [["default", "given", "all 2 failed"]]
    given = ["--given", sets[0], "--given", sets[1]]
    shown = benchmark("source", DEV, TEST, *given, "--adapt.max_steps", 2)
    assert "There is no result for one/default/None/0" in shown


def test_support_and_query_from_one_corpus_do_not_overlap(folder):
    benchmark = make_benchmark(folder, shots=[1], seeds=[0])
    benchmark.targets = make_targets([TEST, TEST])
    ((_, result),) = benchmark.run()
    nlp = spacy.load("source")
    docs = Corpus(TEST, nlp.vocab).docs
    support = [docs[i] for i in result["sentences"]]
    adapted = adapt(nlp, support, **QUICK).nlp
    rest = [d for i, d in enumerate(docs) if i not in result["sentences"]]
    path = folder / "rest.spacy"
    DocBin(docs=rest).to_disk(path)
    scores = adapted.evaluate(list(spacy.training.Corpus(path)(adapted)))
    assert result["f"] == 100 * scores["ents_f"]


def test_given_support_sets(folder):
    given = folder / "set.json"
    srsly.write_json(given, [0, 1])
    ((run, result),) = make_benchmark(folder, given=[given]).run()
    assert result["sentences"] == [0, 1]
    assert run.shots is None


def test_targets_have_names_of_their_own():
    paths = [Path(p) for p in ("a/dev", "a/test", "b/dev", "b/test", "x/a/d", "x/a/t")]
    assert [target.name for target in make_targets(paths)] == ["a", "b", "a#2"]
    with pytest.raises(ValueError, match=r"3 paths"):
        make_targets(paths[:3])


benchmark = partial(commands.read, "epnet", "benchmark")


def test_command_with_several_targets(folder):
    output = folder / "out" / "results.json"
    args = [
        *("source", DEV, TEST, "two/dev.spacy", "two/test.spacy"),
        *("--shots", "1,2", "--supports", 2, "--profile", "paper"),
        *("--profile", "default", "--output", output, "--adapt.max_steps", 5),
    ]
    shown = benchmark(*args)
    for words in ("one, paper, 1-shot, 2 sets", "average", "PERSON", "±"):
        assert words in shown
    data = srsly.read_json(output)
    assert len(data["runs"]) == 16
    header = data["benchmark"]
    assert header["seeds"] == [0, 1]
    assert header["profiles"]["paper"]["one_shot"]["max_steps"] == 5
    assert header["profiles"]["paper"]["one_shot"]["tau"] == 2
    assert {"spacy", "torch", "spacy-epnet"} <= set(header["versions"])
    group = data["summary"][0]
    runs = [
        r
        for r in data["runs"].values()
        if (r["target"], r["profile"], r["shots"]) == ("one", "paper", 1)
    ]
    assert group["f"]["mean"] == pytest.approx(sum(r["f"] for r in runs) / 2)
    again = benchmark(*args)
    assert "Going on after 16 runs" in again
    assert again.endswith(shown[shown.index("=") :])


def test_command_with_mistakes(folder):
    odd = benchmark("source", DEV, code=1)
    assert "A target is two corpora, DEV" in odd
    for option, value, message in [
        ("--shots", "few", "Invalid value for the setting 'shots'"),
        ("--adapt.rate", "1", "There are no such settings: adapt.rate"),
        ("--training.lr", "1", "There are no such options: --training.lr"),
    ]:
        assert message in benchmark("source", DEV, TEST, option, value, code=1)
    missing = benchmark("source", DEV, "none.spacy", code=1)
    assert "no such file" in missing


def test_what_other_components_have_set_is_there_in_every_run(folder):
    benchmark = make_benchmark(folder, shots=[1], seeds=[0, 1])
    nlp = benchmark.nlp

    @spacy.Language.component("block_first")
    def block(doc):
        doc.set_ents([], blocked=[doc[0:1]], default="unmodified")
        return doc

    nlp.add_pipe("block_first", first=True)
    runs = list(benchmark.run())
    docs = Corpus(DEV, nlp.vocab).docs
    for _, result in runs:
        support = [docs[i] for i in result["sentences"]]
        adapted = adapt(nlp, support, **QUICK).nlp
        scores = adapted.evaluate(list(spacy.training.Corpus(TEST)(adapted)))
        assert result["f"] == 100 * scores["ents_f"]


def test_given_sets_are_for_one_target(folder):
    srsly.write_json("set.json", [0, 1])
    paths = [DEV, TEST, "two/dev.spacy", "two/test.spacy"]
    shown = benchmark("source", *paths, "--given", "set.json", code=1)
    assert "Support sets can be given for" in shown


def sample(folder):
    """A support set of the first target's dev set, and its manifest."""
    support = folder / "set.spacy"
    commands.run("epnet", "sample", DEV, support, "--shots", 1)
    return support


def test_support_sets_are_given_by_their_manifests(folder):
    manifest = sample(folder).with_suffix(".json")
    ((_, result),) = make_benchmark(folder, given=[manifest]).run()
    assert result["sentences"] == srsly.read_json(manifest)["indices"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"indices": [1, 0]}, "it was changed"),
        ({"indices": [99]}, "it was changed"),
        ({"counts": {"PERSON": 9}}, "counts don't fit"),
        ({"sentences": 7}, "sentences don't fit"),
        ({"corpus_sentences": 7}, "corpus_sentences don't fit"),
        ({"corpus_sha256": "0"}, "another corpus"),
        ({"corpus_sha256": None}, "another corpus"),
        ({"indices": "0"}, "no list of indices"),
    ],
)
def test_manifests_that_do_not_fit_are_refused(folder, changes, reason):
    manifest = sample(folder).with_suffix(".json")
    srsly.write_json(manifest, {**srsly.read_json(manifest), **changes})
    with pytest.raises(CorpusError, match=reason):
        list(make_benchmark(folder, given=[manifest]).run())


def test_support_sets_that_are_not_what_the_manifest_says_are_refused(folder):
    support = sample(folder)
    support.write_bytes(TEST.read_bytes())
    shown = benchmark("source", DEV, TEST, "--given", support, code=1)
    assert "isn't what set.json says it is" in shown


def test_lists_of_indices_may_have_any_name(folder):
    path = folder / "chosen.txt"
    path.write_text("0\n1\n", encoding="utf8")
    assert find_manifest(path) == path
    assert find_manifest(folder / "set.spacy") == folder / "set.json"


@pytest.mark.parametrize("kind", ["empty", "unmarked", "used up"])
def test_there_must_be_something_to_score(folder, kind):
    docs = Corpus(TEST).docs
    if kind != "used up":
        for doc in docs:
            doc.ents = []
        DocBin(docs=docs if kind == "unmarked" else []).to_disk(TEST)
    dev = TEST if kind == "used up" else DEV
    shown = benchmark("source", dev, TEST, "--shots", 99, "--supports", 1, code=1)
    assert "nothing can be scored" in shown


@pytest.mark.parametrize(
    "content",
    [
        *("[]", "{", "7", '{"benchmark": [], "runs": {}}'),
        *('{"benchmark": {}, "runs": 5}', '{"benchmark": "x", "runs": "y"}'),
    ],
)
def test_foreign_results_are_refused(folder, content):
    path = folder / "results.json"
    path.write_text(content, encoding="utf8")
    with pytest.raises(OutputError, match=r"results of a(nother)? benchmark"):
        Results(path, make_benchmark(folder).describe())


@pytest.mark.parametrize("runs", [[1], {"a": 1}, {"a": {"profile": "x"}}, {"a": {}}])
def test_results_that_cannot_be_summarized_are_refused(folder, runs):
    path = folder / "results.json"
    header = make_benchmark(folder).describe()
    srsly.write_json(path, {"benchmark": header, "summary": [], "runs": runs})
    with pytest.raises(ValueError, match=r"' is there, but it has"):
        Results(path, header)
