"""Corpora in which not every entity is marked."""

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_epnet.corpora.labels import get_corpus
from spacy_epnet.corpora.partial_annotation import mark_missing

from ..util.commands import run

MISSING, OUTSIDE = 0, 2


@Language.component("capitals_of_the_right_corpus")
def mark_capitals(doc):
    """Takes every capitalized word for an entity, in docs of one corpus."""
    if get_corpus(doc) == "news":
        words = [token for token in doc if token.is_title]
        doc.ents = [Span(doc, word.i, word.i + 1, label="NAME") for word in words]
    return doc


@pytest.fixture
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("capitals_of_the_right_corpus")
    return nlp


def make_doc(nlp):
    doc = Doc(nlp.vocab, words=["Ada", "met", "Grace", "Hopper", "in", "Rome"])
    doc.set_ents([Span(doc, 2, 4, label="PERSON")], missing=[doc[4:5]])
    return doc


def test_tokens_of_a_predicted_entity_are_marked_as_missing(nlp):
    ((doc, spans),) = mark_missing(nlp, [make_doc(nlp)], types_of="news")
    assert [span.text for span in spans] == ["Ada", "Rome"]
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Grace Hopper", "PERSON")]
    # What had been unknown before stays so.
    iob = [token.ent_iob for token in doc]
    assert iob == [MISSING, OUTSIDE, 3, 1, MISSING, MISSING]


def test_only_types_of_the_named_corpus_count(nlp):
    ((doc, spans),) = mark_missing(nlp, [make_doc(nlp)])
    assert not spans
    assert doc[0].ent_iob == OUTSIDE


def test_the_command_writes_a_corpus(trained, references, tmp_path):
    folder, corpus = tmp_path / "model", tmp_path / "partial.spacy"
    trained.to_disk(folder)
    bare = [doc.copy() for doc in references]
    for doc in bare:
        doc.set_ents([ent for ent in doc.ents if ent.label_ == "PERSON"])
    DocBin(docs=bare).to_disk(corpus)
    output = tmp_path / "marked.spacy"
    run("epnet", "mark-missing", folder, corpus, output)
    marked = list(DocBin().from_disk(output).get_docs(trained.vocab))
    missing = sum(token.ent_iob == MISSING for doc in marked for token in doc)
    lost = [e for doc in references for e in doc.ents if e.label_ != "PERSON"]
    assert lost
    assert missing >= 0.9 * sum(map(len, lost))
    kept = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in marked]
    assert kept == [[(e.start, e.end, e.label_) for e in doc.ents] for doc in bare]


def test_a_wrong_corpus_is_named(trained, references, tmp_path):
    folder, corpus = tmp_path / "model", tmp_path / "partial.spacy"
    trained.to_disk(folder)
    DocBin(docs=references).to_disk(corpus)
    place = tmp_path / "out.spacy"
    shown = run(
        "epnet", "mark-missing", folder, corpus, place, "--types-of", "news", code=1
    )
    assert "news" in shown
    assert not place.exists()
