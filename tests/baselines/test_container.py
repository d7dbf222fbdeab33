"""CONTaiNER: Gaussians of tokens, and training on a support set with the encoder."""

import numpy
import pytest
import spacy
import torch
from spacy.training import Example
from spacy.util import load_model_from_config
from thinc.api import Config
from torch.distributions import Independent, Normal, kl_divergence

from spacy_epnet import adapt
from spacy_epnet.baselines.tokens.gaussians import (
    Gaussians,
    get_contrastive_loss,
    get_divergences,
    get_mean_distances,
)
from spacy_epnet.recognizer.gold import UNKNOWN
from spacy_epnet.recognizer.task import split_evenly
from spacy_epnet.training.config import make_training_config

from ..conftest import add_pipe, get_ents, train
from ..util.adapting_tools import SUPPORT
from ..util.gradients import check_gradient

COLUMNS = numpy.asarray([0, 1, 0, 2, UNKNOWN, 1, 0, 3])


@pytest.fixture
def rng():
    return numpy.random.default_rng(0)


@pytest.fixture
def gaussians(rng):
    return Gaussians(rng.normal(size=(8, 4)), rng.uniform(0.2, 2, size=(8, 4)))


def test_divergences_are_those_of_torch(gaussians):
    means, variances = map(torch.as_tensor, gaussians)
    every = [
        Independent(Normal(mean, variance.sqrt()), 1)
        for mean, variance in zip(means, variances, strict=True)
    ]
    found = get_divergences(gaussians)
    for i, first in enumerate(every):
        for j, second in enumerate(every):
            both = kl_divergence(first, second) + kl_divergence(second, first)
            assert found[i, j] == pytest.approx(float(both) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("distance", "measure"),
    [("divergence", get_divergences), ("means", get_mean_distances)],
)
def test_the_contrastive_loss_and_its_gradient(gaussians, distance, measure):
    likeness = numpy.exp(-measure(gaussians))
    known = [i for i in range(8) if COLUMNS[i] != UNKNOWN]
    expected = []
    for i in known:
        alike = [j for j in known if j != i and COLUMNS[j] == COLUMNS[i]]
        if alike:
            near = sum(likeness[i, j] for j in alike) / len(alike)
            total = sum(likeness[i, j] for j in known if j != i)
            expected.append(-numpy.log(near / total))
    assert len(expected) == 5  # two types have a single token
    loss, gradient = get_contrastive_loss(gaussians, COLUMNS, distance)
    assert loss == pytest.approx(sum(expected) / 5)
    for part in Gaussians._fields:
        check_gradient(
            lambda moved, part=part: get_contrastive_loss(
                gaussians._replace(**{part: moved}), COLUMNS, distance
            )[0],
            getattr(gaussians, part),
            getattr(gradient, part),
        )
    nothing, zero = get_contrastive_loss(gaussians, numpy.arange(8), distance)
    assert (nothing, zero.means.any(), zero.variances.any()) == (0.0, False, False)


def test_the_gradient_of_the_layer(rng):
    layer = add_pipe("container_ner").model.get_ref("gaussians")
    layer.initialize(X=numpy.zeros((0, 3), dtype="f"))
    for name in layer.param_names:
        layer.set_param(name, rng.normal(size=layer.get_param(name).shape))
    tokens = rng.normal(size=(8, 3))
    made, backprop = layer(tokens, is_train=True)
    assert made.variances.min() > 0
    _, gradient = get_contrastive_loss(made, COLUMNS, "divergence")

    def get_loss(moved):
        return get_contrastive_loss(layer.predict(moved), COLUMNS, "divergence")[0]

    check_gradient(get_loss, tokens, backprop(gradient))
    weights = layer.get_param("variance_W").copy()

    def get_loss_of_weights(moved):
        layer.set_param("variance_W", moved)
        return get_loss(tokens)

    check_gradient(get_loss_of_weights, weights, layer.get_grad("variance_W"))


