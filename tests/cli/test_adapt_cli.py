"""`spacy epnet adapt` and `recognize --explain`, with a tiny encoder."""

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from ..conftest import ROOT
from ..util.commands import read

ROWS = """Ada\tB-PILOT\nleft\tO\nRio\tB-CITY\n.\tO

Otto\tB-PILOT\nlives\tO\nin\tO\nNew\tB-CITY\nYork\tI-CITY\n.\tO
"""

RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}


@pytest.fixture
def folder(tmp_path, trained):
    trained.to_disk(tmp_path / "source")
    (tmp_path / "support.iob").write_text(ROWS, encoding="utf8")
    return tmp_path


def adapt(folder, *args, support="support.iob", output="adapted", code=0):
    paths = (folder / "source", folder / support, folder / output)
    return read("epnet", "adapt", *paths, *args, code=code)


def test_from_a_file_of_any_format_to_a_pipeline(folder):
    shown = adapt(folder, "--adapt.lr", "0.01", "--report", folder / "report.json")
    assert "CITY" in shown
    assert "the loss was low enough" in shown
    assert str(folder / "adapted") in shown
    nlp = spacy.load(folder / "adapted")
    found = [(ent.text, ent.label_) for ent in nlp("Ada left Rio .").ents]
    assert found == [("Ada", "PILOT"), ("Rio", "CITY")]
    report = srsly.read_json(folder / "report.json")
    assert report["support"] == {"CITY": 2, "PILOT": 2}
    assert report["settings"]["lr"] == 0.01
    assert len(report["learning"]["losses"]) == report["learning"]["steps"]


def test_spacy_files_give_the_same(folder):
    adapt(folder)
    read("epnet", "convert", folder / "support.iob", folder / "support.spacy")
    adapt(folder, support="support.spacy", output="other")
    weights = [
        spacy.load(folder / name).get_pipe("epnet_ner").model.to_bytes()
        for name in ("adapted", "other")
    ]
    assert weights[0] == weights[1]


def test_config_and_options(folder):
    config = folder / "my.cfg"
    config.write_text('[adapt]\nprofile = "paper"\nmax_steps = 3\n')
    args = ["--config", config, "--report", folder / "r.json", "--adapt.patience", "0"]
    adapt(folder, *args)
    settings = srsly.read_json(folder / "r.json")["settings"]
    assert settings["assignment"] == RANDOM
    assert (settings["max_steps"], settings["patience"]) == (3, 0)
    shipped = ROOT / "configs" / "adapt.cfg"
    adapt(folder, "--config", shipped, "--adapt.max_steps", 2)


def test_blocks_are_changed_on_the_command_line(folder):
    report = folder / "r.json"
    args = ["--report", report, "--adapt.max_steps", "2"]
    adapt(folder, *args, "--adapt.assignment.name_weight", "3.5")
    settings = srsly.read_json(report)["settings"]
    assert settings["assignment"]["name_weight"] == 3.5
    name = RANDOM["@misc"]
    adapt(folder, *args, "--adapt.assignment.@misc", name)
    assert srsly.read_json(report)["settings"]["assignment"] == RANDOM


def test_overrides_in_the_environment_are_for_trainings(folder, monkeypatch):
    monkeypatch.setenv("SPACY_CONFIG_OVERRIDES", "--training.max_steps 7 --lr 3")
    report = folder / "r.json"
    adapt(folder, "--report", report, "--adapt.max_steps", "2")
    assert srsly.read_json(report)["settings"]["max_steps"] == 2


def test_types_can_join_those_of_the_source(folder):
    adapt(folder, "--extend")
    labels = spacy.load(folder / "adapted").get_pipe("epnet_ner").labels
    assert labels == ("PERSON", "PLACE", "CITY", "PILOT")


def test_types_are_given_by_their_names(folder):
    args = ("epnet", "adapt", folder / "source", folder / "adapted")
    shown = read(*args, "--types", "person, town", "--adapt.seed", "3")
    assert "there are no examples" in shown
    nlp = spacy.load(folder / "adapted")
    assert nlp.get_pipe("epnet_ner").labels == ("person", "town")
    srsly.write_json(folder / "types.json", {"WHO": "a person"})
    read(*args, "--types", folder / "types.json", "--report", folder / "r.json")
    assert srsly.read_json(folder / "r.json")["support"] == {"WHO": 0}
    adapt(folder, "--types", "person,CITY")
    labels = spacy.load(folder / "adapted").get_pipe("epnet_ner").labels
    assert labels == ("CITY", "PILOT", "person")


@pytest.mark.parametrize(
    ("content", "words"), [("[]", "what each type is in words"), ("{", "Can't read")]
)
def test_files_of_types_that_are_none(folder, content, words):
    (folder / "types.json").write_text(content)
    assert words in adapt(folder, "--types", folder / "types.json", code=1)
    assert "Can't read" in adapt(folder, "--types", "none.json", code=1)


