"""What settings are compared with."""

import random

import spacy
from spacy.tokens import Doc, Span

from measurements.quality.compare_settings import make_table
from measurements.quality.leaving_out import find_seed, list_rows
from measurements.quality.leaving_out import make_table as make_leaving_out_table
from measurements.quality.tasks import choose_types, keep_types


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


def test_with_a_corpus_go_those_that_have_no_types_of_their_own():
    parts = {"wide": {}, "part": {"types_of": "wide"}, "other": {}}
    rows = list_rows({"corpora": {"train": {"parts": parts}}}, repeats=2)
    assert rows == {
        "nothing": [],
        "wide": ["wide", "part"],
        "part": ["part"],
        "other": ["other"],
        "nothing-1": [],
    }
    assert [find_seed(row) for row in rows] == [0, 0, 0, 0, 1]


def test_what_is_left_out_is_compared_with_the_whole():
    found = {
        "nothing": {("t", 1): 40.0, ("t", 5): 60.0},
        "other": {("t", 1): 39.0, ("t", 5): 63.0},
    }
    lines = make_leaving_out_table(found).splitlines()
    assert lines[0] == "| left out | t, 5-shot | t, 1-shot | average |"
    assert lines[2:] == [
        "| nothing | 60.0 | 40.0 | 50.0 |",
        "| other | +3.0 | -1.0 | +1.0 |",
    ]


def test_chance_is_shown_beside_what_is_left_out():
    found = {
        "nothing": {("t", 5): 60.0},
        "other": {("t", 5): 63.0},
        "nothing-1": {("t", 5): 62.0},
    }
    lines = make_leaving_out_table(found).splitlines()
    assert lines[2:] == [
        "| nothing | 61.0 | 61.0 |",
        "| nothing, deviation of 2 trainings | 1.4 | 1.4 |",
        "| other | +2.0 | +2.0 |",
    ]
