"""The mathematics of the token-level systems, against slow direct computations."""

import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import NumpyOps

from spacy_epnet.baselines.means import get_episode_loss, get_means
from spacy_epnet.baselines.memory import Memory
from spacy_epnet.baselines.tokens.io_tags import decode_runs, tag_tokens
from spacy_epnet.baselines.tokens.nnshot import get_token_loss
from spacy_epnet.baselines.tokens.token_recognizer import (
    get_nearest_by_column,
    normalize,
)
from spacy_epnet.recognizer.distances import get_square_distances
from spacy_epnet.recognizer.gold import UNKNOWN, read_gold
from spacy_epnet.recognizer.spans import get_layout

from ..conftest import add_pipe
from ..util.gradients import check_gradient

OPS = NumpyOps()
VOCAB = spacy.blank("en").vocab


@pytest.fixture
def rng():
    return numpy.random.default_rng(0)


def make_memory(rng):
    columns = numpy.asarray([0, 2, 0, 1, 1, 2, 0, 1], dtype="i")
    return Memory(rng.normal(size=(8, 5)).astype("f"), columns)


def test_squared_distances(rng):
    points, centers = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    found = get_square_distances(points, centers)
    for i, point in enumerate(points):
        for j, center in enumerate(centers):
            assert found[i, j] == pytest.approx(((point - center) ** 2).sum())


def test_protonet_measures_distances_to_the_means_of_types(rng):
    memory, points = make_memory(rng), rng.normal(size=(7, 5)).astype("f")
    found = add_pipe("protonet_ner").measure(points, memory, 4)
    for i, point in enumerate(points):
        for column in range(3):
            members = memory.vectors[memory.columns == column]
            mean = sum(members) / len(members)
            expected = sum((point - mean) ** 2)
            assert found[i, column] == pytest.approx(expected, rel=1e-4)
    assert numpy.isinf(found[:, 3]).all()  # of which nothing is known
    numpy.testing.assert_allclose(
        get_means(memory.vectors, memory.columns, 3)[1],
        memory.vectors[memory.columns == 1].mean(axis=0),
        rtol=1e-5,
    )


def test_nnshot_measures_distances_to_the_nearest_normalized_token_of_each_type(rng):
    memory, tokens = make_memory(rng), rng.normal(size=(7, 5)).astype("f")
    pipe = add_pipe("nnshot_ner")
    memory = memory._replace(vectors=pipe.represent(memory.vectors))
    found = pipe.measure(pipe.represent(tokens), memory, 4)
    for i, token in enumerate(tokens):
        unit = token / numpy.linalg.norm(token)
        for column in range(3):
            expected = min(
                ((unit - vector / numpy.linalg.norm(vector)) ** 2).sum()
                for vector, c in zip(memory.vectors, memory.columns, strict=True)
                if c == column
            )
            assert found[i, column] == pytest.approx(expected, abs=1e-5)
    assert numpy.isinf(found[:, 3]).all()
    assert not normalize(numpy.zeros((1, 5), dtype="f")).any()
    distances, columns = numpy.asarray([[3.0, 1.0]]), numpy.asarray([0, 0])
    assert get_nearest_by_column(distances, columns, 1).tolist() == [[1.0]]


def get_slow_loss(tokens, columns, is_support):
    """The definition, one token after the other."""
    means = {
        column: tokens[is_support & (columns == column)].mean(axis=0)
        for column in set(columns[is_support].tolist()) - {UNKNOWN}
    }
    losses = []
    for vector, column, supports in zip(tokens, columns, is_support, strict=True):
        if not supports and column in means:
            likelihoods = {
                other: numpy.exp(-((vector - mean) ** 2).sum())
                for other, mean in means.items()
            }
            losses.append(-numpy.log(likelihoods[column] / sum(likelihoods.values())))
    return sum(losses) / len(losses)


def test_the_loss_of_an_episode_and_its_gradient(rng):
    tokens = rng.normal(size=(12, 3)) * 0.7
    columns = numpy.asarray([0, 1, 0, 2, UNKNOWN, 1, 0, 0, 1, 2, 3, UNKNOWN])
    is_support = numpy.arange(12) < 6
    loss, gradient = get_episode_loss(tokens, columns, is_support)
    assert loss == pytest.approx(get_slow_loss(tokens, columns, is_support))
    check_gradient(
        lambda moved: get_episode_loss(moved, columns, is_support)[0], tokens, gradient
    )
    assert not gradient[[4, 10, 11]].any()  # unknown, and of a type without support
    nothing, zero = get_episode_loss(tokens, columns * 0 + UNKNOWN, is_support)
    assert (nothing, zero.any()) == (0.0, False)


def make_pairs(pipe, rng, *, width=3):
    """Attention whose values have been learned."""
    pairs = pipe.model.get_ref("pairs")
    pairs.initialize(X=numpy.zeros((0, width), dtype="f"))
    pairs.set_param("V", rng.normal(size=(width, width)))
    return pairs


