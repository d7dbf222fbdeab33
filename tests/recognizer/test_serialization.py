import shutil
import subprocess
import sys

import numpy
import pytest
import spacy
import srsly
from spacy.util import load_model_from_config

from spacy_epnet.hashes import add_hashes

from ..conftest import SMALL_TOK2VEC, get_ents


def read_scores(nlp, texts):
    docs = list(nlp.pipe(texts))
    # As bytes, because JSON rounds.
    scores = [doc.spans["epnet_ner"].attrs["scores"].tobytes().hex() for doc in docs]
    return [[list(ent) for ent in get_ents(doc)] for doc in docs], scores


@pytest.fixture
def texts(references):
    return [doc.text for doc in references]


@pytest.fixture
def pipe_bytes(trained):
    return trained.get_pipe("epnet_ner").to_bytes()


def test_loaded_from_disk_predicts_bit_for_bit(trained, texts, tmp_path):
    expected = read_scores(trained, texts)
    trained.to_disk(tmp_path)
    assert read_scores(spacy.load(tmp_path), texts) == expected


def test_another_process_needs_neither_encoder_nor_network(
    source_config, tiny_encoder, texts, examples, tmp_path
):
    encoder = tmp_path / "moved"
    shutil.copytree(tiny_encoder, encoder)
    config = source_config.copy()
    config["components"]["transformer"]["model"]["name"] = str(encoder)
    nlp = load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: examples)
    expected = read_scores(nlp, texts)
    nlp.to_disk(tmp_path / "nlp")
    shutil.rmtree(encoder)
    srsly.write_json(tmp_path / "expected.json", [texts, expected])
    script = """
import socket, sys, spacy, srsly
def refuse(*args, **kwargs):
    raise OSError("no network")
socket.socket.connect = refuse
nlp = spacy.load(sys.argv[1])
texts, expected = srsly.read_json(sys.argv[2])
docs = list(nlp.pipe(texts))
ents = [[[e.start, e.end, e.label_] for e in doc.ents] for doc in docs]
scores = [doc.spans["epnet_ner"].attrs["scores"].tobytes().hex() for doc in docs]
assert [ents, scores] == expected
print("the same")
"""
    files = [tmp_path / "nlp", tmp_path / "expected.json"]
    result = subprocess.run(
        [sys.executable, "-c", script, *files], capture_output=True, text=True
    )
    assert result.stdout.strip() == "the same", result.stderr


def test_what_was_learned_travels_with_the_component(trained, make_nlp):
    pipe = trained.get_pipe("epnet_ner")
    pipe.cfg["threshold"] = 0.25
    other = make_nlp().get_pipe("epnet_ner").from_bytes(pipe.to_bytes())
    assert other.prototypes == {"PERSON": 1, "PLACE": 2}
    assert other.learned == pipe.learned
    assert other.cfg["threshold"] == 0


PROBABLE = {"@misc": "spacy-epnet.prefer_probable.v1"}


def test_settings_travel_with_the_config(trained, tmp_path):
    pipe = trained.get_pipe("epnet_ner")
    pipe.cfg.update(threshold=0.25, tau=7.0, overlaps=PROBABLE)
    trained.to_disk(tmp_path)
    saved = spacy.util.load_config(tmp_path / "config.cfg")["components"]["epnet_ner"]
    assert (saved["threshold"], saved["tau"]) == (0.25, 7.0)
    assert saved["overlaps"] == PROBABLE
    assert not (tmp_path / "epnet_ner" / "cfg").exists()
    loaded = spacy.load(tmp_path).get_pipe("epnet_ner")
    assert (loaded.cfg["threshold"], loaded.cfg["tau"]) == (0.25, 7.0)
    assert spacy.load(tmp_path).config["components"]["epnet_ner"] == saved


def test_settings_given_when_loading_count(trained, tmp_path):
    trained.get_pipe("epnet_ner").cfg["threshold"] = 0.25
    trained.to_disk(tmp_path)
    changes = {"components.epnet_ner.threshold": 0.75}
    loaded = spacy.load(tmp_path, config=changes)
    assert loaded.get_pipe("epnet_ner").cfg["threshold"] == 0.75
    loaded.to_disk(tmp_path / "again")
    assert spacy.load(tmp_path / "again").get_pipe("epnet_ner").cfg["threshold"] == 0.75


def test_settings_that_are_wrong_are_refused_and_change_nothing(trained):
    cfg = trained.get_pipe("epnet_ner").cfg
    for key, value, words in (
        ("threshold", 1.5, r"\'threshold\': 1\.5"),
        ("tau", -1, r"Invalid value.*\'tau\'"),
        ("overwrite_ents", "yes", r"Invalid value.*\'overwrite_ents\'"),
        ("speed", 1, r"no such settings: speed.*threshold"),
        ("overlaps", max, r"Invalid value.*block of a config"),
    ):
        before = dict(cfg)
        with pytest.raises(ValueError, match=words):
            cfg[key] = value
        assert dict(cfg) == before
    assert trained.config["components"]["epnet_ner"]["threshold"] == 0


def test_grown_tables_can_be_loaded(trained, texts, tmp_path):
    pipe = trained.get_pipe("epnet_ner")
    for i in range(20):
        pipe.add_label(f"TYPE{i}")
    expected = read_scores(trained, texts)
    trained.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe("epnet_ner").labels == pipe.labels
    assert read_scores(loaded, texts) == expected


def test_untrained_components_can_be_saved(make_nlp, tmp_path):
    pipe = make_nlp().get_pipe("epnet_ner")
    pipe.to_disk(tmp_path)
    loaded = make_nlp().get_pipe("epnet_ner").from_disk(tmp_path)
    assert loaded.labels == ()


