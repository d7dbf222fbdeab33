"""What is printed can't command the terminal, whoever has written it."""

import ast
import os
import subprocess
import sys

import pytest
import spacy

from spacy_epnet.console import escape_controls, msg, show

from .conftest import ROOT
from .util.commands import run

ESCAPE = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202e"


def test_controls_become_symbols():
    assert escape_controls("a\x1b[0m\r\n\x7f") == "a␛[0m␍␊␡"
    assert escape_controls("a\nb\x85\u202e", keep="\n") == "a\nb\\x85\\u202e"
    assert escape_controls("naïve 人名 👩‍🔬") == "naïve 人名 👩‍🔬"


def test_all_that_is_printed_is_escaped(capsys):
    msg.good(ESCAPE, ESCAPE)
    msg.divider(ESCAPE)
    msg.table([(ESCAPE, 1)], header=(ESCAPE, "n"))
    msg.table({ESCAPE: 1})
    msg.row([ESCAPE])
    show(ESCAPE)
    printed = capsys.readouterr().out
    assert printed.count("␛[31mred\\x9b2J\\u202e") == 8
    for control in ("\x1b]", "\x1b[31m", "\x07", "\x9b", "\u202e"):
        assert control not in printed


def test_commands_print_by_the_console_only():
    for path in (ROOT / "spacy_epnet").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if path.name != "console.py":
                imports = isinstance(node, ast.ImportFrom) and node.module == "wasabi"
                prints = isinstance(node, ast.Name) and node.id in ("print", "echo")
                assert not imports, path
                assert not prints, path


@pytest.fixture(scope="module")
def ruler(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ruler")
    nlp = spacy.blank("en")
    pattern = {"label": ESCAPE, "pattern": "Zürich"}
    nlp.add_pipe("entity_ruler").add_patterns([pattern])
    nlp.to_disk(folder)
    return folder


def test_texts_and_labels_that_are_recognized_are_escaped(ruler):
    printed = run("epnet", "recognize", ruler, f"in Zürich {ESCAPE}")
    assert "␛[31mred" in printed
    assert "\x1b[31mred" not in printed


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are Unicode there")
def test_arguments_are_utf8_wherever_python_takes_them_for_ascii(ruler):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "spacy_epnet", "recognize", ruler, "in Zürich"]
    result = subprocess.run(
        command, env={**os.environ, **ascii_only}, capture_output=True, check=False
    )
    assert result.returncode == 0, result
    assert rb"in Z\xfcrich" in result.stdout
