"""A batch that is encoded in parts gives what it gives as a whole."""

import numpy
import pytest
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab
from spacy_transformers.span_getters import configure_strided_spans
from thinc.api import SGD
from transformers.file_utils import ModelOutput

from spacy_epnet.encoder import chunks
from spacy_epnet.encoder.chunks import get_lengths, split_by_length, write_rows
from spacy_epnet.encoder.transformer import build_transformer_model

WORDS = ["Ada", "lives", "in", "a", "house", "near", "Paris", "!"]


@pytest.fixture
def docs():
    vocab = Vocab()
    lengths = (3, 1, 30, 0, 8, 2, 17, 1)
    return [Doc(vocab, words=(WORDS * 4)[:length]) for length in lengths]


def make_model(encoder, max_pieces, **config):
    spans = configure_strided_spans(12, 8)
    model = build_transformer_model(
        str(encoder), spans, {}, config, mixed_precision=False, max_pieces=max_pieces
    )
    return model.initialize()


@pytest.fixture(autouse=True)
def _any_padding(monkeypatch):
    """Let the limit of pieces alone decide what is a part."""
    monkeypatch.setattr(chunks, "MAX_PADDING", 10**6)


@pytest.mark.parametrize("max_pieces", [1, 40, 100])
def test_outputs_are_the_same(tiny_encoder, docs, max_pieces):
    config = {"output_hidden_states": True, "output_attentions": True}
    config["attn_implementation"] = "eager"
    whole = make_model(tiny_encoder, 10**6, **config).predict(docs)
    parts = make_model(tiny_encoder, max_pieces, **config).predict(docs)
    assert [*whole.model_output] == [*parts.model_output]
    for one, other in zip(whole.doc_data, parts.doc_data, strict=True):
        numpy.testing.assert_array_equal(one.align.dataXd, other.align.dataXd)
        if not len(one.align.lengths):
            continue
        rows = one.align.dataXd
        for key in ("last_hidden_state", "hidden_states"):
            pair = [data.model_output[key] for data in (one, other)]
            pair = [states if isinstance(states, list) else [states] for states in pair]
            for states in zip(*pair, strict=True):
                assert states[0].shape == states[1].shape
                used = [s.reshape(-1, s.shape[-1])[rows] for s in states]
                numpy.testing.assert_allclose(*used, atol=1e-5)
        shapes = [d.model_output["attentions"][0].shape for d in (one, other)]
        assert shapes[0] == shapes[1]


def test_gradients_are_the_same(tiny_encoder, docs):
    gradients = []
    for max_pieces in (10**6, 40):
        model = make_model(tiny_encoder, max_pieces)
        batch, backprop = model.begin_update(docs)
        rng = numpy.random.default_rng(0)
        arrays = []
        for data in batch.doc_data:
            if not len(data.align.lengths):
                continue
            states = data.model_output.last_hidden_state
            gradient = numpy.zeros_like(states).reshape(-1, states.shape[-1])
            rows = numpy.unique(data.align.dataXd)
            gradient[rows] = rng.normal(size=(len(rows), states.shape[-1]))
            arrays.append([gradient.reshape(states.shape)])
        backprop(batch.unsplit_by_doc(arrays))
        gradients.append({n: w.grad for n, w in model.transformer.named_parameters()})
        model.finish_update(SGD(0.001))
    assert sum(gradient is not None for gradient in gradients[0].values()) > 10
    for name, gradient in gradients[0].items():
        if gradient is not None:
            torch.testing.assert_close(gradient, gradients[1][name], atol=1e-3, rtol=0)


def test_gradients_are_scaled_once(tiny_encoder, docs):
    """As on CUDA, where a scaler multiplies gradients and divides them afterwards."""
    model = make_model(tiny_encoder, 40)
    calls = []

    class Scaler:
        found_inf = False

        def scale(self, tensors, inplace):
            calls.append("scale")
            return [tensor * 8 for tensor in tensors]

        def unscale(self, tensors):
            calls.append("unscale")
            for tensor in tensors:
                tensor /= 8

    model.layers[0].shims[0]._grad_scaler = Scaler()
    batch, backprop = model.begin_update(docs)
    arrays = [
        [numpy.ones_like(data.model_output.last_hidden_state)]
        for data in batch.doc_data
        if len(data.align.lengths)
    ]
    backprop(batch.unsplit_by_doc(arrays))
    assert calls == ["scale", "unscale"]


def test_outputs_that_are_no_rows_of_texts_are_left_out():
    outputs = ModelOutput(
        last_hidden_state=torch.ones(2, 3, 4), cache=object(), mems=(torch.ones(9, 2),)
    )
    joined = {}
    write_rows(outputs, numpy.asarray([2, 0]), joined, 3)
    assert list(joined) == ["last_hidden_state"]
    assert joined["last_hidden_state"].sum(dim=(1, 2)).tolist() == [12, 0, 12]


def test_groups_keep_to_the_limit_and_have_everyone():
    lengths = numpy.asarray([5, 1, 9, 30, 2, 2, 8])
    groups = split_by_length(lengths, 18, 18)
    assert sorted(i for group in groups for i in group.tolist()) == list(range(7))
    assert [lengths[group].tolist() for group in groups] == [
        [30],
        [9, 8],
        [5, 2, 2],
        [1],
    ]


def test_groups_are_padded_little():
    lengths = numpy.asarray([20, 18, 17, 16, 16, 3, 2, 20])
    groups = [lengths[group].tolist() for group in split_by_length(lengths, 1000, 5)]
    assert groups == [[20, 20, 18, 17], [16, 16], [3, 2]]


def test_lengths_count_to_the_last_piece_that_is_no_padding():
    mask = numpy.asarray([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
    assert get_lengths(mask).tolist() == [2, 3, 4, 4]


def test_the_limit_is_the_configs_and_not_what_was_saved(tiny_encoder, docs):
    saved = make_model(tiny_encoder, 40).to_bytes()
    model = make_model(tiny_encoder, 1)
    model.from_bytes(saved)
    calls = []
    network = model.transformer
    network.register_forward_hook(lambda *args: calls.append(1))
    model.predict([doc for doc in docs if len(doc)])
    assert len(calls) > 8
