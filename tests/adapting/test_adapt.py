"""The Adapt step, with a tiny encoder: what it changes, and what it leaves alone."""

import random

import numpy
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_epnet
from spacy_epnet.adapting import adapt
from spacy_epnet.encoder.vectors import get_listeners
from spacy_epnet.epnet.component import EPNetRecognizer
from spacy_epnet.epnet.settings import EPNetSettings
from spacy_epnet.errors import SettingError
from spacy_epnet.recognizer.pipeline import find_recognizer
from spacy_epnet.recognizer.settings import make_adapt_config, merge

from ..conftest import get_ents
from ..util.adapting_tools import FAST, SUPPORT, get_network_weights, make_reference

PROBABLE = {"@misc": "spacy-epnet.prefer_probable.v1"}


def read(nlp, texts=None):
    texts = [text for text, _ in SUPPORT] if texts is None else texts
    return [get_ents(doc) for doc in nlp.pipe(texts)]


def read_scores(nlp, texts):
    return [doc.spans["epnet_ner"].attrs["scores"].tolist() for doc in nlp.pipe(texts)]


def get_bytes(nlp):
    return [pipe.to_bytes(exclude=["vocab"]) for _, pipe in nlp.pipeline]


def test_new_types_are_learned_and_the_source_stays(trained):
    before = read(trained), get_bytes(trained)
    report = spacy_epnet.adapt(trained, SUPPORT, **FAST)
    assert (read(trained), get_bytes(trained)) == before
    expected = [
        [(e.start, e.end, e.label_) for e in make_reference(trained, item).ents]
        for item in SUPPORT
    ]
    assert read(report.nlp) == expected
    assert report.nlp.get_pipe("epnet_ner").labels == ("CITY", "PILOT")
    assert report.counts == {"CITY": 3, "PILOT": 4}
    tuning = report.learning.tuning
    assert len(tuning.losses) == tuning.steps == 60
    assert tuning.losses[-1] < tuning.losses[0] / 10
    assert report.problems == []


def test_the_copy_shares_the_encoder_and_nothing_else(trained):
    report = adapt(trained, SUPPORT, **FAST)
    adapted = report.nlp
    networks = [
        nlp.get_pipe("transformer").model.layers[0].shims[0]._model
        for nlp in (adapted, trained)
    ]
    assert networks[0] is networks[1]
    pipe, source = adapted.get_pipe("epnet_ner"), trained.get_pipe("epnet_ner")
    own = [(node.id, node.name) for node in source.model.walk()]
    assert not {node.id for node in pipe.model.walk()} & {i for i, _ in own}
    pipe.cfg["threshold"] = 0.5
    assert source.cfg["threshold"] == 0
    assert trained.config["components"]["epnet_ner"]["threshold"] == 0
    adapted.remove_pipe("epnet_ner")
    assert trained.pipe_names == ["transformer", "epnet_ner"]
    assert "epnet_ner" in trained.config["components"]


def test_replacing_the_listeners_of_the_copy_leaves_the_source_alone(trained):
    texts = [text for text, _ in SUPPORT]
    before, settings = read(trained), trained.config.to_str()
    adapted = adapt(trained, SUPPORT, **FAST).nlp
    expected = read(adapted)
    adapted.replace_listeners("transformer", "epnet_ner", ["model.tok2vec"])
    assert get_listeners(adapted.get_pipe("epnet_ner").model) == []
    assert read(adapted, texts) == expected
    pipe, transformer = (trained.get_pipe(n) for n in ("epnet_ner", "transformer"))
    assert get_listeners(pipe.model) == transformer.listener_map["epnet_ner"]
    assert len(transformer.listeners) == 1
    assert read(trained) == before
    assert trained.config.to_str() == settings


def test_source_and_copy_are_trained_apart(trained, examples):
    optimizer = trained.resume_training()
    assert trained._optimizer is optimizer
    adapted = adapt(trained, SUPPORT, **FAST).nlp
    assert adapted._optimizer is None
    before = get_network_weights(adapted)
    trained.update(examples, sgd=optimizer)
    assert all(w.equal(before[n]) for n, w in get_network_weights(adapted).items())
    shims = [
        nlp.get_pipe("epnet_ner").model.get_ref("head").shims[0]
        for nlp in (trained, adapted)
    ]
    known = {key for key, _ in optimizer.mom1}
    assert [shim.id in known for shim in shims] == [True, False]


