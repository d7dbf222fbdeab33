"""The three ways in, as the README has them, on a fresh clone with the real encoder."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import spacy
import srsly
from spacy.training import Example

from .conftest import ROOT, get_ents

ENCODER = {
    "@architectures": "spacy-epnet.TransformerModel.v1",
    "name": "all-MiniLM-L6-v2",
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout")
    folder = tmp_path_factory.mktemp("clone") / "project"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def run(clone, line):
    """Run a line of the README in a clone, whose code is found first."""
    command = [sys.executable, "-m", *line.split()]
    environ = {**os.environ, "PYTHONPATH": str(clone)}
    subprocess.run(command, cwd=clone, check=True, env=environ)


def test_they_come_right_after_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf8")
    code = re.findall(r"(?:^    .*\n)+", text, flags=re.MULTILINE)
    commands, tests, lines, *_ = (block.split("\n    ") for block in code)
    assert [len(commands), len(tests)] == [1, 1]
    assert [line.strip() for line in lines] == [
        'nlp.add_pipe("epnet_ner")',
        "spacy train configs/source.cfg",
        "spacy project run adapt",
    ]


def test_add_pipe(references):
    nlp = spacy.blank("en")
    nlp.add_pipe("transformer", config={"model": ENCODER})
    nlp.add_pipe("epnet_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 5e-5
    losses = [nlp.update(examples, sgd=optimizer)["epnet_ner"] for _ in range(15)]
    assert losses[-1] < losses[0] / 2
    found = [get_ents(doc) for doc in nlp.pipe(doc.text for doc in references)]
    gold = [get_ents(doc) for doc in references]
    assert sum(a == b for a, b in zip(found, gold, strict=True)) > len(gold) / 2


def test_train(clone):
    run(
        clone,
        "spacy train configs/source.cfg --output training/source "
        "--training.max_steps 2 --training.eval_frequency 1",
    )
    nlp = spacy.load(clone / "training" / "source" / "model-last")
    assert {"PERSON", "CITY"} < set(nlp.get_pipe("epnet_ner").labels)


@pytest.mark.large
def test_a_whole_training_learns_the_types_of_the_small_corpus(clone):
    run(clone, "spacy train configs/source.cfg --output training/whole")
    meta = srsly.read_json(clone / "training" / "whole" / "model-best" / "meta.json")
    assert meta["performance"]["ents_f"] > 0.7


def test_project_run_adapt(clone):
    run(clone, "spacy project run adapt")
    nlp = spacy.load(clone / "training" / "demo" / "adapted")
    assert "SPACECRAFT" in nlp.get_pipe("epnet_ner").labels
    assert nlp("Cassini has left Saturn.").ents
