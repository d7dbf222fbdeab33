"""The measurements of speed measure what they say. What they find isn't tested here."""

import pytest

from measurements.speed.measuring import compare, judge, take_turns
from measurements.speed.recognition import measure_recognition
from measurements.speed.setup import Setup
from measurements.speed.tables import HEADING, fill, make_figures
from measurements.speed.training import batch, measure_training
from spacy_epnet.evaluation.results import to_markdown

from ..conftest import PEOPLE, PLACES


def test_everyone_has_every_block_and_begins_as_often():
    order = []
    contestants = {
        name: lambda block, name=name: order.append((name, block)) for name in "abc"
    }
    seconds = take_turns(contestants, [1, 2, 3])
    assert [name for name, _ in order] == list("abcbcacab")
    assert [block for _, block in order] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert {name: len(values) for name, values in seconds.items()} == {
        "a": 3,
        "b": 3,
        "c": 3,
    }


def test_ratios_are_of_the_same_blocks():
    ratio = compare([1.0, 2.0, 1.0], [2.0, 2.0, 3.0])
    assert ratio == {"ratio": 2.0, "low": 1.0, "high": 3.0, "total": 7 / 4}


def test_goals():
    assert "reached" in judge(1.2, least=1.2)
    assert "missed" in judge(1.1, least=1.2)
    assert "reached" in judge(50, most=50)
    assert "missed" in judge(51, most=50)


@pytest.fixture
def setup(tiny_encoder, tmp_path):
    """Corpora of a few sentences, and an encoder that knows nothing."""
    rows = []
    for person, place in zip(PEOPLE * 12, PLACES * 12, strict=True):
        words = [("B-PER", word) for word in person.split()[:1]] + [("O", "saw")]
        words += [("B-LOC", word) for word in place.split()[:1]] + [("O", ".")]
        rows.append("".join(f"{word}\t{tag}\n" for tag, word in words))
    for corpus in ("fewnerd_inter", "wnut17"):
        (tmp_path / corpus).mkdir()
        for part in ("train", "dev", "test"):
            path = tmp_path / corpus / f"{part}.txt"
            path.write_text("\n".join(rows), encoding="utf8")
    encoders = {"tiny": str(tiny_encoder)}
    return Setup(tmp_path, encoders, tmp_path / "source", tmp_path, quick=True)


def test_recognition_is_measured(setup, monkeypatch):
    monkeypatch.setattr("measurements.speed.recognition.LONG", 300)
    setup.encoders["other"] = setup.encoders["tiny"]
    tables = {table.title: table for table in measure_recognition(setup)}
    results = tables["recognition, tiny, fewnerd_inter"].results
    assert len(results) == 7
    assert results["epnet_ner"]["epnet_ner_against"]["ratio"] == 1
    assert results["transformer"]["against_transformer"]["ratio"] == 1
    assert all(result["words_per_second"] > 0 for result in results.values())
    assert results["epnet_ner"]["entities"] > 0
    assert results["transformer"]["entities"] == 0
    assert len(tables["recognition, tiny, long docs"].results["ner"]["seconds"]) == 2
    assert set(tables["number of types, tiny"].results) == {
        "5 types",
        "50 types",
        "500 types",
    }
    # Other encoders are only for those with a goal.
    of_others = [title for title in tables if "other" in title]
    assert (len(tables), len(of_others)) == (7, 3)
    results = tables["recognition, other, wnut17"].results
    assert list(results) == ["transformer", "epnet_ner", "spancat", "stock ner"]


def test_training_is_measured(setup, monkeypatch):
    monkeypatch.setattr("measurements.speed.training.PADDED", 60)
    (table,) = measure_training(setup)
    assert {row[0] for row in table.rows} >= {"epnet_ner", "ner", "spancat"}
    assert table.results["ner"]["against_ner"]["ratio"] == 1
    assert table.results["epnet_ner"]["words_per_second"] > 0


def test_batches_have_every_sentence(setup):
    sentences = setup.read("wnut17/train.txt")
    batches = batch(sentences)
    assert sorted(i for part in batches for i in part) == [*range(len(sentences))]


def test_tables_are_written_where_they_belong():
    machine = {"threads": 2, "bfloat16": True, "torch": "2.13.0"}
    table = {"header": ["", "x", "goal"], "rows": [["a", "1.00", ">= 1: reached"]]}
    figures = {"memory": {"machine": machine, "tables": {"peak": table}}}
    markdown = to_markdown(["", "x"], [["a", "1.00"]])
    page = "Text.\n\n<!-- peak -->\n\n| old |\n| --- |\n| 0.5 |\n\nMore.\n"
    filled = f"Text.\n\n<!-- peak -->\n\n{markdown}\n\nMore.\n"
    assert fill(page, figures) == filled
    page = f"Text.\n\n{HEADING}\n**old**\n"
    assert fill(page, figures) == f"Text.\n\n{HEADING}\n{make_figures(figures)}"
    assert markdown in make_figures(figures)
