"""Sources that come with the package, with a tiny encoder."""

import shutil

import pytest
import spacy
import srsly
import torch
from spacy.training import Example
from spacy.util import load_config, load_model_from_config
from transformers import AutoConfig, AutoModel
from typer.testing import CliRunner

import spacy_epnet
from spacy_epnet.annotating.annotator import Recipe
from spacy_epnet.annotating.cluster import make_payload
from spacy_epnet.annotating.output_formats import Layout
from spacy_epnet.annotating.run import hash_model
from spacy_epnet.cli import epnet_cli
from spacy_epnet.encoder.download import CACHE_VARIABLE
from spacy_epnet.recognizer.pipeline import hash_pipeline
from spacy_epnet.sources import catalog
from spacy_epnet.sources.changes import apply_changes, find_changes
from spacy_epnet.sources.packing import is_packed, pack_source, unpack_source

from ..conftest import get_ents, train


@pytest.fixture(scope="module")
def packed(source_config, references, tiny_encoder, tmp_path_factory):
    """A trained pipeline, and what was packed of it."""
    nlp = load_model_from_config(source_config.copy(), auto_fill=True)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    nlp.meta["sources"] = [{"corpus": "x", "name": "Twenty", "license": "CC0"}]
    folder = tmp_path_factory.mktemp("packed") / "tiny"
    pack_source(nlp, tiny_encoder, folder)
    return nlp, folder


@pytest.fixture
def shipped(packed, tmp_path, monkeypatch):
    """The same as if it came with the package, and an empty cache."""
    _, folder = packed
    shutil.copytree(folder, tmp_path / "shipped" / "tiny")
    monkeypatch.setattr(catalog, "PACKED", tmp_path / "shipped")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "shipped" / "tiny"


def call(*args):
    result = CliRunner().invoke(epnet_cli, [str(arg) for arg in args])
    return result.exit_code, " ".join(result.output.split())


def test_changes_are_small_and_nearly_exact():
    torch.manual_seed(0)
    before = {
        "matrix": torch.randn(8, 15),
        "bias": torch.randn(8),
        "same": torch.ones(3),
    }
    after = {
        "matrix": before["matrix"] + 0.01 * torch.randn(8, 15),
        "bias": before["bias"] + 0.01,
        "same": torch.ones(3),
    }
    after["matrix"][2] = before["matrix"][2]
    changes = find_changes(before, after)
    assert set(changes) == {"matrix", "matrix.steps", "bias"}
    assert changes["matrix"].dtype == torch.uint8
    assert changes["matrix"].shape == (8, 8)
    network = torch.nn.Module()
    for name, value in before.items():
        network.register_buffer(name, value.clone())
    apply_changes(network, changes)
    errors = (network.matrix - after["matrix"]).abs().amax(dim=1)
    largest = (after["matrix"] - before["matrix"]).abs().amax(dim=1)
    assert (errors <= largest / 7 / 2 + 1e-6).all()
    assert network.matrix[2].equal(before["matrix"][2])
    torch.testing.assert_close(network.bias, after["bias"])


def test_what_was_packed_is_the_pipeline_again(packed, tiny_encoder, references):
    nlp, folder = packed
    again = unpack_source(folder, tiny_encoder)
    texts = [doc.text for doc in references]
    expected = [get_ents(doc) for doc in nlp.pipe(texts)]
    assert sum(map(len, expected)) > 10
    assert [get_ents(doc) for doc in again.pipe(texts)] == expected
    assert again.meta["sources"] == nlp.meta["sources"]
    assert again.pipe_names == nlp.pipe_names
    # Neither words of the corpus nor places on this machine are passed on.
    assert "Hopper" in nlp.vocab.strings
    assert "Hopper" not in unpack_source(folder, tiny_encoder).vocab.strings
    config = (folder / "config.cfg").read_text(encoding="utf8")
    assert str(tiny_encoder.parent) not in config
    size = (folder / "encoder.safetensors").stat().st_size
    weights = nlp.get_pipe("transformer").model.transformer.state_dict()
    assert size < 0.5 * sum(4 * weight.numel() for weight in weights.values())


