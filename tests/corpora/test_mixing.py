from itertools import islice

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import registry

from spacy_epnet.corpora.labels import get_corpus, set_corpus, split_type
from spacy_epnet.corpora.mixing import make_mixed_corpus, make_mixed_labels
from spacy_epnet.epnet import prototype_recognizer
from spacy_epnet.epnet.decoding import find_winners
from spacy_epnet.recognizer.pipeline import find_recognizer

from ..conftest import get_ents, train

SENTENCES = {
    "people": [
        ("Ada went to Paris", (0, 1, "PERSON")),
        ("Otto slept", (0, 1, "PERSON")),
    ],
    "places": [("Ada went to Paris", (3, 4, "CITY")), ("Otto slept", None)],
}


@pytest.fixture
def parts(tmp_path):
    """Two corpora, of which each leaves unmarked what the other marks."""
    nlp = spacy.blank("en")
    blocks = {}
    for corpus, sentences in SENTENCES.items():
        docs = []
        for text, mark in sentences:
            doc = Doc(nlp.vocab, words=text.split())
            doc.set_ents([Span(doc, *mark)] if mark else [])
            docs.append(doc)
        path = tmp_path / f"{corpus}.spacy"
        DocBin(docs=docs).to_disk(path)
        blocks[corpus] = {"path": str(path)}
    return blocks


@pytest.fixture
def mixed(make_nlp, parts):
    """A pipeline that has learned both by heart, and the examples."""
    nlp = make_nlp(none_samples=100)
    examples = list(make_mixed_corpus(parts)(nlp))
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    return nlp, examples


def test_types_are_called_after_their_corpus(parts):
    egs = list(make_mixed_corpus(parts)(spacy.blank("en")))
    found = [(get_corpus(eg.predicted), get_ents(eg.reference)) for eg in egs]
    assert found == [
        ("people", [(0, 1, "people:PERSON")]),
        ("people", [(0, 1, "people:PERSON")]),
        ("places", [(3, 4, "places:CITY")]),
        ("places", []),
    ]
    assert all(get_corpus(eg.reference) == get_corpus(eg.predicted) for eg in egs)
    assert split_type("people:job:PERSON") == ("people", "job:PERSON")


def test_a_corpus_can_have_types_of_another(parts):
    parts["more"] = {**parts["people"], "types_of": "people"}
    assert make_mixed_labels(parts) == {
        "people": ["people:PERSON"],
        "places": ["places:CITY"],
        "more": ["people:PERSON"],
    }


def test_a_corpus_can_be_left_out(parts):
    egs = list(make_mixed_corpus(parts, without=["people"])(spacy.blank("en")))
    assert {get_corpus(eg.reference) for eg in egs} == {"places"}
    assert make_mixed_labels(parts, ["people"]) == {"places": ["places:CITY"]}
    for without in (["poeple"], ["people", "places"]):
        with pytest.raises(ValueError, match=r"poeple|no corpus"):
            make_mixed_labels(parts, without)


def test_unannotated_tokens_stay_so(parts, tmp_path):
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["Ada", "met", "Otto"])
    doc.set_ents([Span(doc, 0, 1, "PERSON")], missing=[doc[2:3]])
    DocBin(docs=[doc]).to_disk(tmp_path / "partial.spacy")
    reader = make_mixed_corpus({"partial": {"path": tmp_path / "partial.spacy"}})
    (eg,) = reader(spacy.blank("en"))
    assert [token.ent_iob_ for token in eg.reference] == ["B", "O", ""]


def test_endless_reading_draws_by_weight_and_repeats_with_its_seed(parts):
    parts["people"]["weight"] = 3.0

    def draw(seed):
        reader = make_mixed_corpus(parts, endless=True, seed=seed)
        egs = islice(reader(spacy.blank("en")), 400)
        return [(get_corpus(eg.predicted), eg.reference.text) for eg in egs]

    drawn = draw(0)
    share = sum(corpus == "people" for corpus, _ in drawn) / len(drawn)
    assert 0.68 < share < 0.82
    assert drawn == draw(0)
    assert drawn != draw(1)
    people = [text for corpus, text in drawn if corpus == "people"]
    # Every sentence comes once before one comes again.
    pairs = zip(people[::2], people[1::2], strict=False)
    assert all(one != other for one, other in pairs)


def test_augmented_examples_know_their_corpus(parts):
    augmenter = registry.resolve(
        {"block": {"@augmenters": "spacy.lower_case.v1", "level": 1.0}}
    )["block"]
    egs = list(make_mixed_corpus(parts, augmenter=augmenter)(spacy.blank("en")))
    assert {eg.reference.text.strip() for eg in egs} == {
        "ada went to paris",
        "otto slept",
    }
    for docs in ([eg.predicted for eg in egs], [eg.reference for eg in egs]):
        assert [get_corpus(doc) for doc in docs] == ["people"] * 2 + ["places"] * 2


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"people": {"paht": "x"}}, "paht"),
        ({"people": {"path": "x", "weight": -1}}, "weight"),
        ({"peo:ple": {"path": "x"}}, "can't have a ':'"),
        ({}, "no corpus"),
    ],
)
def test_wrong_blocks_are_reported(block, message):
    with pytest.raises(ValueError, match=message):
        make_mixed_corpus(block)


