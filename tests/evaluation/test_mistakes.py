"""What went wrong, on cases worked out by hand."""

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_epnet import adapt
from spacy_epnet.evaluation.mistakes import (
    KINDS,
    NOTHING,
    Analysis,
    Mark,
    find_mistakes,
    list_known,
    match,
)

from ..util import commands

WORDS = ["the", "old", "New", "York", "Times", "of", "last", "week", "said", "so"]


def make_example(gold, predicted):
    """An example of words, with entities by token."""
    nlp = spacy.blank("en")
    docs = []
    for ents in (predicted, gold):
        doc = Doc(nlp.vocab, words=WORDS)
        doc.set_ents([spacy.tokens.Span(doc, *ent) for ent in ents])
        docs.append(doc)
    return Example(*docs)


@pytest.mark.parametrize(
    ("gold", "predicted", "kind"),
    [
        ((2, 5, "ORG"), (2, 5, "ORG"), "right"),
        ((2, 5, "ORG"), (2, 5, "LOC"), "mistyped"),
        ((2, 5, "ORG"), (2, 4, "ORG"), "cut short"),
        ((2, 5, "ORG"), (4, 5, "ORG"), "cut short"),
        ((2, 5, "ORG"), (1, 5, "ORG"), "too long"),
        ((2, 5, "ORG"), (1, 4, "ORG"), "shifted"),
        ((2, 5, "ORG"), (2, 4, "LOC"), "mistyped and misplaced"),
        ((2, 5, "ORG"), None, "missed"),
        (None, (6, 8, "DATE"), "invented"),
    ],
)
def test_each_mistake_has_its_name(gold, predicted, kind):
    golds, found = [gold] if gold else [], [predicted] if predicted else []
    (finding,) = find_mistakes([make_example(golds, found)])
    assert finding.kind == kind
    assert finding.gold == (gold[2] if gold else None)
    assert finding.predicted == (predicted[2] if predicted else None)
    start, end, _ = gold or predicted
    assert finding.text == " ".join(WORDS[start:end])
    assert finding.width == end - start


def test_each_prediction_is_meant_for_one_entity():
    gold = [Mark(0, 10, "A"), Mark(11, 20, "B")]
    # The long one overlaps both, but the second has one that is the same.
    assert match(gold, [Mark(0, 20, "A"), Mark(11, 20, "C")]) == {0: 0, 1: 1}
    # Of two as long, the one of the same type.
    assert match([Mark(0, 4, "A")], [Mark(0, 2, "B"), Mark(2, 4, "A")]) == {0: 1}
    assert match(gold, []) == {}


@pytest.fixture
def analysis():
    both = [(2, 5, "ORG"), (6, 8, "DATE")]
    examples = [
        make_example(both, both),
        make_example(both, [(2, 4, "ORG"), (6, 8, "ORG")]),
        make_example(both, [(0, 1, "DATE")]),
    ]
    return Analysis(find_mistakes(examples), {"last week"})


def test_mistakes_are_counted(analysis):
    kinds = analysis.count_kinds()
    assert kinds["ORG"] == {
        **dict.fromkeys(KINDS, 0),
        "right": 1,
        "cut short": 1,
        "missed": 1,
    }
    assert kinds["DATE"]["mistyped"] == kinds["DATE"]["invented"] == 1
    table = analysis.confuse()
    assert table["ORG"] == {"DATE": 0, "ORG": 2, NOTHING: 1}
    assert table["DATE"] == {"DATE": 1, "ORG": 1, NOTHING: 1}
    assert table[NOTHING] == {"DATE": 1, "ORG": 0, NOTHING: 0}
    assert analysis.count_widths() == {
        "2": {"marked": 3, "right": 1},
        "3": {"marked": 3, "right": 1},
    }
    forms = analysis.count_forms()
    assert forms["DATE"] == {
        "texts": 1,
        "known": {"marked": 3, "right": 1},
        "new": {"marked": 0, "right": 0},
    }
    assert forms["ORG"]["new"] == {"marked": 3, "right": 1}
    common = analysis.list_common()
    assert len(common) == 5
    assert {found["times"] for found in common} == {1}
    cut = next(found for found in common if found["kind"] == "cut short")
    assert cut["text"] == "new york times"
    assert cut["predicted_text"] == "New York"


def test_entities_of_the_support_set_are_known(trained):
    report = adapt(trained, [("Rex saw New York.", [(8, 16, "CITY")])], max_steps=1)
    pipe = report.nlp.get_pipe("epnet_ner")
    assert list_known(pipe.learned["support"]) == {"new york"}


def test_the_command_tells_of_all(trained, references, tmp_path):
    trained.to_disk(tmp_path / "model")
    DocBin(docs=references).to_disk(tmp_path / "test.spacy")
    output = tmp_path / "mistakes.json"
    args = ["epnet", "mistakes", tmp_path / "model", tmp_path / "test.spacy"]
    shown = commands.read(*args, "--output", output)
    known = srsly.read_json(output)
    assert {"PERSON", "PLACE", NOTHING} == {*known["confusion"]}
    marked = sum(len(doc.ents) for doc in references)
    assert sum(counts["marked"] for counts in known["widths"].values()) == marked
    assert "The most frequent mistakes" in shown
    # A corpus in which nothing is marked has nothing to tell.
    bare = [doc for doc in references if not doc.ents]
    DocBin(docs=bare).to_disk(tmp_path / "test.spacy")
    assert "nothing is marked" in commands.read(*args, code=1)
