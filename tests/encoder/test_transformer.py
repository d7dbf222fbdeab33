from copy import deepcopy

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc
from spacy.util import load_model_from_config
from spacy.vocab import Vocab
from spacy_transformers.span_getters import get_doc_spans
from thinc.api import SGD, get_torch_default_device

from spacy_epnet.encoder import download, networks, shim
from spacy_epnet.encoder.transformer import build_transformer_model
from spacy_epnet.errors import EncoderError

from ..conftest import train


def make_model(name, **settings):
    return build_transformer_model(str(name), get_doc_spans, {}, {}, **settings)


@pytest.fixture
def docs():
    return [Doc(Vocab(), words=["Ada", "lives"]), Doc(Vocab(), words=["here"])]


def learn_from_ones(batch, backprop):
    gradient = [[numpy.ones_like(data.tensors[0])] for data in batch.doc_data]
    backprop(batch.unsplit_by_doc(gradient))


def get_shim(model):
    return model.layers[0].shims[0]


def test_mixed_precision_trains_in_bfloat16_and_predicts_in_float32(
    tiny_encoder, docs, monkeypatch
):
    seen = []
    model = make_model(tiny_encoder)
    model.initialize(X=docs)
    layer = model.transformer.encoder.layer[0].intermediate.dense
    layer.register_forward_hook(lambda *args: seen.append(args[-1].dtype))

    monkeypatch.setattr(shim, "has_bfloat16", lambda: True)
    half, backprop = model.begin_update(docs)
    monkeypatch.setattr(shim, "has_bfloat16", lambda: False)
    full, _ = model.begin_update(docs)
    predicted = model.predict(docs)
    assert seen == [torch.bfloat16, torch.float32, torch.float32]
    assert half.model_output.last_hidden_state.dtype == torch.float32
    numpy.testing.assert_allclose(
        half.doc_data[0].tensors[0], full.doc_data[0].tensors[0], atol=0.1
    )
    numpy.testing.assert_allclose(
        predicted.doc_data[0].tensors[0], full.doc_data[0].tensors[0], atol=1e-5
    )
    learn_from_ones(half, backprop)
    assert model.transformer.encoder.layer[0].intermediate.dense.weight.grad is not None


def test_mixed_precision_is_left_out_where_nothing_is_gained(tiny_encoder):
    on = get_shim(make_model(tiny_encoder))
    assert on.trains_in_half
    assert on._mixed_precision == (get_torch_default_device().type == "cuda")
    assert not get_shim(make_model(tiny_encoder, mixed_precision=False)).trains_in_half


def get_states(batch):
    return numpy.concatenate([data.tensors[0].ravel() for data in batch.doc_data])


@pytest.mark.parametrize(
    ("inference", "dtype"),
    [("float32", torch.float32), ("bfloat16", torch.bfloat16)],
)
def test_predictions_in_other_numbers(
    tiny_encoder, docs, monkeypatch, inference, dtype
):
    monkeypatch.setattr(networks, "has_bfloat16", lambda: True)
    expected = get_states(make_model(tiny_encoder).initialize(X=docs).predict(docs))
    model = make_model(tiny_encoder, inference=inference).initialize(X=docs)
    before = model.to_bytes()
    states = get_states(model.predict(docs))
    assert states.dtype == numpy.float32
    assert (abs(states - expected).max() > 0) == (inference != "float32")
    assert abs(states - expected).mean() < 0.02
    fastest = get_shim(model)._get_fastest()
    assert fastest.encoder.layer[0].intermediate.dense.weight.dtype == dtype
    assert get_shim(model)._get_fastest() is fastest
    assert model.to_bytes() == before


def test_predictions_follow_the_training(tiny_encoder, docs, monkeypatch):
    monkeypatch.setattr(networks, "has_bfloat16", lambda: True)
    model = make_model(tiny_encoder, inference="bfloat16", mixed_precision=False)
    model.initialize(X=docs)
    before = get_states(model.predict(docs))
    batch, backprop = model.begin_update(docs)
    learn_from_ones(batch, backprop)
    model.finish_update(SGD(1.0))
    after = get_states(model.predict(docs))
    exact, _ = model.begin_update(docs)
    assert abs(after - before).max() > 0.1
    assert abs(after - get_states(exact)).mean() < 0.02
    weights = model.transformer.state_dict()
    zeros = {name: torch.zeros_like(value) for name, value in weights.items()}
    model.transformer.load_state_dict(zeros)
    assert abs(get_states(model.predict(docs))).max() == 0