def test_a_text_that_is_no_text_is_refused(trained):
    with pytest.raises(SettingError, match=r"ud800"):
        adapt(trained, [("Ada \ud800 left", [(0, 3, "PILOT")])])


def test_in_place(trained):
    old = trained.get_pipe("epnet_ner")
    report = adapt(trained, SUPPORT, in_place=True, **FAST)
    assert report.nlp is trained
    assert old.labels == ("PERSON", "PLACE")
    pipe = trained.get_pipe("epnet_ner")
    assert pipe.labels == ("CITY", "PILOT")
    assert trained.config["components"]["epnet_ner"]["overlaps"] == PROBABLE
    transformer = trained.get_pipe("transformer")
    assert transformer.listener_map["epnet_ner"] == get_listeners(pipe.model)
    copy = adapt(_load_again(trained), SUPPORT, **FAST).nlp
    assert copy.get_pipe("epnet_ner").labels == ("CITY", "PILOT")


def _load_again(nlp):
    other = spacy.util.load_model_from_config(nlp.config, auto_fill=True)
    return other.from_bytes(nlp.to_bytes())


def test_an_adapted_pipeline_survives_the_disk(trained, tmp_path):
    report = adapt(trained, SUPPORT, **FAST)
    expected = read(report.nlp), read_scores(report.nlp, [t for t, _ in SUPPORT])
    report.nlp.to_disk(tmp_path / "adapted")
    loaded = spacy.load(tmp_path / "adapted")
    assert (read(loaded), read_scores(loaded, [t for t, _ in SUPPORT])) == expected
    assert loaded.config["components"]["epnet_ner"]["overlaps"] == PROBABLE


def test_failure_in_place_changes_nothing(trained):
    before = get_bytes(trained)

    def interrupt(step, loss):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(trained, SUPPORT, in_place=True, on_step=interrupt)
    assert get_bytes(trained) == before


def test_all_forms_of_examples_give_the_same(trained):
    docs = [make_reference(trained, item) for item in SUPPORT]
    examples = [Example(trained.make_doc(doc.text), doc) for doc in docs]
    results = [
        read_scores(adapt(trained, form, **FAST).nlp, [t for t, _ in SUPPORT])
        for form in (SUPPORT, docs, examples, iter(SUPPORT))
    ]
    assert all(result == results[0] for result in results)


def test_the_same_seed_gives_the_same(trained):
    runs = [adapt(trained, SUPPORT, seed=seed, max_steps=5) for seed in (1, 1, 2)]
    losses = [run.learning.tuning.losses for run in runs]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


def test_sentences_that_the_pipeline_marks_count(trained, monkeypatch):
    @Language.component("mark_third")
    def mark_third(doc):
        for token in doc:
            token.is_sent_start = token.i in (0, 3)
        return doc

    trained.add_pipe("mark_third", before="epnet_ner")
    tasks = []
    learn = EPNetRecognizer.learn
    monkeypatch.setattr(
        EPNetRecognizer,
        "learn",
        lambda pipe, task, settings: tasks.append(task) or learn(pipe, task, settings),
    )
    adapt(trained, SUPPORT, **FAST)
    for doc, gold in zip(tasks[0].docs, tasks[0].golds, strict=True):
        starts = [i in (0, 3) for i in range(len(doc))]
        assert gold.sent_starts.tolist() == starts


def test_each_support_sentence_is_encoded_once(trained, monkeypatch):
    transformer = trained.get_pipe("transformer")
    seen = []
    predict = transformer.predict

    def count(docs):
        seen.extend(doc.text for doc in docs)
        return predict(docs)

    monkeypatch.setattr(transformer, "predict", count)
    adapt(trained, SUPPORT, **FAST)
    assert sorted(t for t in seen if t in dict(SUPPORT)) == sorted(dict(SUPPORT))


def test_other_random_numbers_are_not_disturbed(trained):
    def draw():
        return random.random(), numpy.random.random(), torch.rand(1).item()  # noqa: NPY002

    spacy.util.fix_random_seed(1)
    expected = draw()
    spacy.util.fix_random_seed(1)
    adapt(trained, SUPPORT, max_steps=2)
    assert draw() == expected


