"""What is true of any doc. 2,000 examples instead of 100:

pytest tests/recognizer/test_properties.py --hypothesis-profile many
"""

from typing import NamedTuple

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.util import filter_spans, load_model_from_config

from ..conftest import PEOPLE, PLACES, get_ents

KEY = "epnet_ner"
# What is rounded in a batch of another shape.
TOLERANCE = 1e-4
LABELS = ["PERSON", "PLACE", "OTHER"]
KINDS = ["ents", "blocked", "spans"]

strange = st.sampled_from(
    ["", " ", "\n\n", "\t", "\u200b", "\u0301", "\x00", "🇫🇷", "ﷺ"]
)
known = st.sampled_from([*PEOPLE, *PLACES, "lives in", "we met", "."])
anything = st.text(max_size=12)
pieces = st.lists(st.one_of(known, known, strange, anything), max_size=12)
places = st.tuples(st.integers(0, 15), st.integers(1, 12))
marks = st.tuples(places, st.sampled_from(LABELS), st.sampled_from(KINDS))


class Plan(NamedTuple):
    """How to make a doc."""

    pieces: list[str]
    spaces: list[bool] | None  # or the tokenizer decides
    marks: list
    repeat: int


plans = st.builds(
    Plan,
    pieces,
    st.none() | st.lists(st.booleans(), min_size=12, max_size=12),
    st.lists(marks, max_size=3),
    st.sampled_from([1, 1, 1, 1, 1, 1, 40]),
)


def make_doc(nlp, plan):
    pieces = plan.pieces * plan.repeat
    if plan.spaces is None:
        doc = nlp.make_doc(" ".join(pieces))
    else:
        words = [piece for piece in pieces if piece]
        spaces = (plan.spaces * len(words))[: len(words)]
        doc = Doc(nlp.vocab, words=words, spaces=spaces)
    found = [(make_span(doc, place, label), kind) for place, label, kind in plan.marks]
    spans = {k: [s for s, kind in found if s and kind == k] for k in KINDS}
    if plan.marks:
        ents = filter_spans(spans["ents"])
        taken = {token.i for ent in ents for token in ent}
        blocked = [
            span
            for span in filter_spans(spans["blocked"])
            if taken.isdisjoint(range(span.start, span.end))
        ]
        doc.set_ents(ents, blocked=blocked)
        doc.spans["given"] = spans["spans"]
    return doc


def make_span(doc, place, label):
    start, width = place
    end = min(start + width, len(doc))
    return Span(doc, start, end, label=label) if start < end else None


@pytest.fixture(scope="module")
def nlp(_trained_bytes):
    config, data = _trained_bytes
    return load_model_from_config(config.copy(), auto_fill=True).from_bytes(data)


@pytest.fixture(scope="module")
def loaded(nlp, tmp_path_factory):
    """The same pipeline, saved and loaded."""
    folder = tmp_path_factory.mktemp("saved")
    nlp.to_disk(folder)
    return spacy.load(folder)


def check(doc, before):
    """What must be true of a doc that was recognized in."""
    spans = doc.spans[KEY]
    scores = spans.attrs["scores"]
    assert len(scores) == len(spans)
    assert all(0 <= score <= 1 for score in scores)
    assert [t.text_with_ws for t in doc] == [t.text_with_ws for t in before]
    for group in (doc.ents, spans):
        tokens = [token.i for span in group for token in span]
        assert len(tokens) == len(set(tokens))
    assert {*get_ents(before)} <= {*get_ents(doc)}
    predicted = {(span.start, span.end, span.label_) for span in spans}
    assert {*get_ents(doc)} <= {*get_ents(before)} | predicted
    assert [*doc.spans.get("given", [])] == [
        Span(doc, span.start, span.end, label=span.label)
        for span in before.spans.get("given", [])
    ]


def assert_same(doc, other):
    assert get_ents(doc) == get_ents(other)
    assert [str(span) for span in doc.spans[KEY]] == [
        str(span) for span in other.spans[KEY]
    ]
    numpy.testing.assert_allclose(
        doc.spans[KEY].attrs["scores"], other.spans[KEY].attrs["scores"], atol=TOLERANCE
    )


@given(st.lists(plans, min_size=1, max_size=3))
def test_any_docs(nlp, loaded, batch):
    singles = [nlp(make_doc(nlp, plan)) for plan in batch]
    for doc, plan in zip(singles, batch, strict=True):
        check(doc, make_doc(nlp, plan))
    for pipeline in (nlp, loaded):
        docs = pipeline.pipe([make_doc(pipeline, plan) for plan in batch])
        for doc, single in zip(docs, singles, strict=True):
            assert_same(doc, single)


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text(nlp, text):
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        with pytest.raises(ValueError, match="surrogates not allowed"):
            nlp(text)
    else:
        assert nlp(text).text == text
