import numpy
import pytest
import spacy
from spacy.tokens import Doc
from thinc.api import Model

from spacy_epnet.encoder.surface import (
    FORMS,
    WIDTH,
    build_surface_tok2vec,
    get_form,
    get_surface_features,
)

VOCAB = spacy.blank("en").vocab
NAMES = (
    *FORMS,
    "first",
    "first_capital",
    "begin",
    "end",
    "link",
    "after_symbol",
    "before_symbol",
    "many_capitals",
    "no_capitals",
)


def describe(text):
    doc = Doc(VOCAB, words=text.split())
    return [
        {name for name, flag in zip(NAMES, row, strict=True) if flag}
        for row in get_surface_features([doc])
    ]


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("may", "lower"),
        ("May", "title"),
        ("NASA", "upper"),
        ("U.S.", "upper"),
        ("iPhone", "mixed"),
        ("McDonald", "mixed"),
        ("A", "letter"),
        ("1984", "number"),
        ("1,000", "number"),
        ("G20", "code"),
        ("...", "symbol"),
        ("don't", "lower"),
        ("O'Neil", "mixed"),
        ("Äpfel", "title"),
    ],
)
def test_forms(word, form):
    shape = Doc(VOCAB, words=[word])[0].shape
    assert FORMS[get_form(VOCAB.strings, shape)] == form


def test_runs_of_capitals_have_a_begin_an_end_and_links():
    features = describe("He saw the University of London today .")
    assert features[0] >= {"title", "first", "first_capital", "begin", "end"}
    assert features[3] >= {"begin", "end", "title"}
    assert features[4] >= {"lower", "link"}
    assert "link" not in features[6]
    assert features[6] == {"lower", "before_symbol"}
    assert features[7] == {"symbol"}


def test_docs_without_capitals_and_with_many():
    assert all("no_capitals" in row for row in describe("we met otto"))
    assert all("many_capitals" in row for row in describe("Stocks Fall On News"))
    assert "many_capitals" not in describe("Otto met her there")[0]


def test_empty_docs():
    assert get_surface_features([Doc(VOCAB)]).shape == (0, WIDTH)


def test_batches_are_described_doc_by_doc():
    texts = ["He saw London", "", "! it works", "ABC", "Rome", "x ,", ", y"]
    docs = [Doc(VOCAB, words=text.split()) for text in texts]
    single = [get_surface_features([doc]) for doc in docs]
    numpy.testing.assert_array_equal(
        get_surface_features(docs), numpy.concatenate(single)
    )


def test_docs_of_several_vocabs():
    docs = [
        Doc(spacy.blank("de").vocab, words=["Xy"]),
        Doc(VOCAB, words=["McDonald", "G20"]),
    ]
    forms = get_surface_features(docs)[:, : len(FORMS)].argmax(axis=1)
    assert [FORMS[form] for form in forms] == ["title", "mixed", "code"]


def test_features_are_added_to_the_vectors():
    def forward(model, docs, is_train):
        vectors = [model.ops.alloc2f(len(doc), 3) + 7 for doc in docs]
        return vectors, lambda d_vectors: d_vectors

    inner = Model("vectors", forward, dims={"nO": 3})
    model = build_surface_tok2vec(inner)
    docs = [Doc(VOCAB, words=["Ada", "left"]), Doc(VOCAB, words=["x"])]
    model.initialize(X=docs)
    vectors, backprop = model.begin_update(docs)
    assert [v.shape for v in vectors] == [(2, 3 + WIDTH), (1, 3 + WIDTH)]
    numpy.testing.assert_array_equal(vectors[0][:, :3], 7)
    numpy.testing.assert_array_equal(vectors[0][:, 3:], get_surface_features(docs)[:2])
    assert model.get_dim("nO") == 3 + WIDTH
    backprop(vectors)


def test_the_same_word_is_written_in_two_ways(trained):
    """The encoder of the tests knows small letters only."""
    pipe = trained.get_pipe("epnet_ner")
    docs = [Doc(trained.vocab, words=[word, "left"]) for word in ("Otto", "otto")]
    for doc in docs:
        trained.get_pipe("transformer")(doc)
    upper, lower = pipe.encode(docs)[[0, 2]]
    numpy.testing.assert_allclose(upper[:32], lower[:32], atol=1e-5)
    assert (upper[32:] != lower[32:]).any()
