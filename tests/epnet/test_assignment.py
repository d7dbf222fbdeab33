import numpy
import pytest
import spacy

from spacy_epnet.adapting import adapt
from spacy_epnet.epnet.assignment import (
    MAX_NAME_WEIGHT,
    Assignment,
    draw_rows,
    get_distances,
    get_log_shares,
    get_weights,
    list_free,
)
from spacy_epnet.epnet.names import get_cosines
from spacy_epnet.recognizer.pipeline import get_words

from ..util.adapting_tools import SUPPORT

RNG = numpy.random.default_rng(0)


def test_rows_of_the_first_kind_are_assigned_first():
    labels = [f"T{i}" for i in range(6)]
    rows = draw_rows(labels, [3, 5, 7], [1, 2], size=9, seed=0)
    assert {rows[f"T{i}"] for i in range(3)} == {3, 5, 7}
    assert {rows["T3"], rows["T4"]} == {1, 2}
    assert rows["T5"] == 9
    assert rows == draw_rows(labels, [3, 5, 7], [1, 2], size=9, seed=0)
    others = [draw_rows(labels, [3, 5, 7], [1, 2], size=9, seed=s) for s in range(9)]
    assert any(other != rows for other in others)


def test_free_rows_are_neither_nones_nor_taken():
    assert list_free([2, 3], 6) == [1, 4, 5]


def test_shares_are_a_softmax_of_negative_distances():
    points, centers = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
    distances = get_distances(points, centers)
    assert distances[1, 2] == pytest.approx(((points[1] - centers[2]) ** 2).sum())
    shares = numpy.exp(get_log_shares(distances))
    likelihoods = numpy.exp(-distances)
    expected = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(shares, expected)
    assert get_weights(numpy.asarray([[900.0, 900.0]])).tolist() == [[0.5, 0.5]]


def test_cosines():
    cosines = get_cosines(numpy.eye(2) * 3, numpy.asarray([[2.0, 0.0], [1.0, 1.0]]))
    numpy.testing.assert_allclose(cosines, [[1, 0.5**0.5], [0, 0.5**0.5]])
    assert not get_cosines(numpy.zeros((1, 2)), numpy.eye(2)).any()


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("creative-work", "creative work"),
        ("WORK_OF_ART", "work of art"),
        ("workOfArt", "work of art"),
        ("location-road/railway", "location road railway"),
        ("GPE", "gpe"),
        ("人物", "人物"),
        ("--", "--"),
    ],
)
def test_names_are_read_as_words(label, words):
    assert get_words(label) == words


def get_start(nlp, **settings):
    """The prototypes before any step has moved them."""
    report = adapt(nlp, SUPPORT, lr=1e-12, max_steps=1, average=0, **settings)
    network = report.nlp.get_pipe("epnet_ner").model.get_ref("head").shims[0]._model
    return report, network.prototypes.detach().numpy()


RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}


def test_random_takes_prototypes_of_the_source(trained):
    report, _ = get_start(trained, assignment=RANDOM)
    rows = {assigned.row for assigned in report.learning.assignments.values()}
    assert rows == {1, 2}


def test_types_of_an_untrained_table_begin_with_free_prototypes(trained):
    pipe = trained.get_pipe("epnet_ner")
    pipe.learned["ever_assigned"] = {}
    report, _ = get_start(trained)
    city = report.learning.assignments["CITY"]
    assert (city.origins, city.describe_origins()) == ({}, "no source type")
    assert city.row > 0


def test_mixtures_lie_between_the_source_types_that_they_are_like(trained):
    report, prototypes = get_start(trained, assignment={"name_weight": 0.0})
    for label, source in (("PILOT", "PERSON"), ("CITY", "PLACE")):
        row, origins, _ = report.learning.assignments[label]
        assert row > 2
        assert sum(origins.values()) == pytest.approx(1)
        assert max(origins, key=origins.get) == source
        mixture = origins["PERSON"] * prototypes[1] + origins["PLACE"] * prototypes[2]
        numpy.testing.assert_allclose(prototypes[row], mixture, atol=1e-5)


def test_names_decide_when_they_weigh_enough(trained):
    names = {"PILOT": "a place", "CITY": "a person"}
    support = [(text, [(s, e, names[n]) for s, e, n in m]) for text, m in SUPPORT]
    for weight, expected in ((0.0, "PERSON"), (1e4, "PLACE")):
        changes = {"assignment": {"name_weight": weight}, "max_steps": 1}
        learning = adapt(trained, support, **changes).learning
        origins = learning.assignments["a place"].origins
        assert max(origins, key=origins.get) == expected


@pytest.mark.parametrize("weight", [1e300, -1.0, float("nan"), float("inf")])
def test_weights_of_names_that_make_no_sense_are_refused(trained, weight):
    with pytest.raises(ValueError, match=r"name_weight.*from 0 to 1000000"):
        adapt(trained, SUPPORT, assignment={"name_weight": weight})


def test_the_largest_weight_of_names_is_none_too_large(trained):
    changes = {"assignment": {"name_weight": MAX_NAME_WEIGHT}, "max_steps": 2}
    losses = adapt(trained, SUPPORT, **changes).learning.details["losses"]
    assert numpy.isfinite(losses).all()


def test_others_can_add_ways_to_assign(trained):
    @spacy.registry.misc("tests.last_rows.v1")
    def make_last_rows(offset: int):
        def assign(labels, evidence):
            last = len(evidence.prototypes) - offset
            return {label: Assignment(last - i, {}) for i, label in enumerate(labels)}

        return assign

    block = {"@misc": "tests.last_rows.v1", "offset": 1}
    report, _ = get_start(trained, assignment=block)
    assert report.nlp.get_pipe("epnet_ner").prototypes == {"CITY": 7, "PILOT": 6}
    assert report.settings["assignment"] == block


def test_distances_take_no_memory_for_each_pair():
    import tracemalloc

    points, centers = RNG.normal(size=(2000, 512)), RNG.normal(size=(36, 512))
    tracemalloc.start()
    get_distances(points.astype("f"), centers.astype("f"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_the_prototypes_of_the_source_are_kept_for_later(trained):
    first = adapt(trained, SUPPORT, max_steps=5)
    again = adapt(first.nlp, [("Ada left .", [(0, 3, "PERSON")])], max_steps=5)
    assert again.learning.assignments["PERSON"].row == 1


def test_names_of_types_are_encoded_once_until_the_encoder_learns(
    trained, examples, monkeypatch
):
    encoded = []
    make_doc = trained.make_doc
    monkeypatch.setattr(
        trained, "make_doc", lambda text: encoded.append(text) or make_doc(text)
    )
    first = adapt(trained, SUPPORT)
    types = [*trained.get_pipe("epnet_ner").labels, *first.counts]
    known = {get_words(label) for label in types}
    assert known < {*encoded}
    encoded.clear()
    second = adapt(trained, SUPPORT)
    assert not known & {*encoded}
    assert first.learning.details == second.learning.details
    trained.update(examples[:2], sgd=trained.create_optimizer())
    # Which types were adapted to before makes no difference.
    adapt(trained, [("Ada left .", [(0, 3, "SOMEBODY OR OTHER")])])
    third = adapt(trained, SUPPORT)
    assert known < {*encoded}
    encoded.clear()
    trained.from_bytes(trained.to_bytes())
    fourth = adapt(trained, SUPPORT)
    assert known < {*encoded}
    assert third.learning.details == fourth.learning.details
