"""Pipelines that aren't what was saved, or were made to do harm."""

import shutil

import pytest
import spacy
import srsly
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli
from spacy_epnet.hashes import HASHES
from spacy_epnet.recognizer.pipeline import is_pipeline

from .conftest import get_ents

PARTS = ["epnet_ner/learned", "epnet_ner/model", "transformer/model"]
CODES = "Can't load the (weights|encoder)"


@pytest.fixture
def folder(trained, tmp_path):
    trained.to_disk(tmp_path / "nlp")
    return tmp_path / "nlp"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_flipped_bit_is_found(folder, part, place):
    data = bytearray((folder / part).read_bytes())
    data[int(place * len(data))] ^= 4
    (folder / part).write_bytes(data)
    with pytest.raises(ValueError, match=CODES):
        spacy.load(folder)


@pytest.mark.parametrize("part", PARTS[:2])
def test_a_missing_file_is_found(folder, part):
    (folder / part).unlink()
    with pytest.raises(ValueError, match=rf"{part[-5:]} is missing"):
        spacy.load(folder)


def test_a_changed_file_is_found(folder):
    learned = srsly.read_json(folder / PARTS[0])
    learned["generations"] = [{"PERSON": 2, "PLACE": 1}]
    srsly.write_json(folder / PARTS[0], learned)
    with pytest.raises(ValueError, match=r"learned isn't what was saved"):
        spacy.load(folder)


@pytest.mark.parametrize(
    ("file", "content"), [("vocab/vectors", b""), ("tokenizer", b"\x01")]
)
def test_damage_to_files_of_spacy_is_told_in_words(folder, file, content):
    (folder / file).write_bytes(content)
    result = CliRunner().invoke(epnet_cli, ["recognize", str(folder), "Ada left."])
    assert result.exit_code == 1
    assert "Can't load '" in " ".join(result.output.split())


@pytest.mark.parametrize("content", ["[]", "{", '{"components": 3}'])
def test_a_folder_whose_meta_is_something_else_is_no_pipeline(folder, content):
    assert is_pipeline(folder)
    (folder / "meta.json").write_text(content)
    assert not is_pipeline(folder)


def test_a_flipped_bit_is_found_in_bytes(trained):
    for name in trained.pipe_names:
        pipe = trained.get_pipe(name)
        data = bytearray(pipe.to_bytes(exclude=["vocab"]))
        data[len(data) * 3 // 4] ^= 1
        with pytest.raises(ValueError, match=CODES):
            pipe.from_bytes(bytes(data))


def test_parts_of_two_pipelines_do_not_fit(folder, trained, tmp_path):
    trained.get_pipe("epnet_ner").add_label("OTHER")
    trained.to_disk(tmp_path / "other")
    shutil.copy(tmp_path / "other" / PARTS[0], folder / PARTS[0])
    with pytest.raises(ValueError, match=r"Can't load the weights of '"):
        spacy.load(folder)


def test_what_has_no_hashes_is_loaded_with_a_warning(folder, trained):
    expected = get_ents(trained("Ada lives in Rio ."))
    (folder / "epnet_ner" / HASHES).unlink()
    with pytest.warns(UserWarning, match=r"epnet_ner"):
        nlp = spacy.load(folder)
    assert get_ents(nlp("Ada lives in Rio .")) == expected
