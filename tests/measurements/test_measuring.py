"""What settings are compared with."""

import json
import random

import spacy
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.util import load_config
from typer.testing import CliRunner

from measurements.quality import left_out
from measurements.quality.compare_settings import make_table
from measurements.quality.tasks import choose_types, keep_types
from spacy_epnet.corpora.corpus import Corpus


def make_docs(labels, count):
    vocab = spacy.blank("en").vocab
    docs = []
    for _ in range(count):
        doc = Doc(vocab, words=[label.lower() for label in labels])
        spans = [Span(doc, i, i + 1, label=label) for i, label in enumerate(labels)]
        doc.set_ents(spans)
        docs.append(doc)
    return docs


def test_tasks_share_no_types_if_there_are_enough():
    labels = [f"T{i:02}" for i in range(14)]
    splits = {"dev": make_docs(labels, 20), "test": make_docs(labels, 8)}
    # One more, which is too rare.
    splits["test"] += make_docs(["RARE"], 7)
    tasks = choose_types(splits, random.Random(0))
    assert [len(types) for types in tasks] == [8, 3, 1]
    every = [label for types in tasks for label in types]
    assert len(set(every)) == 12
    assert set(every) < set(labels)


def test_other_types_are_unmarked():
    (doc,) = make_docs(["A", "B"], 1)
    copied = keep_types(doc, ["B"])
    assert [ent.label_ for ent in copied.ents] == ["B"]
    assert [ent.label_ for ent in doc.ents] == ["A", "B"]


def test_settings_are_compared_on_the_same_cases():
    cases = {("x", 1, 0): 10.0, ("x", 5, 0): 20.0, ("y", 1, 0): 30.0, ("y", 5, 0): 40.0}
    better = {case: score + 2.0 for case, score in cases.items() if case[0] == "x"}
    better[("y", 5, 0)] = 44.0
    shown = make_table({"default": cases, "better": better})
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in shown.split("\n")
    ]
    assert rows[0] == ["setting", "1-shot", "5-shot", "difference"]
    assert rows[-1] == ["better", "12.0", "33.0", "+3.0 ± 1.0"]
    assert rows[-2][1:3] == ["20.0", "30.0"]


def test_ways_to_train_are_compared_on_corpora_that_are_left_out(
    trained, tmp_path, monkeypatch
):
    for split in ("train", "held-out"):
        path = tmp_path / "corpora" / split / "pii.spacy"
        path.parent.mkdir(parents=True)
        DocBin(docs=make_docs(["PERSON", "STREET_ADDRESS", "AGE"], 12)).to_disk(path)
    monkeypatch.setattr(left_out, "LEFT_OUT", ["pii", "pii:AGE"])
    calls = []

    def train_source(config, folder, settings):
        calls.append((folder.name, settings))
        folder.mkdir()
        trained.to_disk(folder / "model-last")

    monkeypatch.setattr(left_out, "train_source", train_source)
    output = tmp_path / "output"
    app = typer.Typer()
    app.command()(left_out.main)
    for _ in range(2):
        result = CliRunner().invoke(
            app,
            [
                str(tmp_path / "corpora"),
                "--source",
                "mine",
                "--output",
                str(output),
                "--supports",
                "1",
            ],
            catch_exceptions=False,
        )
    assert [name for name, _ in calls] == ["shipped", "unnamed", "undescribed", "first"]
    config = load_config(left_out.CONFIG)
    for _, settings in calls:
        for option in settings:
            assert option.removeprefix("--") in get_keys(config), option
    assert {settings["--paths.source"] for _, settings in calls} == {"mine"}
    without = [json.loads(settings["--mixture.without"]) for _, settings in calls]
    assert without[0] == ["pii"]
    assert len(without[-1]) == 46
    lines = result.stdout.splitlines()
    assert lines[-17].startswith("| system | shots | pii | pii-AGE | average |")
    assert [line.split(" | ")[0] for line in lines[-15:]] == [
        f"| {name}" for _ in range(3) for name in left_out.ROWS
    ]
    labels = [
        {
            ent.label_
            for doc in Corpus(output / "targets" / name / "test.spacy").docs
            for ent in doc.ents
        }
        for name in ("pii", "pii-AGE")
    ]
    assert labels == [{"person", "street address", "age"}, {"age"}]


def get_keys(section, prefix=""):
    keys = set()
    for key, value in section.items():
        keys.add(f"{prefix}{key}")
        if isinstance(value, dict):
            keys |= get_keys(value, f"{prefix}{key}.")
    return keys
