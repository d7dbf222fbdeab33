"""Support sets as people give them, with the mistakes that people make."""

import pickle

import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_epnet.adapting import adapt
from spacy_epnet.adapting.support import read_support
from spacy_epnet.errors import SettingError, SupportError

NLP = spacy.blank("en")


def read(items, *, max_width=10):
    config = {"model": {"max_width": max_width}}
    return read_support(
        NLP, items, spacy.blank("en").add_pipe("epnet_ner", config=config)
    )


def get_problems(items, **settings):
    with pytest.raises(SupportError) as caught:
        read(items, **settings)
    return caught.value.problems


def test_an_empty_support_set():
    (problem,) = get_problems([])
    assert "no texts" in problem.what
    (problem,) = get_problems([("Nobody was there.", [])])
    assert "nothing is marked" in problem.what
    (problem,) = get_problems([("", [])])
    assert "no texts" in problem.what


def test_overlapping_entities():
    item = ("New York City grows.", [(0, 8, "CITY"), (4, 13, "PLACE")])
    (problem,) = get_problems([item])
    assert problem.where == '"New York City grows."'
    assert 'PLACE "York City" overlaps another entity' in problem.what


def test_two_types_of_one_span_overlap():
    (problem,) = get_problems([("Ada left.", [(0, 3, "A"), (0, 3, "B")])])
    assert 'B "Ada" overlaps' in problem.what


def test_an_entity_that_is_there_twice_is_no_problem():
    support = read([("Ada left.", [(0, 3, "A"), (0, 3, "A")])])
    assert support.counts == {"A": 1}


def test_contradictory_annotations_of_one_text():
    items = [("Ada left.", [(0, 3, "A")]), ("Ada left.", [(0, 3, "B")])]
    (problem,) = get_problems(items)
    assert problem.where == '"Ada left."'
    assert 'A "Ada", B "Ada"' in problem.what
    (problem,) = get_problems([items[0], ("Ada left.", [])])
    assert 'A "Ada"' in problem.what


def test_the_same_example_twice_is_no_problem():
    support = read([("Ada left.", [(0, 3, "A")])] * 2)
    assert support.counts == {"A": 2}


def test_entities_that_end_inside_a_token_are_left_out_and_reported():
    items = [
        ("Ada left Rio.", [(0, 2, "A"), (9, 12, "B")]),
        ("Otto left.", [(0, 4, "A")]),
    ]
    support = read(items)
    assert support.counts == {"A": 1, "B": 1}
    problem, about_type = support.problems
    assert about_type.where == "A"
    assert "1 don't line up" in about_type.what
    assert 'A "Ad" ends inside a token' in problem.what
    assert 'Mark "Ada", from 0 to 3' in problem.what
    assert support.golds[0].unknown.tolist() == [True, False, False, False]


def test_a_type_with_no_usable_example():
    item = ("Ada left Rio.", [(0, 2, "A"), (9, 12, "B")])
    hint, problem = get_problems([item])
    assert 'Mark "Ada", from 0 to 3' in hint.what
    assert problem.where == "A"
    assert "none of its 1 examples lines up" in problem.what


@pytest.mark.parametrize(
    "mark", [(5, 3), (50, 60), (-3, 2), (-3, -1), (3, 3), (0, 10**30), (-(10**30), 2)]
)
def test_marks_outside_the_text(mark):
    (problem,) = get_problems([("Ada left.", [(*mark, "A")])])
    assert "is no part of it" in problem.what


def test_all_entities_too_long():
    text = "The Royal Society of London for Improving Natural Knowledge met"
    item = (text, [(0, len(text) - 4, "ORG")])
    (problem,) = get_problems([item], max_width=5)
    assert problem.where == "ORG"
    assert "longer than max_width = 5 tokens" in problem.what
    assert "The Royal Society" in problem.what
    support = read([item, ("Acme met", [(0, 4, "ORG")])], max_width=5)
    assert [p.is_fatal for p in support.problems] == [False]


