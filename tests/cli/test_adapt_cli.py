"""`spacy epnet adapt` and `recognize --explain`, with a tiny encoder."""

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli

from ..conftest import ROOT

ROWS = """Ada\tB-PILOT\nleft\tO\nRio\tB-CITY\n.\tO

Otto\tB-PILOT\nlives\tO\nin\tO\nNew\tB-CITY\nYork\tI-CITY\n.\tO
"""

RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}


@pytest.fixture
def folder(tmp_path, trained):
    trained.to_disk(tmp_path / "source")
    (tmp_path / "support.iob").write_text(ROWS, encoding="utf8")
    return tmp_path


def call(*args):
    result = CliRunner().invoke(epnet_cli, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def flatten(result):
    return " ".join(result.output.split())


def adapt(folder, *args, support="support.iob", output="adapted"):
    return call("adapt", folder / "source", folder / support, folder / output, *args)


def test_from_a_file_of_any_format_to_a_pipeline(folder):
    result = adapt(folder, "--adapt.lr", "0.01", "--report", folder / "report.json")
    assert result.exit_code == 0, result.output
    assert "CITY" in result.output
    assert "the loss was low enough" in flatten(result)
    assert str(folder / "adapted") in result.output.replace("\n", "")
    nlp = spacy.load(folder / "adapted")
    found = [(ent.text, ent.label_) for ent in nlp("Ada left Rio .").ents]
    assert found == [("Ada", "PILOT"), ("Rio", "CITY")]
    report = srsly.read_json(folder / "report.json")
    assert report["support"] == {"CITY": 2, "PILOT": 2}
    assert report["settings"]["lr"] == 0.01
    assert len(report["learning"]["losses"]) == report["learning"]["steps"]


def test_spacy_files_give_the_same(folder):
    assert adapt(folder).exit_code == 0
    call("convert", folder / "support.iob", folder / "support.spacy")
    assert adapt(folder, support="support.spacy", output="other").exit_code == 0
    weights = [
        spacy.load(folder / name).get_pipe("epnet_ner").model.to_bytes()
        for name in ("adapted", "other")
    ]
    assert weights[0] == weights[1]


def test_config_and_options(folder):
    config = folder / "my.cfg"
    config.write_text('[adapt]\nprofile = "paper"\nmax_steps = 3\n')
    args = ["--config", config, "--report", folder / "r.json", "--adapt.patience", "0"]
    assert adapt(folder, *args).exit_code == 0
    settings = srsly.read_json(folder / "r.json")["settings"]
    assert settings["assignment"] == RANDOM
    assert (settings["max_steps"], settings["patience"]) == (3, 0)
    shipped = ROOT / "configs" / "adapt.cfg"
    assert adapt(folder, "--config", shipped, "--adapt.max_steps", 2).exit_code == 0


def test_blocks_are_changed_on_the_command_line(folder):
    report = folder / "r.json"
    args = ["--report", report, "--adapt.max_steps", "2"]
    assert adapt(folder, *args, "--adapt.assignment.name_weight", "3.5").exit_code == 0
    settings = srsly.read_json(report)["settings"]
    assert settings["assignment"]["name_weight"] == 3.5
    name = RANDOM["@misc"]
    assert adapt(folder, *args, "--adapt.assignment.@misc", name).exit_code == 0
    assert srsly.read_json(report)["settings"]["assignment"] == RANDOM


def test_overrides_in_the_environment_are_for_trainings(folder, monkeypatch):
    monkeypatch.setenv("SPACY_CONFIG_OVERRIDES", "--training.max_steps 7 --lr 3")
    report = folder / "r.json"
    result = adapt(folder, "--report", report, "--adapt.max_steps", "2")
    assert result.exit_code == 0, result.output
    assert srsly.read_json(report)["settings"]["max_steps"] == 2


def test_types_can_join_those_of_the_source(folder):
    assert adapt(folder, "--labels", "extend").exit_code == 0
    labels = spacy.load(folder / "adapted").get_pipe("epnet_ner").labels
    assert labels == ("PERSON", "PLACE", "CITY", "PILOT")


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
    result = adapt(folder, *args)
    assert result.exit_code == 1
    assert words in flatten(result)
    assert not (folder / "adapted").exists()


def test_mistakes_in_the_support_set_are_shown_as_a_table(folder):
    contradiction = ROWS + "\nAda\tO\nleft\tO\nRio\tO\n.\tO\n"
    (folder / "support.iob").write_text(contradiction, encoding="utf8")
    result = adapt(folder)
    assert result.exit_code == 1
    assert "where" in result.output
    assert '"Ada left Rio ."' in result.output
    assert 'PILOT "Ada", CITY "Rio"' in result.output
    assert not (folder / "adapted").exists()


def test_supports_without_anything(folder):
    (folder / "support.iob").write_text("Ada\tO\nleft\tO\n")
    assert "nothing is marked in it" in adapt(folder).output
    DocBin().to_disk(folder / "empty.spacy")
    assert "no texts in it" in adapt(folder, support="empty.spacy").output
    assert "no such file" in adapt(folder, support="none.spacy").output


def test_the_source_is_never_overwritten(folder):
    before = (folder / "source" / "epnet_ner" / "model").read_bytes()
    result = adapt(folder, output="source")
    assert (result.exit_code, "used already" in flatten(result)) == (1, True)
    assert (folder / "source" / "epnet_ner" / "model").read_bytes() == before


def test_other_folders_are_never_overwritten_but_pipelines_are(folder):
    (folder / "adapted").mkdir()
    (folder / "adapted" / "thesis.txt").write_text("mine")
    result = adapt(folder)
    assert (result.exit_code, "other files" in result.output) == (1, True)
    assert (folder / "adapted" / "thesis.txt").read_text() == "mine"
    (folder / "adapted" / "thesis.txt").unlink()
    assert adapt(folder).exit_code == 0
    assert adapt(folder, "--labels", "extend").exit_code == 0
    assert len(spacy.load(folder / "adapted").get_pipe("epnet_ner").labels) == 4


def test_a_full_disk_leaves_no_half_pipeline(folder, monkeypatch):
    def fail(self, path, **kwargs):
        path.mkdir()
        (path / "config.cfg").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("spacy.language.Language.to_disk", fail)
    result = adapt(folder)
    assert (result.exit_code, "No space left" in result.output) == (1, True)
    assert sorted(p.name for p in folder.iterdir()) == ["source", "support.iob"]


def test_entities_are_explained_and_written_as_a_page(folder):
    adapt(folder, "--adapt.lr", "0.01")
    page = folder / "page.html"
    result = call(
        *(
            "recognize",
            folder / "adapted",
            "Ada left Rio .",
            "Nobody .",
            "--html",
            page,
        ),
        *("--explain", "Otto left Rio .", "--explain", "Nobody ."),
    )
    assert result.exit_code == 0, result.output
    assert "otherwise" in result.output
    assert 'PILOT "Otto"' in result.output
    html = page.read_text(encoding="utf8")
    assert html.startswith("<!DOCTYPE html>")
    assert "PILOT" in html


def test_help_has_examples():
    for command in ("adapt", "benchmark", "recognize"):
        output = call(command, "--help").output
        assert f"Example: spacy epnet {command}" in " ".join(output.split())


def test_an_explicit_profile_beats_the_configs(folder):
    report = folder / "r.json"
    args = ["--config", ROOT / "configs" / "adapt.cfg", "--report", report]
    adapt(folder, *args, "--profile", "paper", "--adapt.max_steps", 2)
    assert srsly.read_json(report)["settings"]["assignment"] == RANDOM


def test_configs_for_something_else_are_refused(folder):
    result = adapt(folder, "--config", ROOT / "configs" / "source.cfg")
    assert (result.exit_code, "The config '" in result.output) == (1, True)


def test_nothing_else_is_lost_at_the_output(folder):
    (folder / "notes.txt").write_text("mine")
    result = adapt(folder, output="notes.txt")
    assert (result.exit_code, "there is a file" in flatten(result)) == (1, True)
    assert (folder / "notes.txt").read_text() == "mine"
    assert adapt(folder).exit_code == 0
    inside = folder / "adapted" / "mine.iob"
    inside.write_text(ROWS)
    assert adapt(folder).exit_code == 1
    assert adapt(folder, support="adapted/mine.iob").exit_code == 1
    assert inside.read_text() == ROWS


def test_a_bad_place_for_the_report_is_found_before_anything_is_done(folder):
    (folder / "report").mkdir()
    result = adapt(folder, "--report", folder / "report")
    assert (result.exit_code, "a folder at this place" in flatten(result)) == (1, True)
    assert not (folder / "adapted").exists()


def test_entities_that_are_lost_in_conversion_are_reported(folder):
    row = {"text": "Ada left Rio.", "label": [[0, 2, "PILOT"], [9, 12, "CITY"]]}
    srsly.write_jsonl(folder / "support.jsonl", [row])
    result = adapt(folder, support="support.jsonl")
    assert result.exit_code == 0, result.output
    assert "Mark them anew" in flatten(result)


def test_a_learning_rate_that_is_too_high(folder):
    result = adapt(folder, "--adapt.lr", "1e30")
    assert (result.exit_code, "The loss is no number any" in result.output) == (1, True)
    assert not (folder / "adapted").exists()


def test_an_output_folder_that_is_a_link_stays_one(folder):
    (folder / "far").mkdir()
    (folder / "adapted").symlink_to(folder / "far" / "pipeline")
    for _ in range(2):
        assert adapt(folder, "--adapt.max_steps", "1").exit_code == 0
        assert (folder / "adapted").is_symlink()
        assert [path.name for path in (folder / "far").iterdir()] == ["pipeline"]
    assert "CITY" in spacy.load(folder / "adapted").get_pipe("epnet_ner").labels
