"""What the documentation says is what the code has and what was measured."""

import re
import tomllib
from importlib import import_module

import pytest
import typer
from spacy.cli._util import app
from spacy.util import load_config
from thinc.api import Config
from weasel.util import load_project_config

import spacy_epnet
from spacy_epnet.cli import epnet_cli
from spacy_epnet.epnet.settings import EPNetSettings
from spacy_epnet.training.config import make_training_config

from .conftest import ROOT
from .util.pages import read_blocks

assert epnet_cli
README = (ROOT / "README.md").read_text(encoding="utf8")
PROJECT = load_project_config(ROOT, interpolate=False)
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
SPACY = typer.main.get_command(app)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"][
    "optional-dependencies"
]


def list_commands():
    for page, text in PAGES.items():
        for block in read_blocks(text):
            for words in block.commands:
                yield pytest.param(words, id=f"{page}: {' '.join(words)[:80]}")


def find_command(words):
    """Find the command that some words call, ours or spaCy's, and its arguments."""
    if words[1:2] == ["-m"]:
        words = words[2:]
    program, *words = words
    if program.startswith("measurements"):
        command = get_command(program)
    elif program == "spacy":
        command = SPACY
    else:
        return None, []
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    return command, words


def get_command(module_name):
    """Get the command of a script."""
    place = ROOT / module_name.replace(".", "/")
    module = import_module(f"{module_name}.__main__" if place.is_dir() else module_name)
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    made = typer.Typer()
    made.command()(module.main)
    return typer.main.get_command(made)


def parse(command, words):
    """Parse a command line. Raises an error for an option that isn't there.

    RETURNS (Tuple[dict, list]): The values, and the options that are settings.
    """
    context = command.make_context(None, [], resilient_parsing=True)
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    for param in command.params:
        value = values.get(param.name)
        assert value or not param.required, f"{param.name} is missing"
    many = (value for value in values.values() if isinstance(value, tuple))
    given = [*rest, *(word for words in many for word in words)]
    return values, [str(word) for word in given if str(word).startswith("--")]


def check_setting(option, config):
    """Check that a setting of an adaptation, or of a config, is there."""
    *path, last = option.removeprefix("--").partition("=")[0].split(".")
    assert path, f"there is no option {option}"
    section = EPNetSettings.Adapt.get_defaults()
    if path[0] == "adapt":
        path = path[1:]
    else:
        file = ROOT / config
        # Otherwise a command before has written it.
        section = (
            load_config(file, interpolate=False)
            if file.exists()
            else Config().from_str(make_training_config("epnet_ner"))
        )
    for name in path:
        section = section[name]
    assert last in section or last.startswith("@"), f"there is no setting {option}"


@pytest.mark.parametrize("words", [*list_commands()])
def test_commands_are_there_with_their_options(words):
    command, arguments = find_command(words)
    if words[:2] in (["pip", "install"], [".venv/bin/pip", "install"]):
        for name in re.findall(r"spacy-epnet\[(\w+)\]", " ".join(words)):
            assert name in EXTRAS
        return
    if command is None:
        assert words[0] in ("python3", ".venv/bin/python") or words[2] == "pytest"
        return
    values, settings = parse(command, arguments)
    configs = [word for word in words if word.endswith(".cfg")]
    for option in settings:
        check_setting(option, *configs[:1] or [None])
    if command.name == "run":
        names = {each["name"] for each in PROJECT["commands"]}
        assert values["subcommand"] in names | set(PROJECT["workflows"])


def test_commands_that_are_mentioned_are_there():
    commands = SPACY.commands["epnet"].commands
    for page, text in PAGES.items():
        for name in re.findall(r"\bspacy epnet ([a-z][-a-z]*)", text):
            assert name in commands, f"{page}: {name}"


@pytest.mark.parametrize("page", PAGES)
def test_python_is_valid_and_imports_what_is_there(page):
    for block in read_blocks(PAGES[page]):
        if block.language == "python":
            compile(block.code, page, "exec")
            imports = re.findall(r"^(?:from|import) .*$", block.code, re.MULTILINE)
            exec("\n".join(imports))


def test_what_is_named_in_python_is_there():
    names = {*re.findall(r"\bspacy_epnet\.(\w+)\(", "\n".join(PAGES.values()))}
    assert {"adapt", "explain", "load_source"} <= names
    for name in names:
        assert callable(getattr(spacy_epnet, name))


def test_the_front_page_stays_short():
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^):]+)\)", PAGES[page]):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        # spaCy writes this link for a page beside it.
        assert target.exists() or link == "project.yml", link
        if anchor:
            assert anchor in list_anchors(target.read_text(encoding="utf8")), link


def list_anchors(text):
    """List the anchors that headings have on a site."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w-]", "", t.lower().replace(" ", "-")) for t in titles]


def test_the_files_of_the_architecture_are_there():
    text = PAGES["docs/architecture.md"]
    places = set(re.findall(r"[a-z_]+/(?:[a-z_]+/)*[a-z_]+\.py", text))
    assert len(places) > 5
    for place in places:
        assert (ROOT / "spacy_epnet" / place).is_file() or (ROOT / place).is_file(), (
            place
        )
