"""Recognizers over what other packages feed them."""

from types import SimpleNamespace

import numpy
import pytest
import spacy
from spacy.training import Example
from spacy_curated_transformers.tokenization import build_char_encoder_loader_v1
from thinc.api import NumpyOps

from spacy_epnet import adapt
from spacy_epnet.encoder.vectors import count_unfed, get_listeners, get_upstream

from ..conftest import RECOGNIZERS, get_ents, train

WIDTH = 32
PREFIX = "spacy-curated-transformers"
TRANSFORMER = {
    "@architectures": f"{PREFIX}.BertTransformer.v1",
    "vocab_size": 200,
    "hidden_width": WIDTH,
    "intermediate_width": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "attention_probs_dropout_prob": 0.0,
    "hidden_dropout_prob": 0.0,
    "piece_encoder": {"@architectures": f"{PREFIX}.CharEncoder.v1"},
    "with_spans": {"@architectures": f"{PREFIX}.WithStridedSpans.v1"},
}
LISTENER = {
    "@architectures": f"{PREFIX}.LastTransformerLayerListener.v1",
    "width": WIDTH,
    "pooling": {"@layers": "reduce_mean.v1"},
}


class ScalarOps(NumpyOps):
    """The package takes an array of one number for a number, namely its loss, which
    NumPy 2.4 doesn't allow any more. Here that array is a number.
    """

    xp = SimpleNamespace(
        **{**vars(numpy), "full": lambda size, value: numpy.asarray(value)}
    )


@pytest.fixture
def make_curated(tiny_encoder, examples):
    """Make a pipeline over spacy-curated-transformers."""

    def make(name):
        nlp = spacy.blank("en")
        transformer = nlp.add_pipe("curated_transformer", config={"model": TRANSFORMER})
        transformer.model.ops = ScalarOps()
        model = {"tok2vec": LISTENER}
        if "learn_rate_scale" in nlp.get_factory_meta(name).default_config["model"]:
            model["learn_rate_scale"] = 1.0  # the encoder isn't pretrained
        nlp.add_pipe(name, config={"model": model})
        pieces = tiny_encoder / "vocab.txt"
        transformer.model.get_ref("piece_encoder").init = build_char_encoder_loader_v1(
            path=pieces
        )
        nlp.initialize(lambda: examples)
        return nlp

    return make


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_recognizers_train_and_adapt_over_curated_transformers(
    make_curated, examples, references, name
):
    nlp = make_curated(name)
    losses = train(nlp, examples, steps=60, learn_rate=0.003)
    assert losses[name] > 0
    assert any(doc.ents for doc in nlp.pipe([eg.x.text for eg in examples]))
    report = adapt(nlp, references[:4])
    adapted = report.nlp
    assert adapted.get_pipe(name).labels == ("PERSON", "PLACE")
    listeners = get_listeners(adapted.get_pipe(name).model)
    assert adapted.get_pipe("curated_transformer").listener_map[name] == listeners
    assert listeners != get_listeners(nlp.get_pipe(name).model)
    found = [
        get_ents(doc) for doc in adapted.pipe([doc.text for doc in references[:4]])
    ]
    assert sum(map(len, found)) >= 4


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_curated_transformers_that_have_not_run_are_missed(make_curated, name):
    nlp = make_curated(name)
    (listener,) = get_listeners(nlp.get_pipe(name).model)
    assert get_upstream(listener) == "transformer"
    with (
        nlp.select_pipes(disable="curated_transformer"),
        pytest.raises(ValueError, match=r"transformer.*1 of the 1"),
    ):
        nlp("Ada lives in Paris .")


def test_batches_that_were_handed_over_count_as_fed(make_curated, examples):
    nlp = make_curated("epnet_ner")
    (listener,) = get_listeners(nlp.get_pipe("epnet_ner").model)
    docs = [Example(nlp.make_doc(eg.x.text), eg.y) for eg in examples[:3]]
    bare = [eg.x for eg in docs]
    assert count_unfed(listener, bare, is_train=True) == 3
    nlp.get_pipe("curated_transformer").update(docs, losses={})
    assert count_unfed(listener, bare, is_train=True) == 0
    assert count_unfed(listener, bare, is_train=False) == 3