@pytest.fixture(scope="module")
def source(tiny_encoder, references):
    """A pipeline with a transformer, which has learned something."""
    overrides = {"components.transformer.model.mixed_precision": False}
    text = make_training_config("container_ner", str(tiny_encoder))
    config = Config().from_str(text, overrides=overrides, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=True)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    train(nlp, examples, steps=5, learn_rate=0.001)
    return nlp


def read_encoder(nlp):
    return nlp.get_pipe("transformer").model.to_bytes()


def test_the_encoder_is_trained_and_the_source_keeps_its_own(source, tmp_path):
    before = source.to_bytes(exclude=["vocab"])
    report = adapt(source, SUPPORT, lr=0.001, max_steps=8)
    assert source.to_bytes(exclude=["vocab"]) == before
    assert read_encoder(report.nlp) != read_encoder(source)
    losses = report.learning.details["losses"]
    assert losses[0] > losses[-2]
    assert f"{len(losses) - 1} steps" in report.learning.summary
    text, marks = SUPPORT[0]
    expected = get_ents(report.nlp(text))
    assert {label for *_, label in expected} == {label for *_, label in marks}
    report.nlp.to_disk(tmp_path / "adapted")
    assert get_ents(spacy.load(tmp_path / "adapted")(text)) == expected


def test_it_stops_when_the_loss_rises(source):
    report = adapt(source, SUPPORT, lr=0.5, max_steps=20)
    *fallen, last = report.learning.details["losses"]
    assert fallen == sorted(fallen, reverse=True)
    assert last >= fallen[-1]
    assert len(fallen) < 20
    kept = adapt(source, SUPPORT, max_steps=0).nlp
    assert read_encoder(kept) == read_encoder(source)


def test_a_loss_that_is_no_number_is_an_error(source, monkeypatch):
    pipe = type(source.get_pipe("container_ner"))
    monkeypatch.setattr(pipe, "measure_loss", lambda *args: float("nan"))
    with pytest.raises(ValueError, match=r"1 steps"):
        adapt(source, SUPPORT)


def test_one_shot_compares_means(source):
    one = adapt(source, SUPPORT[:1], max_steps=1)
    assert one.nlp.get_pipe("container_ner").cfg["distance"] == "means"
    assert source.get_pipe("container_ner").cfg["distance"] == "divergence"


def test_types_that_join_others_leave_the_encoder_alone(source):
    report = adapt(source, SUPPORT, extend=True)
    assert read_encoder(report.nlp) == read_encoder(source)


def test_in_place(source):
    nlp = adapt(source, SUPPORT, max_steps=0).nlp  # one of its own
    before = read_encoder(nlp)
    expected = adapt(nlp, SUPPORT, lr=0.001, max_steps=3).nlp
    adapt(nlp, SUPPORT, lr=0.001, max_steps=3, in_place=True)
    assert read_encoder(nlp) == read_encoder(expected) != before
    texts = [text for text, _ in SUPPORT]
    assert [get_ents(doc) for doc in nlp.pipe(texts)] == [
        get_ents(doc) for doc in expected.pipe(texts)
    ]


def test_an_encoder_that_others_need_is_not_trained(source, references):
    nlp = adapt(source, SUPPORT, max_steps=0).nlp
    config = nlp.get_pipe_config("container_ner")
    nlp.add_pipe(
        "nnshot_ner", config={"model": {"tok2vec": config["model"]["tok2vec"]}}
    )
    with pytest.raises(ValueError, match=r"nnshot_ner.*replace_listeners"):
        adapt(nlp, SUPPORT, name="container_ner")


def test_large_support_sets_are_learned_in_parts(source):
    assert [part.stop - part.start for part in split_evenly([5] * 130)] == [44, 44, 44]
    assert split_evenly([5] * 64) == [slice(0, 64)]
    assert len(split_evenly([300] * 64)) == 5
    report = adapt(source, SUPPORT * 30, lr=0.0005, max_steps=2)
    losses = report.learning.details["losses"]
    assert losses[0] > losses[1]
