"""What every recognizer of the family can do, also one outside the package."""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy
import pytest
import spacy
import srsly
from spacy.tokens import DocBin, Span
from spacy.training import Example
from spacy.util import load_config, load_model_from_config
from typer.testing import CliRunner

from spacy_epnet import FewShotRecognizer, adapt, explain
from spacy_epnet.baselines.tokens.io_tags import TaggingRecognizer
from spacy_epnet.cli import epnet_cli
from spacy_epnet.corpora.episodes import Episode
from spacy_epnet.evaluation.benchmark import Profile
from spacy_epnet.evaluation.episode_benchmark import EpisodeBenchmark
from spacy_epnet.evaluation.geometry import make_heat_map, make_span_map
from spacy_epnet.hashes import add_hashes

from ..conftest import RECOGNIZERS, ROOT, SMALL_TOK2VEC, get_ents, train
from ..util import toy
from ..util.adapting_tools import SUPPORT, make_reference

assert toy.make_toy
NAMES = [*RECOGNIZERS, "toy_ner"]
# Nothing holds CP-Net's points together, which fly apart in large steps. ESD's keep
# only what tells the source's types apart.
LEARN_RATES = {"cpnet_ner": 0.001, "esd_ner": 0.001}
# These aren't fine-tuned on a support set.
LEAST_F1 = {"cpnet_ner": 30, "esd_ner": 30}
# Small, because what is large is slow.
SIZES = {
    "epnet_ner": {"prototype_size": 64, "learn_rate_scale": 1.0},
    "epnet_tokens_ner": {"prototype_size": 64, "learn_rate_scale": 1.0},
    "cpnet_ner": {"prototype_size": 64, "learn_rate_scale": 1.0},
    "esd_ner": {"span_size": 64, "learn_rate_scale": 1.0},
    "protonet_pd_ner": {"learn_rate_scale": 1.0},
    "nnshot_ner": {"learn_rate_scale": 1.0},
    "structshot_ner": {"learn_rate_scale": 1.0},
}
# Nothing like the names that are known already.
JOINING = [
    ("Nobody barked there .", [(7, 13, "SOUND")]),
    ("It barked .", [(3, 9, "SOUND")]),
]
NEW = [("Rex barked at Otto .", [(0, 3, "DOG")]), ("I saw Rex .", [(6, 9, "DOG")])]


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="session")
def family():
    """Trained pipelines, made when they are first asked for."""
    return {}


@pytest.fixture
def nlp(name, family, references):
    """A trained pipeline with layers of spaCy's own, which are quick."""
    if name not in family:
        spacy.util.fix_random_seed(0)
        nlp = spacy.blank("en")
        model = SMALL_TOK2VEC if name == "toy_ner" else {"tok2vec": SMALL_TOK2VEC}
        nlp.add_pipe(name, config={"model": {**model, **SIZES.get(name, {})}})
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="'toy_ner' can't predict")
            nlp.initialize(lambda: examples)
        train(nlp, examples, steps=40, learn_rate=LEARN_RATES.get(name, 0.01))
        family[name] = nlp.config, nlp.to_bytes()
    config, data = family[name]
    return load_model_from_config(deepcopy(config), auto_fill=True).from_bytes(data)


def read(nlp, texts):
    return [
        (get_ents(doc), doc.spans[nlp.pipe_names[-1]].attrs["scores"].tolist())
        for doc in nlp.pipe(texts)
    ]


TEXTS = [text for text, _ in SUPPORT]


def test_twenty_sentences_are_learned_by_heart(name, nlp, references):
    if name == "toy_ner":
        return  # It learns from support sets only.
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    assert nlp.evaluate(examples)["ents_f"] >= 0.95


def test_eight_threads_recognize_what_one_does(nlp, references):
    texts = [[doc.text] for doc in references] * 2
    expected = [read(nlp, text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: read(nlp, text), texts)) == expected


def test_new_types_are_learned_and_the_source_stays(name, nlp):
    before = read(nlp, TEXTS), nlp.get_pipe(name).to_bytes(exclude=["vocab"])
    report = adapt(nlp, NEW)
    after = read(nlp, TEXTS), nlp.get_pipe(name).to_bytes(exclude=["vocab"])
    assert after == before
    assert report.nlp.get_pipe(name).labels == ("DOG",)
    found = [get_ents(doc) for doc in report.nlp.pipe([text for text, _ in NEW])]
    assert (0, 1, "DOG") in found[0]
    assert (2, 3, "DOG") in found[1]
    assert report.counts == {"DOG": 2}
    assert report.learning.summary
    assert srsly.json_dumps(report.to_dict())
    in_place = adapt(nlp, NEW, in_place=True)
    assert in_place.nlp is nlp
    assert read(nlp, TEXTS) == read(report.nlp, TEXTS)