@pytest.mark.parametrize("name", catalog.list_sources())
def test_a_source_names_types_and_no_corpora(packed, name):
    for folder in (packed[1], catalog.PACKED / name):
        config = load_config(folder / "config.cfg", interpolate=True)
        assert config["paths"]["train"] is config["corpora"]["train"]["path"] is None
        assert "corpora" not in config["paths"]
        (block,) = config["initialize"]["components"].values()
        learned = srsly.read_json(folder / "epnet_ner" / "learned")
        assert block["labels"] == (learned["corpora"] or learned["labels"])


def test_the_same_is_made_every_time(packed, tiny_encoder, tmp_path):
    _, folder = packed
    one, other = (unpack_source(folder, tiny_encoder) for _ in range(2))
    expected = srsly.read_json(folder / "source.json")["pipeline"]
    assert hash_pipeline(one) == hash_pipeline(other) == expected
    one.to_disk(tmp_path / "saved")
    assert hash_pipeline(spacy.load(tmp_path / "saved")) == expected


@pytest.mark.parametrize(
    "file", ["encoder.safetensors", "epnet_ner/learned", "config.cfg", "source.json"]
)
@pytest.mark.parametrize("damage", ["changed", "truncated", "missing"])
def test_damaged_files_are_refused(shipped, tiny_encoder, file, damage):
    path = shipped / file
    data = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(
        ValueError,
        match=r"isn't what was packed|isn't the one that the source|No source called",
    ):
        catalog.make_source("tiny", encoder=str(tiny_encoder))
    assert not (catalog.get_cache() / "sources").exists()


def test_a_wrong_encoder_is_refused(shipped, tiny_encoder, tmp_path):
    other = shutil.copytree(tiny_encoder, tmp_path / "other")
    network = AutoModel.from_pretrained(other)
    network.embeddings.word_embeddings.weight.data[0] += 1
    network.save_pretrained(other)
    with pytest.raises(ValueError, match=r"other"):
        catalog.make_source("tiny", encoder=str(other))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty"):
        catalog.make_source("tiny", encoder=str(tmp_path / "empty"))
    assert not (catalog.get_cache() / "sources").exists()


def test_a_source_is_made_once(shipped, tiny_encoder, monkeypatch):
    place = catalog.make_source("tiny", encoder=str(tiny_encoder))
    assert place.parent == catalog.get_cache() / "sources"
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    monkeypatch.setattr(catalog, "unpack_source", None)
    assert catalog.make_source("tiny") == place
    nlp = spacy_epnet.load_source("tiny")
    assert nlp.get_pipe("epnet_ner").labels == ("PERSON", "PLACE")


@pytest.fixture
def asked(shipped, tiny_encoder, monkeypatch):
    """Which encoders were asked for. All of them are the tiny one."""
    asked = []

    def fetch(encoder, folder):
        asked.append((encoder, folder))
        return tiny_encoder

    monkeypatch.setattr(catalog, "ENCODERS", {tiny_encoder.name: "the encoder"})
    monkeypatch.setattr(catalog, "fetch_encoder", fetch)
    return asked


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("damage", ["meta.json", "config.cfg", "epnet_ner/model", "."])
def test_a_damaged_source_is_made_again(damage):
    path = catalog.make_source("tiny")
    if damage == ".":
        shutil.rmtree(path)
        path.mkdir()
    else:
        (path / damage).write_bytes(b"damaged")
    for load in (catalog.load_source, catalog.load_pipeline):
        with pytest.warns(UserWarning, match=f"source 'tiny' again.*{path}"):
            assert load("tiny").get_pipe("epnet_ner").labels == ("PERSON", "PLACE")
        assert load("tiny").get_pipe("epnet_ner").labels == ("PERSON", "PLACE")
        (path / "meta.json").write_text("damaged")


def test_links_in_a_pipeline_are_followed(tmp_path):
    for name in ("nlp", "far"):
        (tmp_path / name).mkdir()
    (tmp_path / "far" / "model").write_text("old")
    (tmp_path / "nlp" / "meta.json").write_text("{}")
    for name in ("epnet_ner", "other"):
        (tmp_path / "nlp" / name).symlink_to(tmp_path / "far")
    for name in ("itself", "again"):
        (tmp_path / "nlp" / name).symlink_to(tmp_path / "nlp")
    found = [
        path.relative_to(tmp_path / "nlp").as_posix()
        for path in catalog.list_pipeline_files(tmp_path / "nlp")
    ]
    assert found == ["epnet_ner/model", "meta.json", "other/model"]
    before = hash_model(tmp_path / "nlp")
    recipe = Recipe(str(tmp_path / "nlp"), Layout("jsonl", "text"), None, 1, -1)
    assert "model/epnet_ner/model" in make_payload(recipe).files
    (tmp_path / "far" / "model").write_text("new")
    assert hash_model(tmp_path / "nlp") != before


