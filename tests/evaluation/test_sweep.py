"""Sweeps over settings, and what a value may be chosen on."""

from functools import partial

import pytest
import srsly
from spacy.tokens import DocBin
from spacy.util import load_config

from spacy_epnet.evaluation.results import Results
from spacy_epnet.evaluation.sweep import (
    list_profiles,
    make_table,
    read_setting,
    summarize,
)

from ..util import commands

QUICK = ["--adapt.max_steps", "2", "--adapt.average", "0", "--supports", "1"]


def test_values_are_read_as_in_a_config():
    assert read_setting("adapt.lr=1e-4, 0.5").values == [1e-4, 0.5]
    assert read_setting("adapt.tau=null,2").values == [None, 2]
    assert read_setting("adapt.dispersion_loss=true,false").values == [True, False]
    name, values = read_setting("adapt.distance=means,divergence")
    assert (name, values) == ("adapt.distance", ["means", "divergence"])


@pytest.mark.parametrize("text", ["lr=1", "adapt.lr", "adapt.lr=", "adapt.lr=1,,2"])
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match=r"adapt.lr=1e-4,5e-4"):
        read_setting(text)


def test_all_combinations_are_tried():
    settings = [read_setting("adapt.lr=1,2"), read_setting("adapt.a.b=3,4")]
    profiles = list_profiles(settings, "paper", {"seed": 7})
    assert list(profiles) == [
        "lr=1, a.b=3",
        "lr=1, a.b=4",
        "lr=2, a.b=3",
        "lr=2, a.b=4",
    ]
    assert profiles["lr=2, a.b=3"] == ("paper", {"seed": 7, "lr": 2, "a": {"b": 3}})


def make_results(scores):
    """Results of two values on two targets."""
    header = {"profiles": {"lr=1": {}, "lr=2": {}}, "shots": [1, 5]}
    results = Results(None, header)
    for (profile, shots, target, support), f in scores.items():
        results.runs[f"{profile}/{shots}/{target}/{support}"] = {
            "profile": profile,
            "shots": shots,
            "target": target,
            "support": support,
            **({"failed": "why"} if f is None else {"f": f}),
        }
    return results


def test_the_best_is_that_of_the_mean_over_targets_and_support_sets():
    scores = {
        ("lr=1", 1, "a", 0): 10.0,
        ("lr=1", 1, "b", 0): 30.0,
        ("lr=2", 1, "a", 0): 40.0,
        ("lr=2", 1, "b", 0): 10.0,
        ("lr=1", 5, "a", 0): 60.0,
        ("lr=1", 5, "b", 0): 40.0,
        ("lr=2", 5, "a", 0): 40.0,
        ("lr=2", 5, "b", 0): 30.0,
        # This one isn't there on both targets, and doesn't count.
        ("lr=2", 5, "a", 1): 99.0,
        ("lr=2", 5, "b", 1): None,
    }
    outcome = summarize({"": make_results(scores)}, ["a", "b"])
    assert outcome.averages["lr=1", 1] == [20.0]
    assert outcome.averages["lr=2", 5] == [35.0]
    assert outcome.choose() == {1: "lr=2", 5: "lr=1"}
    assert make_table(outcome)[1][1] == ["lr=2", "25.0 ± 0.0", "35.0 ± 0.0 (1 failed)"]
    line = outcome.get_lines()["5-shot"]
    assert (line.xs, line.ys) == ([0, 1], [50.0, 35.0])
    header, rows = make_table(outcome)
    assert header == ["setting", "1-shot", "5-shot"]
    assert rows[0] == ["lr=1", "20.0 ± 0.0", "50.0 ± 0.0"]


def test_a_value_is_not_chosen_because_it_failed_where_it_is_difficult():
    scores = {
        ("lr=1", 1, "a", 0): 60.0,
        ("lr=1", 1, "a", 1): 20.0,
        ("lr=2", 1, "a", 0): 50.0,
        ("lr=2", 1, "a", 1): None,
        ("lr=1", 5, "a", 0): None,
        ("lr=2", 5, "a", 0): None,
    }
    outcome = summarize({"": make_results(scores)}, ["a"])
    assert outcome.averages == {("lr=1", 1): [60.0], ("lr=2", 1): [50.0]}
    assert outcome.choose() == {1: "lr=1"}
    assert make_table(outcome)[1] == [
        ["lr=1", "60.0 ± 0.0", "(1 failed)"],
        ["lr=2", "50.0 ± 0.0 (1 failed)", "(1 failed)"],
    ]


