"""Reading one long text takes time in proportion to its length."""

from functools import cache

import pytest

from measurements.speed.long_texts import TEXTS, measure
from spacy_epnet.corpora import conversion
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.docs import make_tokenizer

# Entities of the shorter text. The other one has four times as many.
COUNT = 500


@pytest.fixture(autouse=True)
def _one_tokenizer(monkeypatch):
    monkeypatch.setattr(conversion, "make_tokenizer", cache(make_tokenizer))


@pytest.mark.parametrize("name", TEXTS)
def test_four_times_the_text_takes_far_less_than_sixteen_times_as_long(name, tmp_path):
    short, long = measure(name, [COUNT, 4 * COUNT], 3, tmp_path)
    assert long < 9 * short


def test_the_texts_have_what_they_say(tmp_path):
    found = {}
    for name in TEXTS:
        measure(name, [10], 1, tmp_path)
        docs = Corpus(tmp_path / "out.spacy").docs
        ents = [ent.text for doc in docs for ent in doc.ents]
        found[name] = len(docs), len(ents), {*ents}
    assert found == {
        "marked": (1, 10, {"Ada"}),
        "sentences": (10, 10, {"Ada"}),
        "misaligned": (1, 0, set()),
        "nested": (1, 1, {("Ada met " * 10).strip()}),
        "quoted": (1, 10, {"Ada"}),
    }
