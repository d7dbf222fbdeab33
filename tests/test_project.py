"""The spaCy project that ties the commands together."""

import re
import shutil
import subprocess

import pytest
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner
from weasel.cli.document import project_document
from weasel.cli.run import project_run
from weasel.util import load_project_config

import spacy_epnet.cli

from .conftest import ROOT
from .util.corpus_tools import CONLL2012

assert spacy_epnet.cli.epnet_cli


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of what the project's commands need. spaCy's commands are run in this
    process, to save the time that imports take.
    """

    def run_command(command, **kwargs):
        if command[1:3] != ["-m", "spacy"]:
            subprocess.run(command, check=True)
            return
        result = CliRunner().invoke(app, command[3:], catch_exceptions=False)
        assert result.exit_code == 0, result.output

    monkeypatch.setattr("weasel.cli.run.run_command", run_command)
    folder = tmp_path / "project"
    for name in ("configs", "assets/demo", "assets/toy", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "project.yml", folder / "project.yml")
    return folder


def read(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def get_labels(path):
    return {ent.label_ for doc in read(path) for ent in doc.ents}


def test_every_step_of_a_workflow_is_a_command(project):
    config = load_project_config(project)
    commands = {command["name"]: command for command in config["commands"]}
    for steps in config["workflows"].values():
        assert set(steps) <= set(commands)
        made = set()
        for step in steps:
            own = [d for d in commands[step].get("deps", []) if d.startswith("corpus/")]
            assert set(own) <= made
            made.update(commands[step].get("outputs", []))
    for asset in config["assets"]:
        assert asset["description"]


@pytest.mark.parametrize("workflow", ["adapt", "all", "toy"])
def test_what_comes_with_the_project_is_enough(project, workflow):
    config = load_project_config(project)
    commands = {command["name"]: command for command in config["commands"]}
    made = set()
    for step in config["workflows"][workflow]:
        for path in commands[step].get("deps", []):
            assert path in made or (project / path).exists(), path
        made.update(commands[step].get("outputs", []))


def test_the_projects_own_documentation_is_up_to_date(project):
    before = (project / "docs" / "project.md").read_text(encoding="utf8")
    project_document(project, project / "docs" / "project.md")
    assert (project / "docs" / "project.md").read_text(encoding="utf8") == before


def test_the_gpu_reaches_every_command_that_computes(project):
    config = load_project_config(project, interpolate=False)
    for command in config["commands"]:
        for line in command["script"]:
            is_ours = re.search(
                r"spacy (epnet )?(train|eval|adapt|benchm|recog|report)", line
            )
            assert bool(is_ours) == ("--gpu-id ${vars.gpu_id}" in line), line


def test_demo_corpus_is_converted_and_sampled_once(project, capfd):
    for command in ("convert", "sample"):
        project_run(project, command)
    assert len(read(project / "corpus/demo/test.spacy")) == 150
    folder = project / "corpus/demo/support-5"
    assert len(list(folder.glob("set-?.spacy"))) == 5
    manifest = srsly.read_json(project / "corpus/demo/support-5/set-0.json")
    assert min(manifest["counts"].values()) >= 5
    capfd.readouterr()
    for command in ("convert", "sample"):
        project_run(project, command)
    assert capfd.readouterr().out.count("nothing changed") == 2
    mine = project / "corpus" / "mine.txt"
    mine.write_text("years of work")
    beside = project / "corpus/demo/support-5/notes.txt"
    beside.write_text("mine, too")
    project_run(project, "clean")
    there = [path for path in (project / "corpus").rglob("*") if path.is_file()]
    assert {mine, beside} < {*there}
    assert {path.parent.name for path in there} == {"corpus", "support-5"}
    beside.unlink()
    project_run(project, "clean")
    assert [*(project / "corpus").iterdir()] == [mine]


def test_tag_set_extension_parts_the_types(project):
    for part in ("train.txt", "dev.txt", "test.txt"):
        folder = project / "assets/corpora/ontonotes" / part
        folder.mkdir(parents=True)
        (folder / "a.v4_gold_conll").write_text(CONLL2012)
    project_run(project, "convert-extension", overrides={"vars.group": "C"})
    corpus = project / "corpus/ontonotes-C"
    assert get_labels(corpus / "train.spacy") == {"ORG", "GPE"}
    assert get_labels(corpus / "held-out.spacy") == {"ORG", "GPE"}
    assert get_labels(corpus / "dev.spacy") == {"DATE"}
    assert get_labels(corpus / "test.spacy") == {"DATE"}
    assert len(read(corpus / "test.spacy")) == 3


def test_corpora_can_lie_anywhere(project, tmp_path):
    folder = tmp_path / "elsewhere" / "mine"
    folder.mkdir(parents=True)
    for name in ("dev.txt", "test.txt"):
        (folder / name).write_text("Ada\tB-PER\n\nnobody\tO\n")
    overrides = {"vars.corpora": "../elsewhere", "vars.corpus": "mine"}
    for command in ("convert-target", "sample-target"):
        project_run(project, command, overrides={**overrides, "vars.shots": 1})
    assert len(read(project / "corpus/mine/test.spacy")) == 2
    assert len(read(project / "corpus/mine/support-1/set-0.spacy")) == 1


@pytest.mark.parametrize("content", ["- 1", "a: {outs: 3}", "a: 1"])
def test_a_lock_file_that_something_else_has_written(tmp_path, content):
    (tmp_path / "project.lock").write_text(content)
    result = CliRunner().invoke(spacy_epnet.cli.epnet_cli, ["clean", str(tmp_path)])
    assert result.exit_code == 1
    assert "spacy project" in " ".join(result.output.split())
