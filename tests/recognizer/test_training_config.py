"""What a config says of the corpora of a training, to those who don't have them."""

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.util import load_config

from spacy_epnet import adapt
from spacy_epnet.recognizer.training_config import without_corpora

from ..util.adapting_tools import SUPPORT, make_reference
from ..util.commands import run

MIXED = {
    "@readers": "spacy-epnet.MixedCorpus.v1",
    "parts": {"x": {"path": "${paths.corpora}/missing.spacy"}},
    "without": "${mixture.without}",
}
NOTED = {"parts": "${corpora.train.parts}", "without": "${mixture.without}"}


@pytest.fixture
def mixed(trained):
    """A pipeline whose config names corpora that aren't there."""
    config = trained.config
    config["paths"] |= {"corpora": "missing", "other": "kept"}
    config["mixture"] = {"without": []}
    config["corpora"] = {"train": MIXED, "dev": MIXED, "pretrain": MIXED}
    config["training"]["before_to_disk"] = {
        "@callbacks": "spacy-epnet.note_sources.v1",
        **NOTED,
    }
    config["paths"]["source"] = "missing"
    config["initialize"]["after_init"] = {
        "@callbacks": "spacy-epnet.continue_from.v1",
        "source": "${paths.source}",
    }
    config["initialize"]["vocab_data"] = "${paths.other}"
    config["initialize"]["components"] = {
        "epnet_ner": {"labels": {"@readers": "spacy-epnet.MixedLabels.v1", **NOTED}}
    }
    return trained


@pytest.mark.parametrize("in_place", [True, False])
def test_an_adapted_pipeline_names_no_corpora(mixed, tmp_path, in_place):
    before = mixed.config.copy()
    adapted = adapt(mixed, SUPPORT, max_steps=2, in_place=in_place).nlp
    if not in_place:
        assert mixed.config == before
    assert "missing" not in adapted.config.to_str(interpolate=False)
    assert "mixture" not in adapted.config
    assert adapted.config["paths"]["other"] == "kept"
    adapted.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("epnet_ner").labels == ("CITY", "PILOT")


def test_spacys_commands_take_the_config_of_an_adapted_pipeline(mixed, tmp_path):
    mixed.config["initialize"]["vocab_data"] = None
    adapt(mixed, SUPPORT, max_steps=2).nlp.to_disk(tmp_path / "adapted")
    config = tmp_path / "adapted" / "config.cfg"
    run("assemble", config, tmp_path / "assembled")
    assembled = spacy.load(tmp_path / "assembled")
    assert assembled.get_pipe("epnet_ner").labels == ("CITY", "PILOT")
    docs = [make_reference(assembled, item) for item in SUPPORT]
    DocBin(docs=docs).to_disk(tmp_path / "own.spacy")
    own = tmp_path / "own.spacy"
    # Four examples are few, which the command ends with.
    output = run("debug", "data", config, *_give(own), code=1)
    assert "Corpus is loadable" in output
    assert "4 training docs" in output


def _give(corpus):
    return "--paths.train", corpus, "--paths.dev", corpus


@pytest.mark.parametrize("label", ["${paths.x}", "A$B", "a:b", "50%", '"', "[x]"])
def test_any_labels_are_in_a_config_or_left_out(mixed, tmp_path, label):
    pipe = mixed.get_pipe("epnet_ner")
    pipe.learned["labels"][0] = label
    mixed.config["initialize"]["vocab_data"] = None
    for corpora in ({}, {label: [label]}, {"x": [label]}):
        pipe.learned["corpora"] = corpora
        path = tmp_path / "config.cfg"
        without_corpora(mixed).to_disk(path)
        block = load_config(path, interpolate=True)["initialize"]["components"]
        assert block["epnet_ner"] in ({}, {"labels": pipe.label_data})
