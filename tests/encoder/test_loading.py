"""Forged encoders: nothing runs, nothing else is read, nothing is written elsewhere."""

import io
import pickle

import pytest
import srsly
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab
from spacy_transformers.span_getters import get_doc_spans
from transformers.utils import logging

from spacy_epnet.encoder.transformer import build_transformer_model
from spacy_epnet.errors import LoadingError
from spacy_epnet.hashes import add_hashes


@pytest.fixture
def model(tiny_encoder):
    return build_transformer_model(str(tiny_encoder), get_doc_spans)


@pytest.fixture
def saved(model):
    return model.initialize().to_bytes()


def forge(data, change):
    """Change what a transformer was saved as, and the hashes with it."""
    model = srsly.msgpack_loads(srsly.msgpack_loads(data)["model"])
    shims = next(shims for shims in model["shims"] if shims)
    message = srsly.msgpack_loads(shims[0])
    change(message)
    shims[0] = srsly.msgpack_dumps(message)
    return srsly.msgpack_dumps(add_hashes({"model": srsly.msgpack_dumps(model)}))


def forge_files(data, **files):
    return forge(data, lambda message: message["tokenizer"].update(files))


def forge_arguments(data, file="tokenizer_config.json", **arguments):
    def change(message):
        files = message["tokenizer"]
        known = srsly.json_loads(files[file])
        files[file] = srsly.json_dumps({**known, **arguments}).encode("utf8")

    return forge(data, change)


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("format", ["zip", "legacy", "pickle"])
def test_weights_run_no_code_whatever_the_environment_says(
    model, saved, tmp_path, monkeypatch, format
):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    file = io.BytesIO()
    harm = {"embeddings.weight": Harm(tmp_path / "harm")}
    if format == "pickle":
        pickle.dump(harm, file)
    else:
        torch.save(harm, file, _use_new_zipfile_serialization=format == "zip")
    forged = forge(saved, lambda message: message.update(state=file.getvalue()))
    with pytest.raises(LoadingError, match="its weights"):
        model.from_bytes(forged)
    assert not (tmp_path / "harm").exists()


def test_missing_weights_are_found(model, saved):
    def change(message):
        weights = torch.load(io.BytesIO(message["state"]), weights_only=True)
        del weights["pooler.dense.bias"]
        file = io.BytesIO()
        torch.save(weights, file)
        message["state"] = file.getvalue()

    with pytest.raises(LoadingError, match=r"no weights for pooler\.dense\.bias"):
        model.from_bytes(forge(saved, change))


CODE = {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}}


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize(
    "arguments",
    [
        {**CODE, "tokenizer_class": "Unknown"},
        {"vocab_file": "/etc/passwd"},
        {"merges_file": "secret.txt"},
        {"init_inputs": ["/etc/passwd"]},
    ],
)
def test_tokenizers_name_no_code_and_no_files(
    model, saved, monkeypatch, file, arguments
):
    monkeypatch.setattr("builtins.input", None)
    with pytest.raises(
        LoadingError, match=f"its tokenizer has {next(iter(arguments))}"
    ):
        model.from_bytes(forge_arguments(saved, file, **arguments))


@pytest.mark.parametrize("name", ["own.py", "own.PY", "own.so"])
def test_tokenizers_bring_no_code(model, saved, name):
    with pytest.raises(LoadingError, match="its tokenizer has code"):
        model.from_bytes(forge_files(saved, **{name: b"raise SystemExit"}))


def test_the_config_names_no_code(model, saved, monkeypatch):
    def change(message):
        message["config"] |= {"model_type": "unknown", "auto_map": {"AutoModel": "a.B"}}

    monkeypatch.setattr("builtins.input", None)
    with pytest.raises(LoadingError, match="unknown"):
        model.from_bytes(forge(saved, change))


def test_tokenizers_are_read_as_usual(model, saved):
    kwargs = {"use_fast": True, "trust_remote_code": True}
    with pytest.raises(LoadingError, match="trust_remote_code"):
        model.from_bytes(forge_files(saved, kwargs=kwargs))


@pytest.mark.parametrize(
    "name", ["../x", "../../x", "/tmp/x", "a/b", "..\\x", "C:x", "..", ""]
)
def test_files_of_a_tokenizer_stay_in_their_folder(
    model, saved, tmp_path, monkeypatch, name
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LoadingError, match="tokenizer names the file"):
        model.from_bytes(forge_files(saved, **{name: b"harm"}))
    assert sorted(tmp_path.rglob("*")) == before


def test_what_was_saved_is_loaded_to_the_last_bit(model, saved, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    docs = [Doc(Vocab(), words=["Ada", "lives"])]
    expected = model.predict(docs).doc_data[0].tensors[0]
    again = model.from_bytes(saved).to_bytes()
    assert model.predict(docs).doc_data[0].tensors[0].tolist() == expected.tolist()
    assert model.from_bytes(again).to_bytes() == again
    assert list(tmp_path.glob("*.json")) == []


@pytest.fixture
def messages(caplog):
    """What Transformers tells users."""
    logging.enable_propagation()
    yield caplog
    logging.disable_propagation()


def test_long_texts_are_no_reason_to_warn(model, saved, messages):
    docs = [Doc(Vocab(), words=["x" * 600])]
    for loaded in (model, model.from_bytes(saved)):
        loaded.predict(docs)
    assert messages.text == ""
