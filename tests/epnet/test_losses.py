import numpy
import pytest

from spacy_epnet.epnet.losses import get_dispersion_loss, get_span_loss
from spacy_epnet.epnet.prototypes import get_dispersion, get_initial_scale

RNG = numpy.random.default_rng(0)


def differentiate(function, at, step=1e-6):
    """Central differences, one number after the other."""
    gradient = numpy.zeros_like(at)
    for index in numpy.ndindex(*at.shape):
        shift = numpy.zeros_like(at)
        shift[index] = step
        gradient[index] = (function(at + shift) - function(at - shift)) / (2 * step)
    return gradient


def test_span_loss_is_cross_entropy_of_negative_distances():
    distances = RNG.uniform(0, 9, size=(7, 4))
    targets = numpy.asarray([0, 1, 2, 3, 0, 1, 0])
    likelihoods = numpy.exp(-distances)
    probabilities = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    expected = -numpy.log(probabilities[range(7), targets]).mean()
    loss, _ = get_span_loss(distances, targets)
    assert loss == pytest.approx(expected)


def test_span_loss_gradient_agrees_with_finite_differences():
    distances = RNG.uniform(0, 9, size=(7, 4))
    targets = numpy.asarray([0, 1, 2, 3, 0, 1, 0])
    _, gradient = get_span_loss(distances, targets)
    expected = differentiate(lambda d: get_span_loss(d, targets)[0], distances)
    numpy.testing.assert_allclose(gradient, expected, atol=1e-8)


def test_span_loss_is_finite_for_distances_that_underflow():
    loss, gradient = get_span_loss(numpy.asarray([[0.0, 5000.0]]), numpy.asarray([1]))
    assert loss == pytest.approx(5000)
    numpy.testing.assert_allclose(gradient, [[-1, 1]])


def test_no_spans_lose_nothing():
    loss, gradient = get_span_loss(numpy.zeros((0, 3)), numpy.zeros(0, dtype="i"))
    assert loss == 0
    assert gradient.shape == (0, 3)


def test_dispersion_equals_the_double_sum():
    prototypes = RNG.normal(size=(9, 5)) + 3
    differences = prototypes[:, None] - prototypes[None]
    assert get_dispersion(prototypes) == pytest.approx((differences**2).sum() / 81)


@pytest.mark.parametrize("tau", [0.5, 2.0, 50.0])
def test_dispersion_loss_gradient_agrees_with_finite_differences(tau):
    prototypes = RNG.normal(size=(9, 5))
    loss, gradient = get_dispersion_loss(prototypes, tau)
    assert loss == pytest.approx(numpy.log(abs(get_dispersion(prototypes) - tau) + 1))
    expected = differentiate(lambda p: get_dispersion_loss(p, tau)[0], prototypes)
    numpy.testing.assert_allclose(gradient, expected, atol=1e-8)


@pytest.mark.parametrize("tau", [1.0, 2.0, 3.0])
def test_initial_scale_gives_the_dispersion_asked_for(tau):
    prototypes = RNG.normal(scale=get_initial_scale(tau, 512), size=(101, 512))
    assert get_dispersion(prototypes) == pytest.approx(tau, rel=0.05)