@pytest.fixture
def folder(tmp_path, trained, references, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained.to_disk(tmp_path / "source")
    DocBin(docs=references[:10]).to_disk(tmp_path / "dev.spacy")
    DocBin(docs=references[10:]).to_disk(tmp_path / "test.spacy")
    renamed = [doc.copy() for doc in references]
    for doc in renamed:
        doc.set_ents(
            [
                doc[e.start : e.end].char_span(0, len(e.text), label=f"NEW_{e.label_}")
                for e in doc.ents
            ]
        )
    DocBin(docs=renamed).to_disk(tmp_path / "other.spacy")
    return tmp_path


sweep = partial(commands.read, "epnet", "sweep")
TARGET = ("dev.spacy", "test.spacy")


def test_nothing_is_chosen_on_the_test_set(folder):
    args = ["source", *TARGET, "--set", "adapt.tau=1,2", "--shots", 1, *QUICK]
    output, plot = folder / "sweep.json", folder / "sweep.svg"
    shown = sweep(*args, "--output", output, "--plot", plot)
    assert "No value is chosen" in shown
    assert "Best" not in shown
    assert "</svg>" in plot.read_text(encoding="utf8")
    profiles = srsly.read_json(output)["benchmark"]["profiles"]
    assert [profiles[p]["one_shot"]["tau"] for p in ("tau=1", "tau=2")] == [1, 2]
    # What is done isn't done again.
    before = output.read_bytes()
    shown = sweep(*args, "--output", output, "--choose-on-query")
    assert output.read_bytes() == before
    assert "Best on the targets, 1-shot: tau=" in shown
    assert "no result" in shown


def test_a_value_is_chosen_on_types_that_are_held_out(folder):
    args = ["--set", "adapt.lr=0.0001,0.01", "--shots", 1, *QUICK]
    shown = sweep("source", "--held-out", "other.spacy", *args)
    assert "Best on the held-out types, 1-shot: lr=" in shown
    shown = sweep("source", "--held-out", "dev.spacy", *args, code=1)
    assert "held out, because the source was trained on" in shown
    assert "PERSON, PLACE" in shown


def test_mistakes_are_explained(folder):
    shown = sweep("source", *TARGET, code=1)
    assert "There is nothing to vary. Give" in shown
    shown = sweep("source", "--set", "adapt.tau=1", code=1)
    assert "There is nothing to measure on." in shown
    shown = sweep("source", *TARGET, "--set", "adapt.temperature=1", code=1)
    assert "temperature" in shown


def test_a_setting_is_given_once(folder):
    twice = ["--set", "adapt.lr=1e-4", "--set", "adapt.lr=5e-4"]
    shown = sweep("source", *TARGET, *twice, code=1)
    assert "adapt.lr once" in shown


def test_nothing_can_be_chosen_on_targets_that_are_not_there(folder):
    args = ["--set", "adapt.lr=1", "--held-out", "other.spacy"]
    shown = sweep("source", *args, "--choose-on-query", code=1)
    assert "There is nothing to measure on." in shown


def test_a_target_in_a_folder_called_held_out_is_another(folder):
    (folder / "held-out").mkdir()
    target = [folder / "held-out" / path for path in TARGET]
    for path in target:
        path.write_bytes((folder / path.name).read_bytes())
    args = ["--set", "adapt.lr=0.01", "--shots", 1, *QUICK]
    output = folder / "sweep.json"
    held_out = ["--held-out", "other.spacy", "--output", output]
    sweep("source", *target, *held_out, *args)
    runs = srsly.read_json(output)["runs"].values()
    assert {run["target"] for run in runs} == {"held-out", "held-out#2"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--shots", "x"], "shots"),
        (["--held-out", "nowhere.spacy"], "nowhere.spacy"),
        (["--profile", "nowhere"], "nowhere"),
        (["--set", "adapt.lrr=1"], "lrr"),
    ],
)
def test_mistakes_are_found_before_a_training(
    folder, source_config, monkeypatch, wrong, message
):
    def train(*args):
        raise AssertionError("it has begun to train")

    monkeypatch.setattr("spacy_epnet.cli.sweep.train", train)
    source_config.to_disk("tiny.cfg")
    shown = sweep(
        *("tiny.cfg", *TARGET, "--set", "components.epnet_ner.tau=1,2"),
        *("--output", "tau", *wrong),
        code=1,
    )
    assert message in shown


def test_a_source_is_trained_for_each_value_of_a_setting_of_the_training(
    folder, source_config
):
    config = source_config.copy()
    config["training"] |= {"max_steps": 2, "eval_frequency": 2}
    config.to_disk("tiny.cfg")
    args = [
        *("tiny.cfg", *TARGET, "--set", "components.epnet_ner.tau=1.5,4"),
        *("--set", "adapt.lr=0.001,0.01", "--shots", 1, *QUICK),
        *("--corpora.train.path", TARGET[0], "--corpora.dev.path", TARGET[1]),
    ]
    shown = sweep(*args, code=1)
    assert "A source is trained for each" in shown
    output, plot = folder / "tau", folder / "tau.svg"
    shown = sweep(*args, "--output", output, "--plot", plot)
    assert "tau=1.5, lr=0.001" in shown
    assert "tau=4, lr=0.01" in shown
    assert plot.exists()
    for tau in (1.5, 4):
        source = output / f"tau={tau}"
        trained = load_config(source / "model-best" / "config.cfg")
        assert trained["components"]["epnet_ner"]["tau"] == tau
        runs = srsly.read_json(source / "results.json")["runs"]
        assert {run["profile"] for run in runs.values()} == {"lr=0.001", "lr=0.01"}
    # What is done isn't done again.
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    sweep(*args, "--output", output)
    assert before == {path: path.read_bytes() for path in before}


def test_settings_of_a_training_need_its_config(folder):
    varied = ["--set", "components.epnet_ner.tau=1,2"]
    shown = sweep("source", *TARGET, *varied, code=1)
    assert "are settings of the training. To" in shown
    shown = sweep(
        "source", *TARGET, "--set", "adapt.lr=1", "--paths.train", "x", code=1
    )
    assert "There are no such options:" in shown