def test_bfloat16_is_left_out_where_it_is_emulated(tiny_encoder, docs, monkeypatch):
    monkeypatch.setattr(networks, "has_bfloat16", lambda: False)
    model = make_model(tiny_encoder, inference="bfloat16").initialize(X=docs)
    shim = get_shim(model)
    assert shim._get_fastest() is shim._model


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"inference": "int8"}, r"inference.*float32 or"),
        ({"trained_layers": 0}, "frozen_components"),
    ],
)
def test_settings_are_checked(tiny_encoder, setting, reason):
    with pytest.raises(ValueError, match=reason):
        make_model(tiny_encoder, **setting)


def test_a_cpu_is_used_as_one_even_if_there_is_cuda(tiny_encoder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    shim = get_shim(make_model(tiny_encoder))
    assert not shim._mixed_precision
    assert not shim._grad_scaler._enabled


@pytest.mark.parametrize("bfloat16", [True, False])
def test_settings_reach_the_encoder(tiny_encoder, docs, monkeypatch, bfloat16):
    monkeypatch.setattr(shim, "has_bfloat16", lambda: bfloat16)
    model = build_transformer_model(
        str(tiny_encoder),
        get_doc_spans,
        {"use_fast": True},
        {"output_hidden_states": True},
    )
    model.initialize(X=docs)
    assert model.transformer.config.output_hidden_states
    batch, _ = model.begin_update(docs)
    states = batch.doc_data[0].model_output.hidden_states
    assert [state.dtype for state in states] == [numpy.float32] * 2
    assert model.tokenizer.is_fast


def test_loaded_encoders_need_no_folder_to_be_initialized_again(trained, monkeypatch):
    model = trained.get_pipe("transformer").model
    monkeypatch.setitem(model.attrs, "name", "./nowhere")
    trained.get_pipe("transformer").initialize(lambda: [])
    assert model.get_dim("nO") == 32


def test_small_numbers_of_the_config_survive_saving(tiny_encoder, docs):
    saved = make_model(tiny_encoder)
    saved.initialize(X=docs)
    assert saved.transformer.config.layer_norm_eps == 1e-12
    loaded = make_model(tiny_encoder).from_bytes(saved.to_bytes()).transformer
    assert loaded.config.layer_norm_eps == 1e-12
    norms = [m for m in loaded.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {1e-12}


@pytest.mark.parametrize("path", ["./nowhere", "a/b/c", "/nowhere", "~/nowhere"])
def test_paths_without_an_encoder_are_told(path, docs):
    with pytest.raises(ValueError, match=r"--paths\.encoder"):
        make_model(path).initialize(X=docs)


def test_encoders_are_named_as_in_the_config_wherever_they_are_found(
    tiny_encoder, monkeypatch
):
    monkeypatch.setattr(download, "find_encoder", {"tiny": str(tiny_encoder)}.get)
    nlp = spacy.blank("en")
    settings = {"@architectures": "spacy-epnet.TransformerModel.v1", "name": "tiny"}
    nlp.add_pipe("transformer", config={"model": settings})
    nlp.initialize()
    assert nlp.get_pipe("transformer").model.transformer.config._name_or_path == "tiny"
    assert nlp.config["components"]["transformer"]["model"]["name"] == "tiny"
    monkeypatch.delattr(download, "find_encoder")
    loaded = load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    states = [copy("Ada left")._.trf_data.tensors[0] for copy in (nlp, loaded)]
    assert numpy.array_equal(*states)


def test_encoders_that_the_hub_cannot_give_are_reported(docs, monkeypatch):
    def fail(*args):
        raise OSError("no\nnetwork")

    path = "spacy_transformers.layers.transformer_model.huggingface_from_pretrained"
    monkeypatch.setattr(path, fail)
    with pytest.raises(EncoderError, match="'bert-base-cased': no network"):
        make_model("bert-base-cased").initialize(X=docs)


def test_lower_layers_and_embeddings_can_be_left_as_they_are(source_config, examples):
    config = source_config.copy()
    config["components"]["transformer"]["model"]["trained_layers"] = 1
    nlp = load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: examples)
    network = nlp.get_pipe("transformer").model.transformer
    # The tiny encoder has one layer. With another one, the lower stays.
    network.encoder.layer.append(deepcopy(network.encoder.layer[0]))
    network.config.num_hidden_layers = 2
    before = {name: value.clone() for name, value in network.state_dict().items()}
    train(nlp, examples, steps=2)
    changed = {
        name.partition("layer.")[0] + name.partition("layer.")[2][:1]
        for name, value in network.state_dict().items()
        if not value.equal(before[name])
    }
    assert changed == {"encoder.1"}