def test_weights_are_safetensors(trained):
    data = trained.get_pipe("epnet_ner").model.to_bytes()
    (head,) = [
        shims
        for node, shims in zip(
            srsly.msgpack_loads(data)["nodes"],
            srsly.msgpack_loads(data)["shims"],
            strict=True,
        )
        if node["name"] == "epnet_head"
    ]
    from safetensors.numpy import load

    weights = load(srsly.msgpack_loads(head[0])["state"])
    assert weights["prototypes"].shape == (8, 32)


def replace_weights(data, replace):
    """Change the weights inside a saved component."""
    message = srsly.msgpack_loads(data)
    model = srsly.msgpack_loads(message["model"])
    for node, shims in zip(model["nodes"], model["shims"], strict=True):
        if node["name"] == "epnet_head":
            shim = srsly.msgpack_loads(shims[0])
            shim["state"] = replace(shim["state"])
            shims[0] = srsly.msgpack_dumps(shim)
    message["model"] = srsly.msgpack_dumps(model)
    return dump(message)


def dump(message):
    """Save what was changed on purpose."""
    parts = {name: message[name] for name in ("learned", "model")}
    return srsly.msgpack_dumps({**message, **add_hashes(parts)})


def rename(state):
    from safetensors.numpy import load, save

    return save({f"other.{name}": value for name, value in load(state).items()})


def reshape(state):
    from safetensors.numpy import load, save

    return save({name: value[..., :-1].copy() for name, value in load(state).items()})


BROKEN = {
    "truncated file": lambda data: data[:-50],
    "truncated weights": lambda data: replace_weights(data, lambda state: state[:-9]),
    "weights that are none": lambda data: replace_weights(data, lambda state: b"abc"),
    "weights of another network": lambda data: replace_weights(data, rename),
    "weights of another size": lambda data: replace_weights(data, reshape),
    "nothing": lambda data: b"",
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_broken_weights_are_refused_and_change_nothing(
    trained, texts, pipe_bytes, damage
):
    pipe = trained.get_pipe("epnet_ner")
    expected, learned = read_scores(trained, texts), dict(pipe.learned)
    other = load_other(trained, pipe_bytes)
    with pytest.raises(ValueError, match=r"Nothing was\s+changed"):
        pipe.from_bytes(damage(other))
    assert pipe.learned == learned
    assert read_scores(trained, texts) == expected


def load_other(nlp, data):
    """The bytes of a component with another label."""
    message = srsly.msgpack_loads(data)
    learned = srsly.json_loads(message["learned"])
    learned["generations"][0]["OTHER"] = 3
    learned["labels"].append("OTHER")
    message["learned"] = srsly.json_dumps(learned).encode("utf8")
    return dump(message)


def test_settings_survive_weights_that_are_refused(make_nlp, examples, pipe_bytes):
    nlp = make_nlp(model__max_width=2)
    with pytest.warns(UserWarning, match="can't predict 4 of the 30"):
        nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("epnet_ner")
    with pytest.raises(ValueError, match=r"width_embeddings"):
        pipe.from_bytes(pipe_bytes)
    assert pipe.max_width == 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model__similarity": "cosine"}, "euclidean.*cosine"),
        ({"model__edges": False}, r"edges\.0"),
    ],
)
def test_weights_for_another_network_are_refused(make_nlp, pipe_bytes, settings, words):
    pipe = make_nlp(**settings).get_pipe("epnet_ner")
    with pytest.raises(ValueError, match=rf"{words}"):
        pipe.from_bytes(pipe_bytes)


def test_layers_of_the_component_itself_stay_unchanged_too(examples):
    def make_pipe():
        nlp = spacy.blank("en")
        pipe = nlp.add_pipe("epnet_ner", config={"model": {"tok2vec": SMALL_TOK2VEC}})
        nlp.initialize(lambda: examples)
        return pipe

    pipe, other = make_pipe(), make_pipe()
    before = pipe.to_bytes()
    other.learned["generations"][0]["PERSON"] = 999
    with pytest.raises(ValueError, match=r"999"):
        pipe.from_bytes(other.to_bytes())
    assert pipe.to_bytes() == before


def test_files_of_other_components_are_refused(trained, texts, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("textcat").add_label("A")
    nlp.get_pipe("textcat").add_label("B")
    nlp.initialize()
    nlp.get_pipe("textcat").to_disk(tmp_path)
    expected = read_scores(trained, texts)
    pipe = trained.get_pipe("epnet_ner")
    with pytest.raises(ValueError, match=r"Can't load the weights of '"):
        pipe.from_disk(tmp_path)
    assert pipe.labels == ("PERSON", "PLACE")
    assert read_scores(trained, texts) == expected


def test_rows_beyond_the_table_are_refused(trained, pipe_bytes):
    message = srsly.msgpack_loads(pipe_bytes)
    learned = srsly.json_loads(message["learned"])
    learned["generations"][0]["PERSON"] = 99
    message["learned"] = srsly.json_dumps(learned).encode("utf8")
    pipe = trained.get_pipe("epnet_ner")
    with pytest.raises(ValueError, match=r"99"):
        pipe.from_bytes(dump(message))
    assert pipe.prototypes["PERSON"] == 1


def test_copies_do_not_share_state(trained, make_nlp, pipe_bytes):
    other = make_nlp().get_pipe("epnet_ner").from_bytes(pipe_bytes)
    other.add_label("OTHER")
    assert trained.get_pipe("epnet_ner").labels == ("PERSON", "PLACE")
    weights = [
        pipe.model.get_ref("head").shims[0]._model.prototypes.detach().numpy()
        for pipe in (other, trained.get_pipe("epnet_ner"))
    ]
    numpy.testing.assert_array_equal(*weights)
    assert not numpy.shares_memory(*weights)
