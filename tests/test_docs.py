"""What the documentation says is what the code has and what was measured."""

import re

import pytest
import srsly

import spacy_epnet
from measurements import episodes, sweeps
from measurements.benchmarking import get_results_path
from measurements.comparison_tables import make_page
from measurements.settings import make_table, read_scores
from measurements.systems import SYSTEMS
from spacy_epnet.epnet.component import EPNetRecognizer
from spacy_epnet.evaluation.comparison import read_comparison
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.recognizer.settings import make_adapt_config, read_profiles
from spacy_epnet.sources.catalog import PACKED, list_sources
from spacy_epnet.sources.packing import read_manifest

from .conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf8")
RESEARCH = ROOT / "docs" / "research"
ADAPTING = (ROOT / "docs" / "adapting.md").read_text(encoding="utf8")
RESULTS = {
    "small": ROOT / "docs" / "benchmark-small.json",
    "base": ROOT / "docs" / "benchmark-base.json",
    "Few-NERD only": ROOT / "docs" / "compare" / "ep-net.json",
}
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


def test_results_in_the_readme_are_those_of_the_benchmarks():
    assert to_markdown(*read_comparison(RESULTS.items()).get_table()) in README
    files = " ".join(f"{n}={p.relative_to(ROOT)}" for n, p in RESULTS.items())
    assert f"epnet compare {files}" in README.replace('"', "")


def test_results_in_the_comparison_are_those_of_the_benchmarks():
    page = (RESEARCH / "comparison.md").read_text(encoding="utf8")
    folder = ROOT / "docs" / "compare"
    places = {each.name: get_results_path(folder, each.name) for each in SYSTEMS}
    there = {name: path for name, path in places.items() if path.exists()}
    assert {*there.values()} == {*folder.iterdir()}
    assert make_page(read_comparison(there.items()), SYSTEMS) in page
    page = (RESEARCH / "defaults.md").read_text(encoding="utf8")
    folders = sorted((ROOT / "docs" / "settings").iterdir())
    assert folders
    for folder in folders:
        assert make_table(read_scores(list(folder.iterdir()))) in page


def test_results_of_episodes_are_those_that_were_measured():
    page = (RESEARCH / "episodes.md").read_text(encoding="utf8")
    assert episodes.make_table(list((ROOT / "docs" / "episodes").iterdir())) in page


def test_results_of_sweeps_are_those_that_were_measured():
    page = (RESEARCH / "defaults.md").read_text(encoding="utf8")
    for folder in (ROOT / "docs" / "sweeps").iterdir():
        measured = sweeps.read_sweep(folder.glob("*.json"))
        tables = sweeps.make_tables(measured)
        assert tables
        assert all(table in page for table in tables.values())


@pytest.mark.parametrize("name", list_sources())
def test_results_of_sources_were_made_with_the_weights_that_are_shipped(name):
    measured = srsly.read_json(RESULTS[name])["benchmark"]
    assert measured["source_sha256"] == read_manifest(PACKED / name).pipeline


@pytest.mark.parametrize("name", RESULTS)
def test_results_were_made_with_the_profiles_that_are_shipped(name):
    measured = srsly.read_json(RESULTS[name])["benchmark"]["profiles"]
    assert "default" in measured
    for name in measured:
        for kind, shots in (("one_shot", 1), ("several_shots", 5)):
            config = make_adapt_config(
                EPNetRecognizer.profiles, name, {}, shots=shots, extends=False
            )
            assert measured[name][kind] == srsly.json_loads(srsly.json_dumps(config))


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