def test_types_join_leave_and_change_their_names(name, nlp, references):
    texts = [doc.text for doc in references]
    old = nlp.get_pipe(name).labels
    report = adapt(nlp, JOINING, extend=True)
    adapted = report.nlp
    pipe = adapted.get_pipe(name)
    assert pipe.labels == (*old, "SOUND")
    found = [
        {e.label_ for e in doc.ents} for doc in adapted.pipe(t for t, _ in JOINING)
    ]
    # It is learned, or it is told that it isn't.
    is_missed = "SOUND" in {problem.where for problem in report.problems}
    assert any("SOUND" in labels for labels in found) != is_missed
    assert not is_missed or name == "epnet_ner"
    if name != "toy_ner":
        kept = {e.label_ for doc in adapted.pipe(texts) for e in doc.ents}
        assert kept >= {"PERSON", "PLACE"}
    pipe.rename_label("SOUND", "NOISE")
    assert "NOISE" in pipe.labels
    labels = {label for eg in pipe.learned["support"] for *_, label in eg["ents"]}
    assert labels == {"NOISE"}
    pipe.remove_label("NOISE")
    assert pipe.labels == old
    assert "NOISE" not in {e.label_ for e in adapted("Nobody barked there .").ents} or (
        name == "toy_ner"
    )
    with pytest.raises(ValueError, match=r"All types of the support set"):
        adapt(adapt(nlp, NEW).nlp, NEW, extend=True)


def test_all_is_saved_and_loaded(name, nlp, tmp_path):
    adapted = adapt(nlp, NEW).nlp
    adapted.get_pipe(name).cfg["threshold"] = 0.01
    expected = read(adapted, TEXTS)
    adapted.to_disk(tmp_path / "adapted")
    loaded = spacy.load(tmp_path / "adapted")
    assert read(loaded, TEXTS) == expected
    assert loaded.get_pipe(name).cfg["threshold"] == 0.01
    config = load_config(tmp_path / "adapted" / "config.cfg")
    assert config["components"][name]["threshold"] == 0.01
    assert loaded.get_pipe(name).learned == adapted.get_pipe(name).learned
    changed = spacy.load(
        tmp_path / "adapted", config={f"components.{name}.spans_key": "mine"}
    )
    assert "mine" in changed(TEXTS[0]).spans
    assert isinstance(loaded.get_pipe(name), FewShotRecognizer)


def test_damaged_files_are_refused_and_change_nothing(name, nlp):
    pipe = nlp.get_pipe(name)
    before = pipe.to_bytes()
    message = srsly.msgpack_loads(before)
    for part, value in (
        ("learned", srsly.json_dumps({"labels": ["A"]}).encode("utf8")),
        ("model", b"abc"),
    ):
        damaged = {**message, part: value}
        parts = {name: damaged[name] for name in ("learned", "model")}
        for saved in (damaged, {**damaged, **add_hashes(parts)}):
            with pytest.raises(ValueError, match=r"Can't load the weights of '"):
                pipe.from_bytes(srsly.msgpack_dumps(saved))
    assert pipe.to_bytes() == before


def test_predictions_are_explained(name, nlp):
    adapted = adapt(nlp, NEW).nlp
    found, *_ = explain(adapted, "Rex barked at Otto .")
    assert (found.text, found.label) == ("Rex", "DOG")
    assert 0 <= found.probability <= 1
    assert found.runners_up
    assert found.neighbors[0][:2] == ("Rex", "DOG")
    assert found.neighbors[0].distance == pytest.approx(0, abs=1e-3)
    probabilities = [found.probability, *(p for _, p in found.runners_up)]
    if name != "toy_ner":
        assert sum(probabilities) == pytest.approx(1, abs=1e-3)


def test_entities_that_cannot_be_predicted_are_told(name, nlp):
    pipe = nlp.get_pipe(name)
    doc = nlp.make_doc("It was " + "very " * 12 + "cold\n\n")
    too_long, spaced = Span(doc, 2, 15, label="X"), Span(doc, 13, 16, label="X")
    assert isinstance(pipe.limits, str)
    assert not pipe.can_predict(spaced)
    by_tokens = isinstance(pipe, TaggingRecognizer)
    assert pipe.can_predict(too_long) == by_tokens


