"""Training with the encoder that is the default."""

import numpy
import pytest
import spacy
from spacy.cli.convert import convert
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_epnet.encoder.download import MINILM, fetch_encoder
from spacy_epnet.epnet import decoding

from ..conftest import ROOT, SOURCE_CONFIG, get_ents

TOY = ROOT / "assets" / "toy"
SOURCE_TEXTS = [
    "On Friday, Miriam Makeba sang in Nairobi with the Berlin Philharmonic.",
    "Toyota will pay for the World Cup in Mexico City.",
    "Marie Curie was reading Hamlet near Mount Fuji.",
    "Nobody in Lincoln had heard of Lincoln.",
    "The train was late and nobody complained.",
]


@pytest.fixture(scope="module")
def minilm():
    return fetch_encoder(MINILM, ROOT / "assets" / "encoders")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("source-train", "source-dev"):
        convert(
            TOY / f"{name}.iob",
            folder,
            converter="ner",
            file_type="spacy",
            silent=True,
        )
    return folder


@pytest.fixture(scope="module")
def trained(minilm, corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("training")
    overrides = {
        "paths.encoder": str(minilm),
        "paths.train": str(corpus / "source-train.spacy"),
        "paths.dev": str(corpus / "source-dev.spacy"),
        # Which is enough here, and takes less time than all six.
        "components.transformer.model.trained_layers": 3,
        "training.max_steps": 100,
        "training.eval_frequency": 100,
        "training.batcher.size": 128,
        "components.epnet_ner.model.learn_rate_scale": 5.0,
        "training.optimizer.learn_rate.initial_rate": 0.0004,
        "training.optimizer.learn_rate.warmup_steps": 10,
        "training.optimizer.learn_rate.total_steps": 100,
    }
    spacy_train(SOURCE_CONFIG, output, overrides=overrides)
    return output / "model-last"


def test_learns_the_toy_corpus(trained, corpus):
    nlp = spacy.load(trained)
    docs = spacy.training.Corpus(corpus / "source-dev.spacy")
    scores = nlp.evaluate(list(docs(nlp)))
    assert scores["ents_f"] > 0.5
    assert len(scores["ents_per_type"]) == 6


def test_batches_and_single_texts_are_recognized_alike(trained):
    nlp = spacy.load(trained)
    batched = list(nlp.pipe(SOURCE_TEXTS))
    for doc, text in zip(batched, SOURCE_TEXTS, strict=True):
        single = nlp(text)
        assert get_ents(doc) == get_ents(single)
        scores = [d.spans["epnet_ner"].attrs["scores"] for d in (doc, single)]
        numpy.testing.assert_allclose(*scores, atol=1e-4)
    assert sum(len(doc.ents) for doc in batched) >= 5


def test_fast_paths_change_no_prediction(trained, corpus, monkeypatch):
    docs = [*DocBin().from_disk(corpus / "source-dev.spacy").get_docs(Vocab())]
    texts = [doc.text for doc in docs]
    assert sum(map(len, docs)) > decoding.MAX_STARTS

    def recognize(**settings):
        config = {f"components.transformer.model.{k}": v for k, v in settings.items()}
        return [get_ents(doc) for doc in spacy.load(trained, config=config).pipe(texts)]

    fast = recognize()
    assert sum(map(len, fast)) > 50
    assert recognize(max_pieces=10**9) == fast
    monkeypatch.setitem(
        decoding.find_winners.__kwdefaults__, "min_tokens_to_filter", 10**9
    )
    assert recognize() == fast


def test_long_documents_are_recognized_to_the_end(trained):
    nlp = spacy.load(trained)
    sentence = "Marie Curie spoke to the press in Nairobi . "
    once = [ent.label_ for ent in nlp(sentence).ents]
    assert once == ["PERSON", "CITY"]
    ents = nlp(sentence * 120).ents
    assert len(ents) > 200
    assert ents[-1].start > 1050
