"""EP-Net with prototypes of tokens."""

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_epnet import adapt
from spacy_epnet.baselines.epnet_tokens import split_entities
from spacy_epnet.recognizer.gold import read_gold
from spacy_epnet.recognizer.spans import get_layout

from ..conftest import SMALL_TOK2VEC, get_ents, train

WORDS = ["It", "was", *["very"] * 12, "cold", "."]


def make_nlp(doc):
    nlp = spacy.blank("en")
    nlp.add_pipe("epnet_tokens_ner", config={"model": {"tok2vec": SMALL_TOK2VEC}})
    examples = [Example(Doc(nlp.vocab, words=WORDS), doc)] * 4
    nlp.initialize(lambda: examples)
    train(nlp, examples, steps=60)
    return nlp


def make_reference():
    doc = Doc(spacy.blank("en").vocab, words=WORDS)
    doc.set_ents([Span(doc, 2, 15, label="STATE")])
    return doc


def test_entities_are_parted_into_tokens():
    doc = make_reference()
    gold = read_gold(Example(Doc(doc.vocab, words=WORDS), doc))
    parted = split_entities(gold)
    assert [(e.start, e.end, e.label_) for e in parted.ents] == [
        (i, i + 1, "STATE") for i in range(2, 15)
    ]
    assert parted.unknown is gold.unknown


def test_entities_of_any_length_are_found():
    nlp = make_nlp(make_reference())
    assert nlp.get_pipe("epnet_tokens_ner").max_width == 1
    assert get_ents(nlp(Doc(nlp.vocab, words=WORDS))) == [(2, 15, "STATE")]


def test_types_depend_on_each_other():
    nlp = make_nlp(make_reference())
    pipe = nlp.get_pipe("epnet_tokens_ner")
    begin, _, kind = numpy.asarray(pipe.learned["transitions"])
    assert begin[0] == begin.sum() > 0
    # Of an entity's 13 tokens 12 are followed by one of the same type.
    assert kind[1] == 12 * kind[0] > 0
    assert kind[2] == 0
    doc = Doc(nlp.vocab, words=WORDS)
    layout = get_layout([doc], ops=pipe.model.ops)
    ((labels, probabilities),) = pipe.rate_tokens(pipe.encode([doc]))
    assert labels == ["STATE"]
    # A token in the middle that is a little less probable goes with the others.
    doubtful = probabilities.copy()
    doubtful[8] = [0.6, 0.4]
    assert (doubtful.argmax(axis=1)[2:15] == 1).sum() == 12
    assert (pipe.choose_columns(doubtful, layout)[2:15] == 1).all()


def test_there_are_no_settings_for_spans_that_overlap():
    nlp = make_nlp(make_reference())
    config = nlp.get_pipe_config("epnet_tokens_ner")
    support = [("It was mild .", [(7, 11, "STATE")])]
    for profile in ("default", "paper"):
        settings = adapt(nlp, support, profile=profile, max_steps=1).settings
        assert not {"hard_nones", "overlaps"} & {*config, *settings}
    with pytest.raises(ValueError, match=r"no such settings: adapt\.hard_nones"):
        adapt(nlp, support, hard_nones=0.0)