def test_misaligned_tokens_of_examples():
    reference = Doc(NLP.vocab, words=["New", "York"], ents=["O", "B-A"])
    eg = Example(Doc(NLP.vocab, words=["New York"]), reference)
    (problem,) = get_problems([eg])
    assert (problem.where, "lines up" in problem.what) == ("A", True)


@pytest.mark.parametrize(
    "item",
    [
        "text",
        ("text",),
        ("text", [(1, 2)]),
        (1, []),
        ("text", [("a", 2, "X")]),
        ("text", [(0, 2.5, "X")]),
        ("text", [(0, 4.0, "X")]),
        ("text", [(0, float("inf"), "X")]),
        ("text", [(0, float("nan"), "X")]),
        ("text", [(False, 4, "X")]),
        ("text", [(0, "4", "X")]),
        ("text", [(0, 4, None)]),
        ("text", [(0, 4, b"X")]),
        ("text", [(0, 4, 5)]),
        ("text", [(0, 4, "\ud83d")]),
        ("text", {"entities": [(0, 4, "X")]}),
        (b"text", [(0, 4, "X")]),
    ],
)
def test_things_that_are_no_examples(item):
    with pytest.raises(SettingError, match=r"Ada left"):
        read([item])


def test_the_error_says_all_that_is_wrong_and_can_be_sent_between_processes():
    items = [
        ("Ada left.", [(0, 3, "A"), (0, 3, "B")]),
        ("Otto left.", [(90, 99, "A")]),
    ]
    with pytest.raises(SupportError) as caught:
        read(items)
    assert str(caught.value).count("\n- ") == 2
    assert "Nothing was changed" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == caught.value.problems


def test_types_that_cannot_be_told_apart_are_reported(trained):
    support = [
        ("Ada left .", [(0, 3, "A")]),
        ("Ada  left .", [(0, 3, "B")]),
        ("Ada  left  .", [(0, 3, "B")]),
    ]
    report = adapt(trained, support, max_steps=30, lr=0.01)
    (problem,) = report.problems
    assert problem.where == "A"
    assert "taken for B" in problem.what
    again = adapt(trained, support, check=False, max_steps=30, lr=0.01)
    assert again.problems == []
    assert again.learning.details == report.learning.details


def test_docs_that_are_only_space_or_empty(trained):
    items = [("Ada left .", [(0, 3, "A")]), ("", []), (" ", [])]
    assert adapt(trained, items, max_steps=2).counts == {"A": 1}


@pytest.mark.parametrize("label", ["", " "])
def test_marks_without_a_label(label):
    (problem,) = get_problems([("Ada left.", [(0, 3, label)])])
    assert "has no label" in problem.what


def test_entities_that_end_in_whitespace():
    doc = Doc(NLP.vocab, words=["Ada", " ", "left"], ents=["B-A", "I-A", "O"])
    (problem,) = get_problems([doc])
    assert "whitespace" in problem.what


def test_what_cannot_be_predicted_is_no_reason_to_give_up_when_measuring(trained):
    words = ["Long"] * 20
    long = Doc(NLP.vocab, words=[*words, "."], ents=["B-A", *["I-A"] * 19, "O"])
    support = [long, ("Ada left .", [(0, 3, "B")])]
    with pytest.raises(SupportError, match="longer than max_width"):
        adapt(trained, support, max_steps=2)
    report = adapt(trained, support, check=False, max_steps=30, lr=0.01)
    (problem,) = report.problems
    assert problem.where == "A"
    assert [ent.label_ for ent in report.nlp("Ada left .").ents] == ["B"]


def test_a_mark_that_ends_inside_a_token_is_told_with_its_text():
    items = [("Ada left Otto.", [(0, 2, "A"), (9, 13, "A"), (90, 99, "A")])]
    inside, outside = get_problems(items)
    assert inside.where == outside.where == '"Ada left Otto."'
    assert inside.what.endswith('Mark "Ada", from 0 to 3')


def test_whole_numbers_of_numpy_are_offsets():
    start, end = numpy.asarray([0, 3])
    assert read([("Ada left.", [(start, end, "A")])]).counts == {"A": 1}
