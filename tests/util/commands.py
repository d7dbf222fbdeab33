from spacy.cli._util import app
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli

assert epnet_cli  # among the commands of spaCy


def run(*args, code=0):
    """Run one of spaCy's commands. RETURNS (str): What it printed."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "300"})
    details = f"{result.output}\n{result.exception!r}"
    assert result.exit_code == code, details
    return result.output


def read(*args, code=0):
    """Run one of spaCy's commands. RETURNS (str): What it printed, on one line."""
    return " ".join(run(*args, code=code).split())
