"""What the documentation says is what the code has and what was measured."""

import srsly

from spacy_epnet.evaluation.results import Results, to_markdown
from spacy_epnet.recognizers.settings import read_profiles

from .conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf8")
ADAPTING = (ROOT / "docs" / "adapting.md").read_text(encoding="utf8")


def test_settings_are_documented_with_their_values():
    default, paper = (read_profiles()[name] for name in ("default", "paper"))
    for name in set(default) - {"one_shot", "extend"}:
        values = [srsly.json_dumps(profile[name]) for profile in (default, paper)]
        assert f"| `{name}` | {values[0]} | {values[1]} |" in ADAPTING


def test_results_in_the_readme_are_those_of_the_benchmark():
    path = ROOT / "docs" / "benchmark.json"
    results = Results(path, srsly.read_json(path)["benchmark"])
    assert to_markdown(*results.get_overview()) in README


def test_results_were_made_with_the_profiles_that_are_shipped():
    path = ROOT / "docs" / "benchmark.json"
    measured = srsly.read_json(path)["benchmark"]["profiles"]
    for name, shipped in read_profiles().items():
        values = srsly.json_loads(srsly.json_dumps(shipped))
        one_shot = values.pop("one_shot")
        values.pop("extend")
        assert measured[name]["several_shots"] == values
        assert measured[name]["one_shot"] == {**values, **one_shot}
