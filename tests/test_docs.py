"""What the documentation says is what the code has and what was measured."""

import re

import pytest
import srsly

import spacy_epnet
from spacy_epnet.epnet.component import EPNetRecognizer
from spacy_epnet.recognizer.settings import read_profiles

from .conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf8")
RESEARCH = ROOT / "docs" / "research"
ADAPTING = (ROOT / "docs" / "adapting.md").read_text(encoding="utf8")
PROFILES = read_profiles(EPNetRecognizer.profiles)


def show(value):
    if isinstance(value, dict):
        return f"`{value['@misc'].removeprefix('spacy-epnet.')}`"
    return {5e-5: "0.00005"}.get(value, srsly.json_dumps(value))


def test_what_is_named_in_python_is_there():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = "\n".join(path.read_text(encoding="utf8") for path in pages)
    names = {*re.findall(r"\bspacy_epnet\.(\w+)\(", texts)}
    assert {"adapt", "explain", "load_source"} <= names
    for name in names:
        assert callable(getattr(spacy_epnet, name))


def test_settings_are_documented_with_their_values():
    default, paper = (PROFILES[name] for name in ("default", "paper"))
    for name in set(default) - {"one_shot", "extend"}:
        row = f"| `{name}` | {show(default[name])} | {show(paper[name])} |"
        assert row in ADAPTING


def test_the_front_page_stays_short():
    assert len(README.splitlines()) < 150


@pytest.mark.parametrize(
    "page",
    ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))],
)
def test_links_and_module_names_are_right(page):
    path = ROOT / page
    text = path.read_text(encoding="utf8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        # spaCy writes this link for a page beside it.
        assert (path.parent / link).exists() or link == "project.yml", link
    for module in re.findall(r"python -m (measurements[.\w]*)", text):
        place = ROOT / module.replace(".", "/")
        assert place.is_dir() or place.with_suffix(".py").is_file(), module


def test_the_files_of_the_architecture_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    places = set(re.findall(r"[a-z_]+/(?:[a-z_]+/)*[a-z_]+\.py", text))
    assert len(places) > 5
    for place in places:
        assert (ROOT / "spacy_epnet" / place).is_file() or (ROOT / place).is_file(), (
            place
        )
