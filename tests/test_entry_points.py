"""Everything registered is found, and nothing heavy is imported on the way."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
import spacy
from spacy import registry
from spacy.util import load_config, load_model_from_config

from spacy_epnet.adapting import make_settings

from .conftest import ROOT, SOURCE_CONFIG

GROUPS = ["spacy_factories", "spacy_architectures", "spacy_loggers", "spacy_cli"]
OURS = [
    entry
    for group in GROUPS
    for entry in entry_points(group=group)
    if entry.value.startswith("spacy_epnet")
]


def run(script):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_kind_is_registered():
    assert {entry.group for entry in OURS} == set(GROUPS)
    assert {entry.name for entry in OURS} == {
        "epnet",
        "epnet_ner",
        "spacy-epnet.ConsoleLogger.v1",
        "spacy-epnet.EPNet.v1",
        "spacy-epnet.SurfaceTok2Vec.v1",
        "spacy-epnet.TransformerModel.v1",
    }


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.name)
def test_entry_points_resolve(entry):
    assert callable(entry.load())
    kind = entry.group.removeprefix("spacy_")
    if kind in ("architectures", "loggers"):
        assert registry.get(kind, entry.name) is entry.load()


def test_the_config_for_training_is_complete(tiny_encoder):
    overrides = {"paths.encoder": str(tiny_encoder)}
    config = load_config(SOURCE_CONFIG, overrides=overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert "epnet_ner" in nlp.pipe_names
    optimizer = nlp.create_optimizer()
    assert optimizer.learn_rate is not None


def test_the_config_for_adapting_is_understood():
    settings = load_config(ROOT / "configs" / "adapt.cfg")["adapt"]
    assert make_settings(settings.pop("profile"), **settings) == make_settings()


def test_the_factory_config_is_complete():
    nlp = spacy.blank("en")
    nlp.add_pipe("epnet_ner")
    config = nlp.get_pipe_config("epnet_ner")
    assert config["model"]["@architectures"] == "spacy-epnet.EPNet.v1"
    load_model_from_config(nlp.config, auto_fill=False, validate=True)


def test_importing_the_package_imports_nothing_heavy():
    result = run(
        "import sys, spacy_epnet; print({'torch', 'spacy'} & set(sys.modules))"
    )
    assert result.stdout.strip() == "set()", result.stderr


def test_nothing_of_ours_needs_torch_before_a_model_is_built():
    values = [entry.value for entry in OURS]
    script = f"""
import sys
sys.modules["torch"] = None  # any import of it raises ImportError
import importlib, spacy.cli
for value in {values}:
    module, _, name = value.partition(":")
    getattr(importlib.import_module(module), name)
print("fine")
"""
    result = run(script)
    assert result.stdout.strip() == "fine", result.stderr
