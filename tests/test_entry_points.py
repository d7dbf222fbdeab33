"""Everything registered is found, and nothing heavy is imported on the way."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points

import pytest
import spacy
from spacy import registry
from spacy.util import load_config, load_model_from_config

from spacy_epnet.epnet.settings import EPNetSettings
from spacy_epnet.recognizer.settings import make_adapt_config

from .conftest import RECOGNIZERS, ROOT

GROUPS = [
    "spacy_factories",
    "spacy_architectures",
    "spacy_callbacks",
    "spacy_misc",
    "spacy_readers",
    "spacy_loggers",
    "spacy_cli",
    "thinc_optimizers",
]
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
        "container_ner",
        "cpnet_ner",
        "epnet",
        "epnet_ner",
        "epnet_tokens_ner",
        "esd_ner",
        "nnshot_ner",
        "protonet_ner",
        "protonet_pd_ner",
        "structshot_ner",
        "spacy-epnet.Adam.v1",
        "spacy-epnet.ConsoleLogger.v1",
        "spacy-epnet.Corpus.v1",
        "spacy-epnet.ESD.v1",
        "spacy-epnet.EPNet.v1",
        "spacy-epnet.ListedCorpora.v1",
        "spacy-epnet.MixedCorpus.v1",
        "spacy-epnet.MixedLabels.v1",
        "spacy-epnet.SurfaceTok2Vec.v1",
        "spacy-epnet.TokenClassifier.v1",
        "spacy-epnet.TokenGaussians.v1",
        "spacy-epnet.TokenMemory.v1",
        "spacy-epnet.TokenPairs.v1",
        "spacy-epnet.TransformerModel.v1",
        "spacy-epnet.TypeNames.v1",
        "spacy-epnet.encode_names.v1",
        "spacy-epnet.mixture_assignment.v1",
        "spacy-epnet.continue_from.v1",
        "spacy-epnet.note_sources.v1",
        "spacy-epnet.prefer_near.v1",
        "spacy-epnet.prefer_probable.v1",
        "spacy-epnet.random_assignment.v1",
    }


def test_what_is_imported_is_declared():
    """Other things may be installed by chance, and be missing elsewhere."""
    imported = set()
    for path in (ROOT / "spacy_epnet").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    extras = project["optional-dependencies"]
    needed = read_names(project["dependencies"])
    extra = read_names(extras["viz"] + extras["parquet"] + extras["ray"])
    # What it is called to import.
    extra = {{"scikit_learn": "sklearn"}.get(name, name) for name in extra}
    # Type checkers bring _typeshed, and nothing else imports it.
    others = imported - {"spacy_epnet", "_typeshed", *sys.stdlib_module_names}
    assert others == needed | extra


def read_names(requirements):
    return {re.split(r"[<>=\[]", each)[0].replace("-", "_") for each in requirements}


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: entry.name)
def test_entry_points_resolve(entry):
    assert callable(entry.load())
    kind = entry.group.partition("_")[2]
    if kind not in ("cli", "factories"):
        assert registry.get(kind, entry.name) is entry.load()


TRAINING_CONFIGS = [
    path for path in (ROOT / "configs").glob("*.cfg") if path.name != "adapt.cfg"
]


@pytest.mark.parametrize("path", TRAINING_CONFIGS, ids=lambda path: path.stem)
def test_the_configs_for_training_are_complete(tiny_encoder, path):
    overrides = {"paths.encoder": str(tiny_encoder)}
    config = load_config(path, overrides=overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    transformer, name = nlp.pipe_names
    assert transformer == "transformer"
    assert name in RECOGNIZERS
    optimizer = nlp.create_optimizer()
    assert optimizer.learn_rate is not None


def test_the_config_for_adapting_is_understood():
    settings = dict(load_config(ROOT / "configs" / "adapt.cfg")["adapt"])
    kind, shots = EPNetSettings.Adapt, {"shots": 5, "extends": False}
    config = make_adapt_config(kind, settings.pop("profile"), settings, **shots)
    assert config == make_adapt_config(kind, "default", {}, **shots)


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_the_factory_configs_are_complete(name):
    nlp = spacy.blank("en")
    nlp.add_pipe(name)
    config = nlp.get_pipe_config(name)
    assert config["model"]["@architectures"].startswith("spacy-epnet.")
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