def test_an_interrupted_making_leaves_nothing(shipped, tiny_encoder, monkeypatch):
    def fail(self, path, **kwargs):
        path.mkdir()
        (path / "half").write_text("")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spacy.language.Language, "to_disk", fail)
    with pytest.raises(OSError, match="No space left"):
        catalog.make_source("tiny", encoder=str(tiny_encoder))
    assert list((catalog.get_cache() / "sources").iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(catalog, "PACKED", shipped.parent)
    made = catalog.make_source(
        "tiny", encoder=str(tiny_encoder), cache=shipped.parent / "cache"
    )
    assert made.is_dir()


def test_the_encoder_is_fetched(asked):
    catalog.make_source("tiny")
    assert asked == [("the encoder", catalog.get_cache() / "encoders")]


def test_commands_take_the_name_of_a_source(shipped, tiny_encoder, tmp_path):
    code, output = call("source")
    assert (code, output) == (0, "tiny")
    code, output = call("source", "tiny", "--encoder", tiny_encoder)
    assert code == 0, output
    code, output = call("source", "tiny", "--output", tmp_path / "copy")
    assert code == 0, output
    assert spacy.load(tmp_path / "copy").pipe_names == ["transformer", "epnet_ner"]
    rows = "Rex\tB-DOG\nbarked\tO\n\nOtto\tO\nsaw\tO\nRex\tB-DOG\n"
    (tmp_path / "support.iob").write_text(rows, encoding="utf8")
    code, output = call("adapt", "tiny", tmp_path / "support.iob", tmp_path / "adapted")
    assert code == 0, output
    assert spacy.load(tmp_path / "adapted").get_pipe("epnet_ner").labels == ("DOG",)
    code, output = call("corpora", "tiny")
    assert (code, "Twenty" in output, "CC0" in output) == (0, True, True)
    code, output = call("source", "huge")
    assert code == 1
    assert "There are: tiny" in output
    code, output = call("recognize", "tyni", "Ada left.")
    assert code == 1
    assert "There is no pipeline '" in output
    assert "Those are: tiny" in output


def test_the_pack_command(packed, tiny_encoder, tmp_path):
    nlp, _ = packed
    nlp.to_disk(tmp_path / "trained")
    args = ("pack", tmp_path / "trained", tiny_encoder)
    meta = ("--name", "tiny", "--version", "1.2", "--license", "MIT")
    code, output = call(*args, tmp_path / "packed", *meta)
    assert code == 0, output
    again = unpack_source(tmp_path / "packed", tiny_encoder)
    assert again.pipe_names == nlp.pipe_names
    assert [again.meta[key] for key in ("name", "version", "license")] == list(
        meta[1::2]
    )
    assert again.meta["description"] == nlp.meta["description"]
    code, output = call(*args, tmp_path / "trained")
    assert code == 1
    assert spacy.load(tmp_path / "trained").pipe_names == nlp.pipe_names


@pytest.mark.parametrize("size", [16, 32])
def test_nothing_is_packed_against_a_wrong_encoder(
    packed, tiny_encoder, tmp_path, size
):
    nlp, _ = packed
    other = shutil.copytree(tiny_encoder, tmp_path / "other")
    config = AutoConfig.from_pretrained(other)
    config.hidden_size = size
    torch.manual_seed(1)
    AutoModel.from_config(config).save_pretrained(other)
    nlp.to_disk(tmp_path / "trained")
    code, output = call("pack", tmp_path / "trained", other, tmp_path / "packed")
    assert code == 1
    assert "The encoder in '" in output
    assert not (tmp_path / "packed").exists()


def test_only_pipelines_with_one_transformer_can_be_packed(tiny_encoder, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=r"Can't pack this pipeline: it has"):
        pack_source(nlp, tiny_encoder, tmp_path / "packed")


def test_a_packed_source_is_replaced_and_nothing_else(packed, tmp_path):
    _, folder = packed
    copied = shutil.copytree(folder, tmp_path / "copy")
    assert is_packed(copied)
    (copied / "meta.json").unlink()  # damaged, and still one
    assert is_packed(copied)
    (copied / "notes.txt").write_text("mine")
    assert not is_packed(copied)
