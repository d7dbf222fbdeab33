import numpy
import pytest
from thinc.api import NumpyOps

from spacy_epnet.epnet.decoding import (
    Winner,
    get_winners,
    keep_best,
    make_prefer_near,
    make_prefer_probable,
)

OPS = NumpyOps()


def make_winner(start, end, *, distance=1.0, probability=0.5):
    return Winner(start, end, 1, distance, probability)


def find(spans, distances, *, threshold=0.0):
    return get_winners(spans, distances, threshold=threshold, ops=OPS)


by_probability = make_prefer_probable()


def test_winners_are_spans_nearest_to_a_type():
    spans = OPS.asarray2i([[0, 1], [3, 2], [4, 2]])
    distances = OPS.asarray2f([[1, 2, 3], [2, 0.5, 1], [9, 9, 8]])
    winners = find(spans, distances)
    assert [(w.start, w.end, w.column) for w in winners] == [(3, 5, 1), (4, 6, 2)]
    assert [w.distance for w in winners] == [0.5, 8]
    likelihoods = numpy.exp(-distances[1])
    expected = likelihoods[1] / likelihoods.sum()
    assert winners[0].probability == pytest.approx(expected)


def test_winners_reach_the_threshold():
    spans = OPS.asarray2i([[0, 1], [3, 2]])
    distances = OPS.asarray2f([[1, 0, 1], [9, 0, 9]])
    assert len(find(spans, distances, threshold=0.5)) == 2
    assert len(find(spans, distances, threshold=0.9)) == 1
    assert find(spans, distances, threshold=1.1) == []
    assert find(spans[:0], distances[:0]) == []
    assert find(spans, distances[:, :1]) == []


def test_a_far_none_does_not_overflow():
    spans = OPS.asarray2i([[0, 1], [0, 2]])
    distances = OPS.asarray2f([[1e4, 0.0, 1.0], [0.0, 1e4, 1e4]])
    (winner,) = find(spans, distances)
    assert winner.probability == pytest.approx(1 / (1 + numpy.exp(-1)))


def test_the_best_span_wins_and_the_rest_goes_on():
    chain = [
        make_winner(0, 2, probability=0.7),
        make_winner(1, 4, probability=0.9),
        make_winner(3, 6, probability=0.8),
        make_winner(5, 7, probability=0.6),
    ]
    kept = keep_best(chain, by_probability)
    assert [(w.start, w.end) for w in kept] == [(1, 4), (5, 7)]


def test_what_is_better_can_be_chosen():
    near = make_winner(0, 2, distance=0.5, probability=0.6)
    probable = make_winner(1, 3, distance=0.9, probability=0.8)
    assert keep_best([near, probable], make_prefer_near()) == [near]
    assert keep_best([near, probable], make_prefer_probable()) == [probable]


def test_of_equals_the_longer_wins_then_the_earlier():
    kept = keep_best([make_winner(0, 1), make_winner(0, 3)], by_probability)
    assert [(w.start, w.end) for w in kept] == [(0, 3)]
    kept = keep_best([make_winner(2, 4), make_winner(1, 3)], by_probability)
    assert [(w.start, w.end) for w in kept] == [(1, 3)]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_kept_overlaps_and_nothing_dropped_would_fit(seed):
    rng = numpy.random.default_rng(seed)
    winners = [
        make_winner(start, start + width, probability=float(rng.random()))
        for start, width in zip(
            rng.integers(0, 40, 30).tolist(),
            rng.integers(1, 9, 30).tolist(),
            strict=True,
        )
    ]
    kept = keep_best(winners, by_probability)
    tokens = [i for w in kept for i in range(w.start, w.end)]
    assert len(tokens) == len(set(tokens))
    for winner in set(winners) - set(kept):
        assert not set(tokens).isdisjoint(range(winner.start, winner.end))