def test_there_must_be_examples_or_types(folder):
    args = ("epnet", "adapt", folder / "source", folder / "adapted")
    assert "Give marked examples" in read(*args, code=1)
    assert not (folder / "adapted").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--adapt.speed", "1"], "no such settings"),
        (["--adapt.lr", "fast"], "Invalid value"),
        (["--profile", "best"], "default or paper"),
        (["--training.lr", "1"], "no such options"),
        (["--name", "ner"], "no few-shot recognizer called"),
        (["--label", "extend"], "no such options"),
        (["--config", "missing.cfg"], "missing.cfg"),
    ],
)
def test_mistakes_in_options(folder, args, words):
    assert words in adapt(folder, *args, code=1)
    assert not (folder / "adapted").exists()


def test_mistakes_in_the_support_set_are_shown_as_a_table(folder):
    contradiction = ROWS + "\nAda\tO\nleft\tO\nRio\tO\n.\tO\n"
    (folder / "support.iob").write_text(contradiction, encoding="utf8")
    shown = adapt(folder, code=1)
    assert "where" in shown
    assert '"Ada left Rio ."' in shown
    assert 'PILOT "Ada", CITY "Rio"' in shown
    assert not (folder / "adapted").exists()


def test_supports_without_anything(folder):
    (folder / "support.iob").write_text("Ada\tO\nleft\tO\n")
    assert "nothing is marked in it" in adapt(folder, code=1)
    DocBin().to_disk(folder / "empty.spacy")
    assert "no texts in it" in adapt(folder, support="empty.spacy", code=1)
    assert "no such file" in adapt(folder, support="none.spacy", code=1)


def test_other_folders_are_never_overwritten_but_pipelines_are(folder):
    (folder / "adapted").mkdir()
    (folder / "adapted" / "thesis.txt").write_text("mine")
    assert "other files" in adapt(folder, code=1)
    assert (folder / "adapted" / "thesis.txt").read_text() == "mine"
    (folder / "adapted" / "thesis.txt").unlink()
    adapt(folder)
    adapt(folder, "--extend")
    assert len(spacy.load(folder / "adapted").get_pipe("epnet_ner").labels) == 4


def test_a_full_disk_leaves_no_half_pipeline(folder, monkeypatch):
    def fail(self, path, **kwargs):
        path.mkdir()
        (path / "config.cfg").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spacy.language.Language.to_disk", fail)
    assert "No space left" in adapt(folder, code=1)
    assert sorted(p.name for p in folder.iterdir()) == ["source", "support.iob"]


def test_entities_are_explained_and_written_as_a_page(folder):
    adapt(folder, "--adapt.lr", "0.01")
    page = folder / "page.html"
    texts = ["Ada left Rio .", "Nobody .", "--html", page]
    texts += ["--explain", "Otto left Rio .", "--explain", "Nobody ."]
    shown = read("epnet", "recognize", folder / "adapted", *texts)
    assert "otherwise" in shown
    assert 'PILOT "Otto"' in shown
    html = page.read_text(encoding="utf8")
    assert html.startswith("<!DOCTYPE html>")
    assert "PILOT" in html


def test_help_has_examples():
    for command in ("adapt", "benchmark", "recognize"):
        shown = read("epnet", command, "--help")
        assert f"Example: spacy epnet {command}" in shown


def test_an_explicit_profile_beats_the_configs(folder):
    report = folder / "r.json"
    args = ["--config", ROOT / "configs" / "adapt.cfg", "--report", report]
    adapt(folder, *args, "--profile", "paper", "--adapt.max_steps", 2)
    assert srsly.read_json(report)["settings"]["assignment"] == RANDOM


def test_configs_for_something_else_are_refused(folder):
    config = ROOT / "configs" / "source.cfg"
    assert "The config '" in adapt(folder, "--config", config, code=1)


def test_nothing_else_is_lost_at_the_output(folder):
    (folder / "notes.txt").write_text("mine")
    assert "there is a file" in adapt(folder, output="notes.txt", code=1)
    assert (folder / "notes.txt").read_text() == "mine"
    adapt(folder)
    inside = folder / "adapted" / "mine.iob"
    inside.write_text(ROWS)
    adapt(folder, code=1)
    adapt(folder, support="adapted/mine.iob", code=1)
    assert inside.read_text() == ROWS


def test_entities_that_are_lost_in_conversion_are_reported(folder):
    row = {"text": "Ada left Rio.", "label": [[0, 2, "PILOT"], [9, 12, "CITY"]]}
    srsly.write_jsonl(folder / "support.jsonl", [row])
    assert "Mark them anew" in adapt(folder, support="support.jsonl")


def test_a_learning_rate_that_is_too_high(folder):
    shown = adapt(folder, "--adapt.lr", "1e30", code=1)
    assert "The loss is no number any" in shown
    assert not (folder / "adapted").exists()


def test_an_output_folder_that_is_a_link_stays_one(folder):
    (folder / "far").mkdir()
    (folder / "adapted").symlink_to(folder / "far" / "pipeline")
    for _ in range(2):
        adapt(folder, "--adapt.max_steps", "1")
        assert (folder / "adapted").is_symlink()
        assert [path.name for path in (folder / "far").iterdir()] == ["pipeline"]
    assert "CITY" in spacy.load(folder / "adapted").get_pipe("epnet_ner").labels
