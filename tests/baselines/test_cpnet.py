"""CP-Net's mathematics, against slow direct computations."""

import numpy
import pytest
import spacy
from spacy.training import Example

from spacy_epnet import adapt
from spacy_epnet.baselines.means import get_halves_loss
from spacy_epnet.epnet.model import (
    begin_projecting,
    get_prototypes,
    project_spans,
)

from ..conftest import SMALL_TOK2VEC

SUPPORT = [
    ("Rex barked at Otto .", [(0, 3, "DOG"), (14, 18, "CAT")]),
    ("I saw Rex .", [(6, 9, "DOG")]),
]


@pytest.fixture
def nlp(references):
    nlp = spacy.blank("en")
    model = {"tok2vec": SMALL_TOK2VEC, "prototype_size": 8, "n_prototypes": 4}
    nlp.add_pipe("cpnet_ner", config={"model": model})
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    return nlp


def test_prototypes_are_the_means_of_the_support_sets_spans(nlp):
    adapted = adapt(nlp, SUPPORT, none_samples=1000, hard_nones=0.0).nlp
    pipe = adapted.get_pipe("cpnet_ner")
    head, points = pipe.model.get_ref("head"), {"DOG": [], "CAT": [], None: []}
    for text, ents in SUPPORT:
        doc = adapted.make_doc(text)
        tokens = pipe.encode([doc])
        spans = {
            (doc.char_span(s, e).start, doc.char_span(s, e).end): t for s, e, t in ents
        }
        for start in range(len(doc)):
            for end in range(start + 1, len(doc) + 1):
                span = numpy.asarray([[start, end - start]], dtype="i")
                point = project_spans(head, tokens, span)[0]
                points[spans.get((start, end))].append(point)
    found = get_prototypes(head)
    rows = {None: 0, **pipe.prototypes}
    for label, members in points.items():
        expected = sum(members) / len(members)
        numpy.testing.assert_allclose(found[rows[label]], expected, atol=1e-4)


def test_only_new_types_get_prototypes_when_they_join(nlp):
    before = get_prototypes(nlp.get_pipe("cpnet_ner").model.get_ref("head")).copy()
    pipe = adapt(nlp, SUPPORT, extend=True).nlp.get_pipe("cpnet_ner")
    after = get_prototypes(pipe.model.get_ref("head"))
    new = sorted(pipe.prototypes[label] for label in ("DOG", "CAT"))
    kept = [row for row in range(len(before)) if row not in new]
    numpy.testing.assert_array_equal(after[kept], before[kept])
    assert len(pipe.generations) == 2


def test_gradients_reach_the_tokens(nlp):
    head = nlp.get_pipe("cpnet_ner").model.get_ref("head")
    rng = numpy.random.default_rng(0)
    width = nlp.get_pipe("cpnet_ner").encode([nlp.make_doc("a")]).shape[1]
    tokens = rng.normal(size=(6, width)).astype("f")
    spans = numpy.asarray([[0, 2], [1, 1], [3, 1], [2, 4]], dtype="i")
    weights = rng.normal(size=(4, 8)).astype("f")
    _, backprop = begin_projecting(head, tokens, spans)
    gradient = backprop(weights)
    for place in [(0, 0), (1, 3), (3, 2), (5, 1)]:
        moved = [tokens.copy(), tokens.copy()]
        moved[0][place] += 1e-2
        moved[1][place] -= 1e-2
        high, low = ((project_spans(head, t, spans) * weights).sum() for t in moved)
        assert gradient[place] == pytest.approx((high - low) / 2e-2, abs=2e-3)


def test_prototypes_follow_the_means_of_batches(nlp):
    pipe = nlp.get_pipe("cpnet_ner")
    head = pipe.model.get_ref("head")
    before = get_prototypes(head).copy()
    points = numpy.arange(24, dtype="f").reshape(3, 8)
    targets = numpy.asarray([1, 1, 0], dtype="i")
    pipe.move_prototypes(points, targets, {0: 0, 1: 2, 2: 1}, inertia=0.75)
    after = get_prototypes(head)
    mean = (points[0] + points[1]) / 2
    numpy.testing.assert_allclose(after[2], 0.75 * before[2] + 0.25 * mean, rtol=1e-5)
    numpy.testing.assert_allclose(after[0], 0.75 * before[0] + 0.25 * points[2])
    numpy.testing.assert_array_equal(after[[1, 3]], before[[1, 3]])


def test_each_half_of_a_batch_is_judged_by_the_other():
    points = numpy.asarray([[0.0], [1.0], [0.2], [0.8]])
    columns, docs = numpy.asarray([0, 1, 0, 1]), numpy.asarray([0, 0, 1, 1])
    loss, gradient = get_halves_loss(points, columns, docs)
    # Every point is 0.2 from the mean of its own type and 0.8 from the other.
    own, other = numpy.exp(-(0.2**2)), numpy.exp(-(0.8**2))
    assert loss == pytest.approx(-numpy.log(own / (own + other)))
    assert gradient.any()