def test_tokens_see_others_by_attention(rng):
    pairs = make_pairs(add_pipe("protonet_pd_ner"), rng)
    tokens, others = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    query, key, value = (pairs.get_param(name) for name in "QKV")
    for i, token in enumerate(tokens):
        scores = [(token @ query) @ (other @ key) / 8 for other in others]
        shares = numpy.exp(scores) / numpy.exp(scores).sum()
        expected = token + sum(
            s * (o @ value) for s, o in zip(shares, others, strict=True)
        )
        found = pairs.predict((tokens, others))[i]
        numpy.testing.assert_allclose(found, expected, rtol=1e-4)
    pairs.set_param("V", value * 0)
    numpy.testing.assert_array_equal(pairs.predict((tokens, others)), tokens)


def test_the_loss_of_tokens_that_see_the_support_set_and_its_gradient(rng):
    pipe = add_pipe("protonet_pd_ner")
    pairs = make_pairs(pipe, rng)
    tokens = rng.normal(size=(10, 3)) * 0.5
    columns = numpy.asarray([0, 1, 0, 2, UNKNOWN, 1, 0, 2, 1, UNKNOWN])
    is_support = numpy.arange(10) < 5
    loss, gradient = pipe.get_loss(tokens, columns, is_support)
    seen = pairs.predict((tokens, tokens[:4]))
    assert loss == pytest.approx(get_slow_loss(seen, columns, is_support))
    check_gradient(
        lambda moved: pipe.get_loss(moved, columns, is_support)[0],
        tokens,
        gradient,
    )
    nothing, zero = pipe.get_loss(tokens, columns * 0 + UNKNOWN, is_support)
    assert (nothing, zero.any()) == (0.0, False)


def test_the_loss_of_the_classifier_and_its_gradient(rng):
    scores = rng.normal(size=(6, 3))
    columns = numpy.asarray([0, 2, UNKNOWN, 1, 0, 0])
    loss, gradient = get_token_loss(scores, columns)
    shares = numpy.exp(scores) / numpy.exp(scores).sum(axis=1, keepdims=True)
    expected = [-numpy.log(shares[i, c]) for i, c in enumerate(columns) if c >= 0]
    assert loss == pytest.approx(sum(expected) / 5)
    check_gradient(lambda moved: get_token_loss(moved, columns)[0], scores, gradient)
    assert not gradient[2].any()
    assert get_token_loss(scores, columns * 0 + UNKNOWN)[0] == 0.0


def test_tokens_are_tagged_by_their_entities():
    doc = Doc(VOCAB, words=["Ada", "left", "Rio", "Grande", "today"])
    doc.set_ents(
        [
            spacy.tokens.Span(doc, 0, 1, label="A"),
            spacy.tokens.Span(doc, 2, 4, label="B"),
        ],
        missing=[doc[4:5]],
    )
    gold = read_gold(Example(Doc(VOCAB, words=[t.text for t in doc]), doc))
    tags = tag_tokens([gold, gold], {"A": 1, "B": 2})
    assert tags.tolist() == [1, 0, 2, 2, UNKNOWN] * 2
    assert tag_tokens([gold], {"B": 1}).tolist() == [UNKNOWN, 0, 1, 1, UNKNOWN]


def test_the_memory_keeps_the_latest_and_forgets_types(rng):
    memory = make_memory(rng)
    latest = memory.keep_latest([2, 1, 5])
    assert latest.columns.tolist() == [2, 0, 2, 0, 1]
    numpy.testing.assert_array_equal(latest.vectors, memory.vectors[[1, 2, 5, 6, 7]])
    fewer = memory.renumber({0: 0, 2: 1})
    assert fewer.columns.tolist() == [0, 1, 0, 1, 0]
    more = fewer.add(memory.vectors[:2], numpy.asarray([1, UNKNOWN], dtype="i"))
    assert more.columns.tolist() == [0, 1, 0, 1, 0, 1]
    assert len(more.vectors) == 6


def test_runs_of_one_type_are_entities_inside_a_sentence():
    words = ["Ada", "Lovelace", "and", "Rio", "\n", "Otto", "Ulm", " "]
    docs = [Doc(VOCAB, words=words), Doc(VOCAB, words=["Bern"])]
    docs[0][6].is_sent_start = True
    columns = [1, 1, 0, 2, 2, 1, 1, 1, 1]
    probabilities = numpy.full((9, 3), 0.1)
    probabilities[range(9), columns] = [0.9, 0.7, 0.8, 0.6, 0.6, 0.8, 0.8, 0.8, 0.5]
    chosen, layout = numpy.asarray(columns), get_layout(docs, ops=OPS)
    found = decode_runs(
        probabilities, chosen, layout, ["P", "L"], threshold=0.0, ops=OPS
    )
    assert [p[:3] for p in found] == [
        (0, 2, "P"),
        (3, 4, "L"),  # without the line break
        (5, 6, "P"),
        (6, 7, "P"),  # of another sentence
        (8, 9, "P"),  # of another doc
    ]
    assert found[0].score == pytest.approx(0.8)
    some = decode_runs(
        probabilities, chosen, layout, ["P", "L"], threshold=0.7, ops=OPS
    )
    assert [p.start for p in some] == [0, 5, 6]


def test_nothing_is_recognized_before_there_is_a_memory():
    for name in ("protonet_ner", "protonet_pd_ner", "nnshot_ner", "structshot_ner"):
        pipe = add_pipe(name)
        assert not pipe.is_ready
        with pytest.raises(
            ValueError, match=r"' isn't initialized\. Call nlp\.initialize\(\), or"
        ):
            pipe(Doc(VOCAB, words=["Ada"]))
