"""Commands show errors of users as a sentence, and bugs as a traceback."""

from pathlib import Path

import numpy
import pytest
import spacy
import typer
from safetensors import SafetensorError
from thinc.api import Config
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli
from spacy_epnet.cli._app import report_errors
from spacy_epnet.errors import SettingError


def fail_to_broadcast():
    numpy.ones(2) + numpy.ones(3)


def fail_with(error):
    raise error


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        (
            lambda: fail_with(SettingError("There is no such setting.")),
            "no such setting",
        ),
        (lambda: Path("/nowhere/at/all").read_text(), "No such file or directory"),
        (lambda: fail_with(SafetensorError("HeaderTooSmall")), "HeaderTooSmall"),
        (lambda: Config().from_str("[a]\nb = ${c.d}"), "c.d"),
        (lambda: spacy.blank("en").add_pipe("unknown_factory"), "unknown_factory"),
    ],
)
def test_errors_of_users_are_a_sentence(fail, message, capsys):
    with pytest.raises((SystemExit, typer.Exit)), report_errors("Nothing was done"):
        fail()
    output = capsys.readouterr().out
    assert "Nothing was done" in output
    assert message in output


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (fail_to_broadcast, ValueError),
        (lambda: {}["key"], KeyError),
        (lambda: len(None), TypeError),
    ],
)
def test_bugs_keep_their_traceback(fail, error):
    with pytest.raises(error), report_errors("Nothing was done"):
        fail()


def test_a_bug_in_adapting_is_not_taken_for_a_mistake_of_the_user(
    trained, tmp_path, monkeypatch
):
    trained.to_disk(tmp_path / "source")
    (tmp_path / "support.iob").write_text("Ada\tB-PILOT\nleft\tO\n", encoding="utf8")
    monkeypatch.setattr(
        "spacy_epnet.cli.adapt.adapt", lambda *args, **settings: fail_to_broadcast()
    )
    paths = [str(tmp_path / name) for name in ("source", "support.iob", "adapted")]
    result = CliRunner().invoke(epnet_cli, ["adapt", *paths])
    assert isinstance(result.exception, ValueError)
    assert "Nothing was adapted" not in result.output


def test_a_corpus_without_entities_cannot_be_drawn(trained, tmp_path):
    trained.to_disk(tmp_path / "source")
    corpus = tmp_path / "empty.spacy"
    spacy.tokens.DocBin(docs=[trained.make_doc("Nobody was there .")]).to_disk(corpus)
    output = tmp_path / "spans.svg"
    arguments = ["plot", "spans", tmp_path / "source", corpus, "--output", output]
    result = CliRunner().invoke(epnet_cli, list(map(str, arguments)))
    assert (result.exit_code, result.exception.__class__) == (1, SystemExit)
    assert "too few entities" in " ".join(result.output.split())
