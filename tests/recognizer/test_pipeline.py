import pickle
import subprocess
import sys

import numpy
import pytest
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config

from spacy_epnet.epnet import decoding

from ..conftest import SMALL_TOK2VEC, get_ents, train


def get_scores(doc, key="epnet_ner"):
    return doc.spans[key].attrs["scores"]


@pytest.fixture
def texts(references):
    return [doc.text for doc in references] + ["", "   ", "Otto"]


def test_pipe_equals_single_calls(trained, texts):
    batched = list(trained.pipe(texts, batch_size=8))
    for text, doc in zip(texts, batched, strict=True):
        single = trained(text)
        assert get_ents(doc) == get_ents(single)
        numpy.testing.assert_allclose(get_scores(doc), get_scores(single), atol=1e-5)
    assert sum(len(doc.ents) for doc in batched) > 20


def test_pipe_runs_whole_batches(trained, texts, monkeypatch):
    sizes = []
    pipe = trained.get_pipe("epnet_ner")
    predict = type(pipe).predict

    def spy(self, docs):
        sizes.append(len(docs))
        return predict(self, docs)

    monkeypatch.setattr(type(pipe), "predict", spy)
    list(trained.pipe(texts, batch_size=10))
    assert sizes == [10, 10, 3]


def test_several_processes_give_the_same(trained, texts, tmp_path):
    trained.to_disk(tmp_path / "nlp")
    script = """
import numpy, spacy, sys, srsly
nlp = spacy.load(sys.argv[1])
texts = srsly.read_json(sys.argv[2])
def run(**kwargs):
    docs = list(nlp.pipe(texts, batch_size=4, **kwargs))
    ents = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in docs]
    scores = [doc.spans["epnet_ner"].attrs["scores"] for doc in docs]
    return ents, numpy.concatenate(scores)
ents, scores = run()
again, scores_again = run(n_process=2)
assert again == ents
numpy.testing.assert_allclose(scores_again, scores, atol=1e-5)
print(sum(map(len, ents)))
"""
    srsly.write_json(tmp_path / "texts.json", texts)
    command = [sys.executable, "-c", script, tmp_path / "nlp", tmp_path / "texts.json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 20


def test_components_can_be_pickled_for_spawned_processes(trained, texts):
    expected = [get_ents(doc) for doc in trained.pipe(texts)]
    pipes = pickle.loads(pickle.dumps([pipe for _, pipe in trained.pipeline]))
    docs = (trained.make_doc(text) for text in texts)
    for pipe in pipes:
        docs = pipe.pipe(docs)
    assert [get_ents(doc) for doc in docs] == expected


def test_documents_are_scored_in_parts_with_the_same_result(
    trained, texts, monkeypatch
):
    doc = trained.make_doc(" ".join(texts))
    whole = trained(doc.copy())
    monkeypatch.setattr(decoding, "MAX_STARTS", 5)
    parts = trained(doc.copy())
    assert get_ents(parts) == get_ents(whole)
    numpy.testing.assert_allclose(get_scores(parts), get_scores(whole), atol=1e-5)


def test_error_handler_gets_the_docs(trained, texts):
    seen = []
    trained.set_error_handler(
        lambda name, proc, docs, err: seen.append((name, docs, err))
    )
    with trained.select_pipes(disable="transformer"):
        assert list(trained.pipe(texts[:2])) == []
    (name, docs, err) = seen[0]
    assert name == "epnet_ner"
    assert len(docs) == 2
    assert "' has no token vectors to" in str(err)


def test_replaced_listeners_give_the_same(trained, texts, tmp_path):
    before = [get_ents(doc) for doc in trained.pipe(texts)]
    trained.replace_listeners("transformer", "epnet_ner", ["model.tok2vec.tok2vec"])
    trained.remove_pipe("transformer")
    assert [get_ents(doc) for doc in trained.pipe(texts)] == before
    trained.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.pipe_names == ["epnet_ner"]
    assert [get_ents(doc) for doc in loaded.pipe(texts)] == before


def test_replaced_listeners_can_be_trained(nlp, examples):
    nlp.replace_listeners("transformer", "epnet_ner", ["model.tok2vec.tok2vec"])
    nlp.remove_pipe("transformer")
    first = nlp.update(examples, losses={})["epnet_ner"]
    assert train(nlp, examples)["epnet_ner"] < first / 2


def test_transformer_learns_unless_frozen(nlp, examples):
    network = nlp.get_pipe("transformer").model.transformer
    weights = network.encoder.layer[0].output.dense.weight
    before = weights.detach().clone()
    train(nlp, examples, steps=2, annotates=["transformer"], exclude=["transformer"])
    assert (weights == before).all()
    train(nlp, examples, steps=2)
    weights = network.encoder.layer[0].output.dense.weight
    assert (weights != before).any()


def test_two_components_share_one_transformer(source_config, examples):
    config = source_config.copy()
    config["nlp"]["pipeline"] = ["transformer", "epnet_ner", "second"]
    config["components"]["second"] = config["components"]["epnet_ner"].copy()
    nlp = load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: examples)
    losses = train(nlp, examples)
    assert losses["second"] < 1
    assert losses["epnet_ner"] < 1
    doc = nlp(examples[0].x.text)
    for key in ("epnet_ner", "second"):
        assert len(get_scores(doc, key)) == 2
    assert len(doc.ents) == 2


@pytest.mark.parametrize("order", [["tagger", "epnet_ner"], ["epnet_ner", "tagger"]])
def test_others_learn_from_docs_that_teach_this_component_nothing(
    source_config, examples, order
):
    config = source_config.copy()
    config["nlp"]["pipeline"] = ["transformer", *order]
    config["components"]["tagger"] = {
        "factory": "tagger",
        "model": {
            "@architectures": "spacy.Tagger.v2",
            "tok2vec": config["components"]["epnet_ner"]["model"]["tok2vec"],
        },
    }
    nlp = load_model_from_config(config, auto_fill=True)
    tagged = []
    for eg in examples:
        words = [token.text for token in eg.reference]
        tags = ["AB"[i % 2] for i in range(len(words))]
        doc = Doc(nlp.vocab, words=words, tags=tags)
        tagged.append(Example(Doc(nlp.vocab, words=words), doc))
    nlp.initialize(lambda: [*examples, *tagged])
    train(nlp, tagged, steps=1)  # the tagger begins at zero and passes nothing on
    losses = nlp.update(tagged, sgd=False, losses={})
    assert losses["epnet_ner"] == 0
    assert losses["tagger"] > 0
    network = nlp.get_pipe("transformer").model.transformer
    gradient = network.encoder.layer[0].output.dense.weight.grad
    assert float(abs(gradient).max()) > 0


def test_works_on_a_tok2vec_of_spacys_own(examples):
    nlp = spacy.blank("en")
    model = {"tok2vec": SMALL_TOK2VEC, "learn_rate_scale": 1.0}
    nlp.add_pipe("epnet_ner", config={"model": model})
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    assert nlp.evaluate(examples)["ents_f"] >= 0.95
