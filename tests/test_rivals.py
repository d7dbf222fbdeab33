"""Source types that none of the examples is like."""

import numpy
import pytest
import spacy

from spacy_epnet.adapting import adapt
from spacy_epnet.recognizers.epnet.losses import get_loss
from spacy_epnet.recognizers.epnet.rivals import choose_rivals, merge_rivals

from .conftest import get_ents
from .test_adapt import FAST, SUPPORT, get_weights
from .test_tokens import check_gradient

KNOWN = {"a:CITY": 1, "a:RIVER": 2, "b:TOWN": 3, "b:LAKE": 4}
FAMILIES = {label: label[0] for label in KNOWN}
# None's is far from all of them.
PROTOTYPES = numpy.asarray([[9, 9], [0, 0], [0, 5], [0, 1], [0, 6]], dtype="f")


def choose(points, members, share=0.02):
    arrays = numpy.asarray(points, dtype="f"), numpy.asarray(members, dtype="f")
    return choose_rivals(*arrays, PROTOTYPES, KNOWN, FAMILIES, share=share)


def test_types_that_no_example_is_like_are_rivals():
    # Each corpus judges for itself, so that a city may be a town as well.
    assert choose([[0, 0.2]], [[1.0]]) == [2, 4]
    assert choose([[0, 0.2], [0, 5.5]], [[1.0, 0.0], [0.0, 1.0]]) == []
    assert choose([[0, 0.2]], [[1.0]], share=0.0) == []


def test_rivals_count_as_none():
    distances = numpy.asarray([[3.0, 2.5, 4.0, 1.0, 2.0]])
    merged, _ = merge_rivals(distances, 2)
    expected = -numpy.log(numpy.exp([-3.0, -1.0, -2.0]).sum())
    numpy.testing.assert_allclose(merged, [[expected, 2.5, 4.0]])
    # Without the rivals the span would be of the first type.
    assert distances[:, :3].argmin() == 1
    assert merged.argmin() == 0
    assert merge_rivals(distances, 0)[0] is distances


def test_the_gradient_reaches_rivals():
    rng = numpy.random.default_rng(0)
    distances, prototypes = rng.random((6, 7)), rng.random((7, 4))
    targets = numpy.asarray([0, 1, 2, 3, 0, 2])

    def get_total(some_distances):
        outputs = some_distances, prototypes
        *parts, _ = get_loss(outputs, targets, tau=2.0, n_rivals=3)
        return sum(parts)

    _, dispersion, (gradient, d_prototypes) = get_loss(
        (distances, prototypes), targets, tau=2.0, n_rivals=3
    )
    check_gradient(get_total, distances, gradient)
    assert abs(gradient[:, -3:]).min() > 0
    # Only the prototypes of None and of types are dispersed.
    assert dispersion > 0
    assert not d_prototypes[-3:].any()
    assert abs(d_prototypes[:-3]).max() > 0


@pytest.fixture
def adapted(trained):
    """A source, and the same adapted, with all of its types as rivals."""
    report = adapt(trained, SUPPORT, rivals=1.0, **FAST)
    return trained, report.nlp


def test_rivals_stay_where_they_are(adapted):
    source, nlp = adapted
    pipe = nlp.get_pipe("epnet_ner")
    rivals = pipe.learned["rivals"]
    assert set(rivals) == set(source.get_pipe("epnet_ner").prototypes.values())
    assert not set(rivals) & set(pipe.prototypes.values())
    before, after = (get_weights(part)["prototypes"][rivals] for part in adapted)
    assert after.equal(before)


def test_rivals_are_saved(adapted, tmp_path):
    _, nlp = adapted
    texts = [text for text, _ in SUPPORT]
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    pipes = [part.get_pipe("epnet_ner") for part in (nlp, again)]
    assert pipes[0].learned["rivals"] == pipes[1].learned["rivals"] != []
    found = [[get_ents(doc) for doc in part.pipe(texts)] for part in (nlp, again)]
    assert found[0] == found[1]
    assert sum(map(len, found[0]))


def test_types_that_join_leave_rivals_alone(adapted):
    _, nlp = adapted
    rivals = list(nlp.get_pipe("epnet_ner").learned["rivals"])
    more = [
        ("Ada ate bread.", [(8, 13, "FOOD")]),
        ("Otto ate rice.", [(9, 13, "FOOD")]),
    ]
    grown = adapt(nlp, more, labels="extend").nlp.get_pipe("epnet_ner")
    assert grown.learned["rivals"] == rivals
    assert not set(rivals) & set(grown.prototypes.values())


def test_without_the_setting_there_are_none(trained):
    pipe = adapt(trained, SUPPORT, rivals=0.0, max_steps=1).nlp.get_pipe("epnet_ner")
    assert pipe.learned["rivals"] == []


def test_probabilities_of_an_explanation_are_those_of_the_prediction(adapted):
    _, nlp = adapted
    pipe = nlp.get_pipe("epnet_ner")
    doc = nlp(SUPPORT[0][0])
    group = doc.spans["epnet_ner"]
    assert len(group)
    spans = pipe.model.ops.asarray2i([[s.start, s.end - s.start] for s in group])
    rated = pipe.rate(pipe.encode([doc]), spans)
    for span, score, found in zip(group, group.attrs["scores"], rated, strict=True):
        assert found[span.label_] == pytest.approx(float(score), abs=1e-5)
