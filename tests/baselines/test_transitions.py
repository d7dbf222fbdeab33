"""Which type follows which, against slow direct computations."""

from itertools import pairwise, product

import numpy
import pytest
import spacy
from spacy.training import Example

from spacy_epnet import adapt
from spacy_epnet.baselines.tokens import transitions
from spacy_epnet.baselines.tokens.transitions import (
    count_transitions,
    find_best_columns,
    temper,
    to_probabilities,
    transfer_transitions,
)
from spacy_epnet.recognizer.gold import UNKNOWN
from spacy_epnet.recognizer.spans import get_layout

from ..conftest import SMALL_TOK2VEC

# From the beginning, None and a type, to None, the same type and another one.
ABSTRACT = numpy.asarray([[0.8, 0.0, 0.2], [0.7, 0.0, 0.3], [0.6, 0.3, 0.1]])


@pytest.fixture
def rng():
    return numpy.random.default_rng(0)


def test_transitions_are_counted_with_io_tags():
    columns = numpy.asarray([0, 1, 1, 2, 0, 3, 3, UNKNOWN, 0, 0])
    begins = numpy.zeros(10, dtype=bool)
    begins[[0, 5, 8]] = True
    found = count_transitions(columns, begins)
    assert found.tolist() == [
        [2, 0, 1],  # 0 | 3 | 0
        [1, 0, 1],  # None to 1, and None to None
        [1, 2, 1],  # 1 to 1, 3 to 3, 1 to 2, 2 to None
    ]
    assert count_transitions(columns[:0], begins[:0]).sum() == 0


def test_what_was_never_seen_is_rare_but_possible():
    found = to_probabilities(numpy.asarray([[7, 0, 1], [0, 0, 0], [97, 0, 0]]))
    numpy.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[:2, 1].tolist() == [0, 0]
    assert found[0].tolist() == [0.8, 0, 0.2]
    assert found[2].tolist() == [0.98, 0.01, 0.01]


def test_copies_add_up_to_160_per_cent_in_the_papers_figure_and_shares_to_100():
    copied = transfer_transitions(ABSTRACT, 3, "copy")
    shared = transfer_transitions(ABSTRACT, 3, "even")
    assert copied[1].tolist() == [0.7, 0.3, 0.3, 0.3]
    assert copied[1].sum() == pytest.approx(1.6)
    numpy.testing.assert_allclose(shared[1], [0.7, 0.1, 0.1, 0.1])
    numpy.testing.assert_allclose(shared.sum(axis=1), 1)
    numpy.testing.assert_allclose(copied[3], [0.6, 0.1, 0.3, 0.1])
    numpy.testing.assert_allclose(shared[3], [0.6, 0.05, 0.3, 0.05])


def test_a_single_type_has_no_other_to_go_to():
    for way in ("copy", "even"):
        table = transfer_transitions(ABSTRACT, 1, way)
        numpy.testing.assert_allclose(table, [[0.8, 0.2], [0.7, 0.3], [0.6, 0.3]])
        assert transfer_transitions(ABSTRACT, 0, way).tolist() == [[0.8], [0.7]]


def test_a_small_temperature_makes_transitions_alike():
    table = transfer_transitions(ABSTRACT, 3, "even")
    flat = temper(table, 1e-6)
    numpy.testing.assert_allclose(flat, 1 / 4, rtol=1e-4)
    numpy.testing.assert_allclose(temper(table, 1.0), table)
    half = table[1] ** 0.5
    numpy.testing.assert_allclose(temper(table, 0.5)[1], half / half.sum())
    copied = transfer_transitions(ABSTRACT, 3, "copy")
    numpy.testing.assert_allclose(temper(copied, 1.0), copied)
    numpy.testing.assert_allclose(temper(copied, 1e-6), 1 / 4, rtol=1e-4)


def find_by_brute_force(emissions, table):
    """The best of all sequences of types."""
    n_tokens, n_columns = emissions.shape

    def get_score(path):
        score = table[0, path[0]]
        score += sum(table[1 + a, b] for a, b in pairwise(path))
        return score + sum(emissions[i, column] for i, column in enumerate(path))

    return list(max(product(range(n_columns), repeat=n_tokens), key=get_score))


@pytest.mark.parametrize("budget", [1, 4_000_000])
def test_the_best_types_are_those_of_all_sequences(rng, monkeypatch, budget):
    monkeypatch.setattr(transitions, "BUDGET", budget)
    lengths = [3, 1, 6, 2, 6]
    emissions = rng.normal(size=(sum(lengths), 3))
    table = rng.normal(size=(4, 3))
    begins = numpy.zeros(sum(lengths), dtype=bool)
    ends = numpy.cumsum(lengths)
    begins[ends - lengths] = True
    expected = [
        column
        for length, end in zip(lengths, ends, strict=True)
        for column in find_by_brute_force(emissions[end - length : end], table)
    ]
    assert find_best_columns(emissions, table, begins).tolist() == expected
    assert expected != emissions.argmax(axis=1).tolist()
    assert len(find_best_columns(emissions[:0], table, begins[:0])) == 0


@pytest.fixture
def nlp(references):
    """StructShot after one update."""
    nlp = spacy.blank("en")
    nlp.add_pipe("structshot_ner", config={"model": {"tok2vec": SMALL_TOK2VEC}})
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    return nlp


def test_structshot_learns_what_follows_what_of_its_source(nlp, references):
    pipe = nlp.get_pipe("structshot_ner")
    counts = numpy.asarray(pipe.learned["transitions"])
    assert counts.sum() == sum(len(doc) for doc in references)
    assert counts[0].sum() == len(references)
    inside = sum(len(ent) - 1 for doc in references for ent in doc.ents)
    assert counts[2, 1] == inside > 0
    learned = adapt(nlp, [("Rex barked .", [(0, 3, "DOG")])]).nlp
    assert learned.get_pipe("structshot_ner").learned["transitions"] == counts.tolist()
    pipe.learned["transitions"] = [[1, 2]]
    with pytest.raises(ValueError, match="transitions"):
        pipe.check_learned()


def test_structshot_chooses_the_types_of_a_sentence_together(nlp):
    pipe = nlp.get_pipe("structshot_ner")
    pipe.cfg["temperature"] = 1.0
    # Nothing in this source has more than one token.
    pipe.learned["transitions"] = [[50, 0, 50], [50, 0, 50], [1000, 0, 0]]
    likely = numpy.asarray([[0.1, 0.6, 0.3], [0.4, 0.5, 0.1], [0.2, 0.1, 0.7]])
    docs = [nlp.make_doc("a b"), nlp.make_doc("c")]
    layout = get_layout(docs, ops=pipe.model.ops)
    assert likely.argmax(axis=1).tolist() == [1, 1, 2]
    assert pipe.choose_columns(likely, layout).tolist() == [1, 0, 2]
    pipe.cfg["temperature"] = 1e-9
    assert pipe.choose_columns(likely, layout).tolist() == [1, 1, 2]
