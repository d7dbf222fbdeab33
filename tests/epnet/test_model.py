import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc
from thinc.api import Adam, Model, NumpyOps

from spacy_epnet.encoder.optimizer import scale_rates
from spacy_epnet.epnet.losses import get_dispersion_loss, get_span_loss
from spacy_epnet.epnet.model import (
    COSINE_RADIUS,
    build_epnet_model,
    measure_spans,
    project_spans,
)
from spacy_epnet.epnet.network import pool_spans, square_distances
from spacy_epnet.epnet.prototypes import get_dispersion
from spacy_epnet.recognizer.spans import get_candidates, get_layout

OPS = NumpyOps()
WIDTH = 6


def make_tok2vec(dtype="f"):
    """Token vectors that depend on nothing but the place in the batch."""
    rng = numpy.random.default_rng(0)
    table = rng.normal(size=(100, WIDTH)).astype(dtype)

    def forward(model, docs, is_train):
        ends = numpy.cumsum([len(doc) for doc in docs]).tolist()
        vectors = numpy.split(table[: ends[-1]], ends[:-1])

        def backprop(d_vectors):
            model.attrs["gradient"] = d_vectors
            return docs

        return vectors, backprop

    return Model("places", forward)


def make_batch(max_width=3):
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words.split()) for words in ("a b c d e", "f", "g h i")]
    return docs, get_candidates(get_layout(docs, ops=OPS), max_width, ops=OPS)


def make_model(**settings):
    sizes = {"max_width": 3, "width_size": 2, "prototype_size": 4, "n_prototypes": 5}
    model = build_epnet_model(
        make_tok2vec(settings.pop("dtype", "f")), **sizes | settings
    )
    docs, spans = make_batch()
    rows = OPS.asarray1i([0, 2, 4])
    model.initialize(X=(docs, spans, rows))
    return model, (docs, spans, rows)


def get_network(model):
    return model.get_ref("head").shims[0]._model


def test_pooling_agrees_with_a_loop():
    rng = numpy.random.default_rng(1)
    tokens = torch.tensor(rng.normal(size=(40, 5)))
    spans = [(start, width) for start in (0, 21, 3) for width in range(1, 20)]
    spans += [(0, 40), (1, 39), (39, 1)]
    starts, widths = torch.tensor(spans).T
    pooled = pool_spans(tokens, starts, widths)
    for row, (start, width) in zip(pooled, spans, strict=True):
        assert (row == tokens[start : start + width].amax(dim=0)).all()
    assert pool_spans(tokens, starts[:0], widths[:0]).shape == (0, 5)


def test_distances_are_squared_and_euclidean():
    points, centers = torch.randn(7, 5), torch.randn(4, 5)
    expected = torch.cdist(points, centers) ** 2
    torch.testing.assert_close(square_distances(points, centers), expected)


@pytest.mark.parametrize(
    "settings", [{}, {"similarity": "cosine"}, {"depth": 1}, {"depth": 2}]
)
def test_folding_tells_the_distances_but_for_the_norms_of_spans(settings):
    model, (docs, spans, rows) = make_model(**settings)
    head = model.get_ref("head")
    tokens = model.get_ref("flat_tokens").predict(docs)
    found, _ = model.predict((docs, spans, rows))
    (distances,) = measure_spans(head, tokens, spans, [rows])
    points = project_spans(head, tokens, spans)
    norms = (points**2).sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(found + norms, distances, rtol=1e-4, atol=1e-5)


def test_cosine_ignores_length():
    model, inputs = make_model(similarity="cosine")
    distances, _ = model.predict(inputs)
    # The squared norm of a projected span is left out.
    assert distances.min() >= -(COSINE_RADIUS**2) - 1e-4
    assert distances.max() <= 3 * COSINE_RADIUS**2 + 1e-4
    network = get_network(model)
    with torch.no_grad():
        network.prototypes *= 10
    again, _ = model.predict(inputs)
    numpy.testing.assert_allclose(distances, again, atol=1e-4)


def test_prototypes_start_at_the_dispersion_asked_for():
    for dispersion in (2.0, 3.0):
        model, inputs = make_model(
            prototype_size=512, n_prototypes=101, initial_dispersion=dispersion
        )
        _, prototypes = model.predict(inputs)
        assert prototypes.shape == (101, 512)
        assert get_dispersion(prototypes) == pytest.approx(dispersion, rel=0.05)


@pytest.mark.parametrize("edges", [True, False])
def test_a_span_is_known_by_its_edges(edges):
    model, _ = make_model(edges=edges)
    head = model.get_ref("head")
    tokens = OPS.asarray2f(numpy.random.default_rng(1).normal(size=(3, WIDTH)))
    rows = OPS.asarray1i([0, 1])
    spans = OPS.asarray2i([[0, 3]])
    forwards, _ = head.predict((tokens, spans, rows))
    backwards, _ = head.predict((tokens[::-1].copy(), spans, rows))
    assert numpy.allclose(forwards, backwards) is not edges