def test_a_corpus_that_is_missing_is_reported(tmp_path):
    reader = make_mixed_corpus({"people": {"path": tmp_path / "no.spacy"}})
    with pytest.raises(ValueError, match="no such file"):
        next(reader(spacy.blank("en")))


def test_each_corpus_has_a_generation_of_its_own(mixed):
    nlp, _ = mixed
    pipe = nlp.get_pipe("epnet_ner")
    assert [list(labels) for labels in pipe.generations] == [
        ["people:PERSON"],
        ["places:CITY"],
    ]
    assert pipe.label_data == {
        "people": ["people:PERSON"],
        "places": ["places:CITY"],
    }


def test_contradicting_corpora_are_learned_side_by_side(mixed):
    nlp, examples = mixed
    for eg in examples:
        doc = nlp(eg.predicted.copy())
        assert get_ents(doc) == get_ents(eg.reference), get_corpus(doc)
    # A text from nowhere is read by all of them.
    text = Doc(nlp.vocab, words=["Ada", "went", "to", "Paris"])
    assert get_ents(nlp(text)) == [(0, 1, "people:PERSON"), (3, 4, "places:CITY")]


def test_types_of_other_corpora_are_not_searched_for(mixed, monkeypatch):
    nlp, _ = mixed
    pipe = nlp.get_pipe("epnet_ner")
    searched = []

    def find(head, tokens, layout, rows_in_use, **kwargs):
        searched.append([rows.tolist() for rows in rows_in_use])
        return find_winners(head, tokens, layout, rows_in_use, **kwargs)

    monkeypatch.setattr(prototype_recognizer, "find_winners", find)
    one, other = [0, 1], [0, 2]
    for corpora, rows in (
        (["people"], [one]),
        (["places"], [other]),
        (["people", "places"], [one, other]),
        ([None, "people"], [one, other]),
    ):
        docs = [nlp.make_doc("Ada went to Paris") for _ in corpora]
        for doc, corpus in zip(docs, corpora, strict=True):
            if corpus is not None:
                set_corpus(doc, corpus)
        tokens = find_recognizer(nlp).encode(docs)
        found = pipe.recognize(docs, tokens)
        assert searched.pop() == rows
        for predictions, corpus in zip(found, corpora, strict=True):
            families = {split_type(each.label)[0] for each in predictions}
            assert families == ({corpus} if corpus else {"people", "places"})


def test_the_loss_of_a_span_is_among_its_own_types(make_nlp, parts):
    """Types of other corpora get no gradient from it."""
    nlp = make_nlp(dispersion_loss=False)
    examples = list(make_mixed_corpus(parts)(nlp))
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("epnet_ner")
    network = pipe.model.get_ref("head").shims[0]._model
    people = [eg for eg in examples if get_corpus(eg.predicted) == "people"]
    nlp.update(people, sgd=False)
    moved = network.prototypes.grad.abs().sum(dim=1) > 0
    rows = pipe.prototypes
    assert moved[0]
    assert moved[rows["people:PERSON"]]
    assert not moved[rows["places:CITY"]]


def test_labels_of_corpora_can_be_given(make_nlp, parts):
    """As for a corpus without an end, of which a sample is all that is seen first."""
    nlp = make_nlp()
    examples = list(make_mixed_corpus(parts)(nlp))
    labels = make_mixed_labels(parts)
    nlp.config["initialize"]["components"]["epnet_ner"] = {"labels": labels}
    nlp.initialize(lambda: examples[:1])
    assert nlp.get_pipe("epnet_ner").corpora == labels
    nlp.update(examples)


def test_docs_of_an_unknown_corpus_are_refused(mixed):
    nlp, _ = mixed
    doc = Doc(nlp.vocab, words=["Nobody", "slept"])
    reference = doc.copy()
    reference.set_ents([])
    set_corpus(doc, "strangers")
    with pytest.raises(ValueError, match=r"strangers.*people, places"):
        nlp.update([Example(doc, reference)])


def test_mixed_sources_are_saved_adapted_and_extended(mixed, tmp_path):
    import spacy_epnet

    nlp, examples = mixed
    nlp.to_disk(tmp_path / "mixed")
    nlp = spacy.load(tmp_path / "mixed")
    assert nlp.get_pipe("epnet_ner").corpora["people"] == ["people:PERSON"]
    support = [("Grace went to Ulm .", [(0, 5, "PERSON"), (14, 17, "CITY")])]
    report = spacy_epnet.adapt(nlp, support)
    assert report.nlp.get_pipe("epnet_ner").labels == ("CITY", "PERSON")
    # Names of types are compared with what those of the source are called in their
    # corpus.
    origins = {label: cells[1] for label, cells in report.learning.cells.items()}
    assert origins == {"CITY": "places:CITY 100%", "PERSON": "people:PERSON 100%"}
    # What a doc is from says nothing about types that are in no corpus.
    doc = report.nlp.make_doc(support[0][0])
    set_corpus(doc, "people")
    assert get_ents(report.nlp(doc)) == get_ents(report.nlp(support[0][0]))
    extended = spacy_epnet.adapt(nlp, support, extend=True).nlp
    assert [len(g) for g in extended.get_pipe("epnet_ner").generations] == [1, 1, 2]
    for eg in examples:
        assert get_ents(extended(eg.predicted.copy())) == get_ents(eg.reference)
