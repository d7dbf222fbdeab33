"""Results in the documentation are those that were measured."""

import re

import pytest
import srsly

from measurements.quality import episode_tables, left_out, limits, sweeps
from measurements.quality.benchmarking import get_results_path
from measurements.quality.compare_settings import make_table, read_scores
from measurements.quality.comparison_tables import make_page
from measurements.quality.systems import SYSTEMS
from measurements.speed.tables import fill
from spacy_epnet.epnet.settings import EPNetSettings
from spacy_epnet.evaluation.comparison import read_comparison
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.recognizer.settings import make_adapt_config
from spacy_epnet.sources.catalog import PACKED, list_sources
from spacy_epnet.sources.packing import read_manifest

from ..conftest import RESULTS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf8")
RESEARCH = ROOT / "docs" / "research"
BENCHMARKS = {
    "small": RESULTS / "benchmark-small.json",
    "base": RESULTS / "benchmark-base.json",
    "Few-NERD only": RESULTS / "compare" / "ep-net.json",
}


def hash_shipped(name):
    return read_manifest(PACKED / name).pipeline


def test_results_in_the_readme_are_those_of_the_benchmarks():
    assert to_markdown(*read_comparison(BENCHMARKS.items()).get_table()) in README
    files = " ".join(f"{n}={p.relative_to(ROOT)}" for n, p in BENCHMARKS.items())
    assert f"epnet compare {files}" in README.replace('"', "")


def test_results_in_the_comparison_are_those_of_the_benchmarks():
    page = (RESEARCH / "comparison.md").read_text(encoding="utf8")
    folder = RESULTS / "compare"
    places = {each.name: get_results_path(folder, each.name) for each in SYSTEMS}
    there = {name: path for name, path in places.items() if path.exists()}
    assert {*there.values()} == {*folder.iterdir()}
    assert make_page(read_comparison(there.items()), SYSTEMS) in page
    page = (RESEARCH / "defaults.md").read_text(encoding="utf8")
    folders = sorted((RESULTS / "settings").iterdir())
    assert folders
    for folder in folders:
        assert make_table(read_scores(list(folder.iterdir()))) in page


def test_results_of_episodes_are_those_that_were_measured():
    page = (RESEARCH / "episodes.md").read_text(encoding="utf8")
    assert episode_tables.make_table(list((RESULTS / "episodes").iterdir())) in page


def test_results_of_sweeps_are_those_that_were_measured():
    page = (RESEARCH / "defaults.md").read_text(encoding="utf8")
    for folder in (RESULTS / "sweeps").iterdir():
        measured = sweeps.read_sweep(folder.glob("*.json"))
        tables = sweeps.make_tables(measured)
        assert tables
        assert all(table in page for table in tables.values())


@pytest.mark.parametrize("name", list_sources())
def test_results_of_sources_were_made_with_the_weights_that_are_shipped(name):
    measured = srsly.read_json(BENCHMARKS[name])["benchmark"]
    assert measured["source_sha256"] == hash_shipped(name)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_results_were_made_with_the_profiles_that_are_shipped(name):
    measured = srsly.read_json(BENCHMARKS[name])["benchmark"]["profiles"]
    assert "default" in measured
    for name in measured:
        for kind, shots in (("one_shot", 1), ("several_shots", 5)):
            config = make_adapt_config(
                EPNetSettings.Adapt, name, {}, shots=shots, extends=False
            )
            assert measured[name][kind] == srsly.json_loads(srsly.json_dumps(config))


@pytest.mark.parametrize(
    "page",
    ["docs/research/speed.md", "docs/speed.md", "docs/annotating.md"],
)
def test_the_documentation_has_what_was_measured(page):
    figures = srsly.read_json(RESULTS / "speed.json")
    text = (ROOT / page).read_text(encoding="utf8")
    assert fill(text, figures) == text


def test_ratios_in_the_readme_are_those_that_were_measured():
    tables = srsly.read_json(RESULTS / "speed.json")["recognition"]["tables"]
    rows = tables["recognition, all-MiniLM-L6-v2, fewnerd_inter"]["rows"]
    ratios = {name: ratio.split()[0] for name, _, _, ratio, *_ in rows}
    text = " ".join(README.split())
    assert f"{ratios['ner']} times as fast as spaCy's `ner`" in text
    assert f"{ratios['spancat']} times as fast as `spancat`" in text


def test_figures_are_not_those_of_a_quick_run():
    figures = srsly.read_json(RESULTS / "speed.json")
    tables = [table for part in figures.values() for table in part["tables"].values()]
    assert tables
    assert not any(table["quick"] for table in tables)


def test_results_of_shots_are_those_that_were_measured():
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf8")
    for row in srsly.read_json(RESULTS / "benchmark-demo.json")["summary"]:
        f = f"{row['f']['mean']:.1f} ± {row['f']['std']:.1f}"
        assert re.search(rf"^\| {row['shots']} \| \d+ \| {f} \|$", page, re.MULTILINE)


def test_results_of_ways_to_train_are_those_that_were_measured():
    page = (RESEARCH / "training-corpora.md").read_text(encoding="utf8")
    assert left_out.make_table(RESULTS / "left-out") in page


def test_results_without_similar_corpora_are_those_that_were_measured():
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf8")
    found = {"without eight corpora": RESULTS / "benchmark-without.json"}
    assert to_markdown(*read_comparison(found.items()).get_table()) in page


def test_results_of_limits_are_those_that_were_measured():
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf8")
    assert limits.make_table(srsly.read_json(RESULTS / "limits.json")) in page