def test_edges_are_the_same_for_few_spans_as_for_many():
    model, (docs, spans, rows) = make_model()
    many, _ = model.predict((docs, spans, rows))
    few, _ = model.predict((docs, spans[:4], rows))
    assert len(few) < sum(map(len, docs)) < len(many)
    numpy.testing.assert_allclose(few, many[:4], rtol=1e-5)


@pytest.mark.parametrize(
    "settings", [{}, {"similarity": "cosine"}, {"edges": False}, {"depth": 1}]
)
def test_gradients_agree_with_finite_differences(settings):
    model, (docs, spans, rows) = make_model(**settings, dtype="d")
    network = get_network(model).double()
    targets = numpy.arange(len(spans)) % 3
    tau = 1.0

    def get_loss():
        distances, prototypes = model.predict((docs, spans, rows))
        return (
            get_span_loss(distances, targets)[0]
            + get_dispersion_loss(prototypes, tau)[0]
        )

    (distances, prototypes), backprop = model.begin_update((docs, spans, rows))
    backprop(
        (
            get_span_loss(distances, targets)[1],
            get_dispersion_loss(prototypes, tau)[1],
        )
    )
    step = 1e-6
    rng = numpy.random.default_rng(0)
    for name, weights in network.named_parameters():
        flat, gradient = weights.data.view(-1), weights.grad.view(-1)
        for i in rng.choice(len(flat), size=min(len(flat), 20), replace=False):
            value = float(flat[i])
            losses = []
            for sign in (1, -1):
                flat[i] = value + sign * step
                losses.append(get_loss())
            flat[i] = value
            expected = (losses[0] - losses[1]) / (2 * step)
            assert float(gradient[i]) == pytest.approx(expected, abs=1e-7), name

    table = model.get_ref("tok2vec")._func.__closure__[0].cell_contents
    received = numpy.concatenate(model.get_ref("tok2vec").attrs["gradient"])
    for index in [(0, 0), (4, 3), (5, 1), (8, 5)]:
        value = table[index]
        losses = []
        for sign in (1, -1):
            table[index] = value + sign * step
            losses.append(get_loss())
        table[index] = value
        expected = (losses[0] - losses[1]) / (2 * step)
        assert received[index] == pytest.approx(expected, abs=1e-7)


def test_dropout_follows_the_rate_and_is_off_in_prediction():
    model, inputs = make_model()
    head = model.get_ref("head")
    plain, _ = model.predict(inputs)
    head.attrs["dropout_rate"] = 0.5
    (dropped, _), _ = model.begin_update(inputs)
    assert not numpy.allclose(plain, dropped)
    predicted, _ = model.predict(inputs)
    numpy.testing.assert_array_equal(plain, predicted)


def test_growing_keeps_the_prototypes_there_are():
    model, inputs = make_model()
    before, prototypes = model.predict(inputs)
    prototypes = prototypes.copy()
    model.attrs["resize_output"](model, 9)
    after, grown = model.predict(inputs)
    assert len(grown) == 9
    numpy.testing.assert_array_equal(grown[:5], prototypes)
    numpy.testing.assert_array_equal(before, after)
    model.attrs["resize_output"](model, 3)
    assert len(model.predict(inputs)[1]) == 9


def test_spans_longer_than_the_longest_width_share_its_embedding():
    model, (docs, _, rows) = make_model()
    inputs = docs, OPS.asarray2i([[0, 2], [0, 3], [0, 4], [0, 5]]), rows
    before, _ = model.predict(inputs)
    with torch.no_grad():
        get_network(model).width_embeddings.weight[2] += 1
    after, _ = model.predict(inputs)
    changed = (before != after).any(axis=1)
    assert changed.tolist() == [False, True, True, True]


def test_the_learning_rate_is_scaled():
    changes = {}
    for scale in (1.0, 5.0):
        spacy.util.fix_random_seed(0)
        model, inputs = make_model(learn_rate_scale=scale)
        before = get_network(model).prototypes.detach().clone()
        (distances, prototypes), backprop = model.begin_update(inputs)
        backprop((numpy.ones_like(distances), numpy.ones_like(prototypes)))
        model.finish_update(scale_rates(Adam(0.001), model))
        changes[scale] = (get_network(model).prototypes - before).detach().numpy()
    assert abs(changes[1.0]).max() == pytest.approx(0.001, rel=0.01)
    numpy.testing.assert_allclose(changes[5.0], 5 * changes[1.0], rtol=0.01)


@pytest.mark.parametrize(
    "setting", ["max_width", "depth", "n_prototypes", "width_size"]
)
def test_sizes_must_be_above_zero(setting):
    with pytest.raises(ValueError, match=rf"{setting}"):
        make_model(**{setting: 0})