def test_unknown_and_wrong_settings_are_refused(trained):
    with pytest.raises(ValueError, match=r"learning_rate.*lr"):
        adapt(trained, SUPPORT, learning_rate=1)
    with pytest.raises(ValueError, match=r"adapt.lr.*-1"):
        adapt(trained, SUPPORT, lr=-1)
    with pytest.raises(ValueError, match=r"profile.*default or paper"):
        adapt(trained, SUPPORT, profile="best")
    with pytest.raises(ValueError, match=r"labels=.*extend=True"):
        adapt(trained, SUPPORT, labels="add")
    for name, value in (
        ("max_steps", 0),
        ("none_samples", 1.5),
        ("dropout", 1),
        ("remember", "yes"),
        ("tau", -1),
    ):
        with pytest.raises(ValueError, match=rf"adapt.{name}"):
            adapt(trained, SUPPORT, **{name: value})
    with pytest.raises(ValueError, match=r"unknown_assignment"):
        adapt(trained, SUPPORT, assignment={"@misc": "unknown_assignment.v1"})
    with pytest.raises(ValueError, match="weight"):
        adapt(trained, SUPPORT, assignment={"weight": 1.0})
    with pytest.raises(ValueError, match=r"overlaps"):
        adapt(trained, SUPPORT, extend=True, overlaps=PROBABLE)


def make_config(profile, changes=None, *, shots=5, extends=False):
    return make_adapt_config(
        EPNetSettings.Adapt, profile, changes or {}, shots=shots, extends=extends
    )


def test_profiles_depend_on_the_number_of_shots():
    one, five = (make_config("paper", shots=shots) for shots in (1, 5))
    assert (one["tau"], one["none_samples"], one["batch_size"]) == (2, 20, 2)
    assert (five["tau"], five["none_samples"], five["batch_size"]) == (3, 40, 8)
    assert one["lr"] == five["lr"] == 5e-5


def test_changes_keep_the_values_for_extending():
    changed = make_config("default", {"dropout": 0.1}, extends=True)
    assert (changed["lr"], changed["dropout"]) == (0.02, 0.1)
    assert make_config("default", {"lr": 1.0}, extends=True)["lr"] == 1.0


def test_an_extension_with_changed_settings_learns_like_one(trained):
    report = adapt(trained, SUPPORT, extend=True, seed=3)
    assert (report.settings["lr"], report.settings["seed"]) == (0.02, 3)


def test_parts_of_a_block_can_be_changed_or_all_of_it():
    config = {"lr": 1.0, "how": {"@misc": "a.v1", "x": 1, "y": 2}}
    assert merge(config, {"how": {"x": 5}})["how"] == {"@misc": "a.v1", "x": 5, "y": 2}
    assert merge(config, {"how": {"@misc": "b.v1"}})["how"] == {"@misc": "b.v1"}
    assert config["how"]["x"] == 1


def test_a_pipeline_without_a_recognizer(trained):
    with pytest.raises(ValueError, match=r"no components"):
        adapt(spacy.blank("en"), SUPPORT)
    trained.add_pipe("epnet_ner", name="second")
    with pytest.raises(ValueError, match=r"epnet_ner, second"):
        find_recognizer(trained)
    found = find_recognizer(trained, "second")
    assert (found.name, found.recognizer) == ("second", trained.get_pipe("second"))


def test_components_before_the_recognizer_run_and_others_do_not(trained):
    trained.add_pipe("sentencizer", first=True)
    trained.add_pipe("entity_ruler", last=True)
    docs = [trained.make_doc("Ada left. Rio .")]
    (doc,) = find_recognizer(trained).run_before(docs)
    assert len(list(doc.sents)) == 2
    assert not doc.has_annotation("ENT_IOB")
    assert trained.pipe_names[-1] == "entity_ruler"


def test_docs_of_another_vocabulary(trained):
    words = ["Ada", "left", "Rio"]
    doc = Doc(spacy.blank("en").vocab, words=words, ents=["B-PILOT", "O", "B-CITY"])
    report = adapt(trained, [doc], **FAST)
    assert read(report.nlp, ["Ada left Rio"]) == [[(0, 1, "PILOT"), (2, 3, "CITY")]]