def test_commands_know_only_the_contract(name, nlp, tmp_path, references):
    nlp.to_disk(tmp_path / "source")
    docs = [make_reference(nlp, item) for item in NEW]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    DocBin(docs=[*docs, references[3]]).to_disk(tmp_path / "test.spacy")
    source, dev, test = (
        str(tmp_path / n) for n in ("source", "dev.spacy", "test.spacy")
    )
    adapted, results = str(tmp_path / "adapted"), tmp_path / "results.json"

    def call(*args):
        code = ROOT / "tests" / "util" / "toy.py"
        extra = ["--code", str(code)] if name == "toy_ner" else []
        result = CliRunner().invoke(epnet_cli, [*args, *extra])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    assert "DOG" in call("adapt", source, dev, adapted)
    question = ("--explain", "Rex barked at Otto .", "--gpu-id", "-1")
    assert "near, at" in call("recognize", adapted, *question)
    shown = call("benchmark", source, dev, test, "--supports", "2", "-o", str(results))
    assert "DOG" in shown
    data = srsly.read_json(results)
    assert data["benchmark"]["recognizer"] == name
    assert len(data["runs"]) == 4
    least = LEAST_F1.get(name, 50)
    assert min(run["f"] for run in data["runs"].values()) > least


def test_episodes_leave_nothing_behind(name, nlp):
    first = [make_reference(nlp, item) for item in NEW]
    second = [make_reference(nlp, item) for item in JOINING]
    episodes = {0: Episode(first, second), 1: Episode(second, first)}
    benchmark = EpisodeBenchmark(nlp, Profile("default", {}))
    before = nlp.to_bytes(exclude=["vocab"])
    there = dict(benchmark.run(episodes.items()))
    back = dict(benchmark.run(reversed(episodes.items())))
    assert {n: r["counts"] for n, r in there.items()} == {
        n: r["counts"] for n, r in back.items()
    }
    assert there["0"]["counts"]["SOUND"] == [0, 0, 2]
    assert nlp.to_bytes(exclude=["vocab"]) == before


def test_what_stands_for_types_is_where_their_examples_are(name, nlp):
    adapted = adapt(nlp, NEW).nlp
    if name == "toy_ner":
        with pytest.raises(ValueError, match="nothing that stands for a type"):
            make_heat_map(adapted)
        return
    heat = make_heat_map(adapted)
    assert heat.names[:2] == ["None", "DOG"]
    assert heat.n_types == 2
    assert heat.distances[0, 1] > 0
    numpy.testing.assert_allclose(heat.distances, heat.distances.T, atol=1e-3)
    found = make_span_map(adapted, [make_reference(nlp, item) for item in NEW])
    assert found.labels == ["DOG", "DOG"]
    assert found.center_names == ["DOG"]


def test_settings_are_each_recognizers_own(name, nlp):
    with pytest.raises(ValueError, match=r"adapt.speed.*seed"):
        adapt(nlp, NEW, speed=1)
    with pytest.raises(ValueError, match=r"adapt.seed"):
        adapt(nlp, NEW, seed=-1)
    changes = {"ignore_case": True} if name == "toy_ner" else {"remember": False}
    assert adapt(nlp, NEW, **changes).settings.items() >= changes.items()
    if name == "toy_ner":
        assert adapt(nlp, NEW, extend=True).settings["ignore_case"] is True


def test_long_and_short_batches_give_the_same(name, nlp, references):
    texts = [doc.text for doc in references] * 40
    assert sum(len(doc) for doc in references) * 40 > 2048
    together = read(nlp, texts)
    alone = [read(nlp, [text])[0] for text in texts[:20]]
    assert [ents for ents, _ in together[:20]] == [ents for ents, _ in alone]
    for (_, some), (_, others) in zip(together, alone, strict=False):
        numpy.testing.assert_allclose(some, others, atol=1e-4)


def test_docs_may_be_empty(nlp):
    assert [len(doc) for doc in nlp.pipe(["", "", ""])] == [0, 0, 0]
    assert read(nlp, ["", TEXTS[0]])[1] == read(nlp, TEXTS[:1])[0]


# The head of a page is another one.
OWN_WORDS = re.compile(
    r"prototype|generation|(?<![<'/])\bhead\b(?!>)|\brows_in_use\b", re.IGNORECASE
)


def test_nothing_but_its_own_family_knows_of_epnets_parts():
    package = ROOT / "spacy_epnet"
    own = {package / "epnet", package / "baselines"}
    # That command is called after them, for all recognizers.
    plot = package / "cli" / "plot.py"
    files = [
        p for p in package.rglob("*.py") if own.isdisjoint(p.parents) and p != plot
    ]
    assert len(files) > 40
    named = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf8").splitlines()
        if OWN_WORDS.search(line)
    ]
    assert named == []
