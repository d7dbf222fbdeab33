"""What an adaptation trains, and when it stops."""

import numpy
import pytest
from spacy.language import Language
from spacy.training import Example
from thinc.api import NumpyOps

from spacy_epnet.adapting import adapt, make_settings
from spacy_epnet.recognizers.epnet.finetuning import choose_batch_size, iter_batches
from spacy_epnet.recognizers.epnet.pool import SpanPool
from spacy_epnet.recognizers.epnet.partial_training import HeadTuner

from .conftest import train
from .test_adapt import SUPPORT, get_weights, make_reference, mark, read_scores


@pytest.mark.parametrize(
    ("settings", "moved"),
    [
        ({"trained_layers": 0}, {"prototypes"}),
        ({"trained_layers": 1}, {"prototypes", "projection.2"}),
        (
            {"trained_layers": 3},
            {"prototypes", "projection.0", "projection.1", "projection.2"},
        ),
    ],
)
def test_what_is_trained(trained, settings, moved):
    before = get_weights(trained)
    report = adapt(trained, SUPPORT, max_steps=2, average=0, **settings)
    after = get_weights(report.nlp)
    changed = {
        name.rpartition(".")[0] or name
        for name, weight in after.items()
        if not weight.equal(before[name])
    }
    assert changed == moved
    rows = [0, *report.nlp.get_pipe("epnet_ner").prototypes.values()]
    others = [row for row in range(8) if row not in rows]
    assert after["prototypes"][others].equal(before["prototypes"][others])


@pytest.mark.parametrize("settings", [{}, {"encoder_layers": 1}])
def test_adapted_pipelines_can_be_trained_on(trained, settings):
    adapt(trained, SUPPORT, in_place=True, max_steps=5, **settings)
    examples = [
        Example(trained.make_doc(text), make_reference(trained, (text, marks)))
        for text, marks in SUPPORT
    ]
    before = get_weights(trained)
    losses = train(trained, examples, steps=20)
    assert losses["epnet_ner"] < 1
    after = get_weights(trained)
    assert not any(w.equal(before[n]) for n, w in after.items() if "bias" not in n)


def test_encoder_layers_are_trained_in_a_copy(trained):
    def weights(nlp):
        bert = nlp.get_pipe("transformer").model.layers[0].shims[0]._model
        return {n: w.detach().clone() for n, w in bert.named_parameters()}

    before, texts = weights(trained), [text for text, _ in SUPPORT]
    expected = read_scores(trained, texts)
    settings = {"encoder_layers": 1, "encoder_lr": 1e-3, "max_steps": 3}
    report = adapt(trained, SUPPORT, **settings)
    assert all(w.equal(before[n]) for n, w in weights(trained).items())
    assert read_scores(trained, texts) == expected
    changed = {
        name.split(".")[0]
        for name, weight in weights(report.nlp).items()
        if not weight.equal(before[name])
    }
    assert changed == {"encoder"}
    adapt(trained, SUPPORT, in_place=True, **settings)
    assert read_scores(trained, texts) == read_scores(report.nlp, texts)


def test_settings_that_do_not_go_together(trained):
    for settings in ({"trained_layers": 0}, {"restore_best": True}):
        with pytest.raises(ValueError, match=r"\[EP009\].*with encoder_layers"):
            make_settings(encoder_layers=1, **settings)
    with pytest.raises(ValueError, match=r"\[EP035\].*none_bias, trained_layers"):
        adapt(trained, SUPPORT, labels="extend", none_bias=1.0, trained_layers=2)


def test_a_loss_that_is_no_number_is_an_error(trained):
    with pytest.raises(ValueError, match=r"\[EP031\].*1e\+30"):
        adapt(trained, SUPPORT, lr=1e30)
    with pytest.raises(ValueError, match=r"\[EP009\].*inf"):
        adapt(trained, SUPPORT, lr=float("inf"))


def test_scores_of_the_source_are_not_passed_on(trained):
    trained.meta["performance"] = {"ents_f": 0.9}
    report = adapt(trained, SUPPORT, max_steps=2)
    assert trained.meta["performance"] == {"ents_f": 0.9}
    assert report.nlp.meta["performance"] == {}


def test_tokens_that_a_component_merges_first(trained):
    @Language.component("merge_first_two")
    def merge(doc):
        with doc.retokenize() as retokenizer:
            retokenizer.merge(doc[0:2])
        return doc

    trained.add_pipe("merge_first_two", first=True)
    support = [mark("We met Otto in Paris .", [("Otto", "PILOT")])]
    report = adapt(trained, support, max_steps=2)
    (example,) = report.nlp.get_pipe("epnet_ner").cfg["support"]
    (start, end, _), *_ = example["ents"]
    assert example["words"][start:end] == ["Otto"]


def test_it_stops_when_the_loss_is_low_enough(trained):
    report = adapt(trained, SUPPORT, lr=0.01, target_loss=0.05, max_steps=500)
    assert report.stopped == "the loss was low enough"
    assert sum(report.losses[-3:]) / 3 < 0.05 <= sum(report.losses[-4:-1]) / 3


def test_paper_stops_when_the_loss_rises(trained):
    report = adapt(trained, SUPPORT, profile="paper", lr=0.05, max_steps=500)
    assert report.stopped == "the loss stopped falling"
    *_, before, last = report.losses
    assert last >= before
    assert report.steps < 500


def test_the_best_weights_can_be_restored(trained):
    settings = {
        "lr": 0.5,
        "target_loss": 0.0,
        "average": 0,
        "dropout": 0.0,
        "resample_nones": False,
    }
    report = adapt(trained, SUPPORT, restore_best=True, max_steps=8, **settings)
    best = report.tuning.best
    assert 0 < best + 1 < len(report.losses)
    steps = max(best, 1)
    expected = adapt(trained, SUPPORT, max_steps=steps, **settings)
    after, restored = get_weights(expected.nlp), get_weights(report.nlp)
    if best:
        assert all(after[name].equal(restored[name]) for name in after)
    else:
        before = get_weights(trained)
        same = [n for n in before if n != "prototypes"]
        assert all(before[name].equal(restored[name]) for name in same)


def test_weights_are_averaged(trained):
    settings = {
        "lr": 0.01,
        "dropout": 0.0,
        "resample_nones": False,
        "target_loss": 0.0,
    }
    name = "projection.2.weight"
    weights = [
        get_weights(adapt(trained, SUPPORT, max_steps=n, average=0, **settings).nlp)
        for n in (1, 2, 3)
    ]
    first, second, third = (weight[name] for weight in weights)
    mean = adapt(trained, SUPPORT, max_steps=3, average=2, **settings)
    expected = ((first + second) / 2 + third) / 2
    numpy.testing.assert_allclose(get_weights(mean.nlp)[name], expected, atol=1e-6)


def make_pool(n_sentences):
    segments = numpy.repeat(numpy.arange(n_sentences, dtype="i"), 3)
    spans = numpy.stack([numpy.arange(len(segments)), numpy.ones_like(segments)], 1)
    zeros = numpy.zeros(len(segments), dtype="i")
    ones = (spans, zeros + 1, segments)
    return SpanPool(*ones, spans, zeros, segments, zeros.astype(bool))


@pytest.mark.parametrize(
    ("count", "settings", "sizes"),
    [
        (64, {}, [64]),
        (65, {}, [33, 32]),
        (200, {}, [50] * 4),
        (200, {"batch_size": 90}, [90, 90, 20]),
        (200, {"trained_layers": 0}, [200]),
        (200, {"encoder_layers": 1}, [200]),
    ],
)
def test_large_support_sets_are_learned_in_parts(count, settings, sizes):
    pool, ops = make_pool(count), NumpyOps()
    size = choose_batch_size(pool, make_settings("default", **settings))
    batches = list(iter_batches(pool, size, ops))
    assert [len(batch.entities) // 3 for batch in batches] == sizes
    assert all(len(batch.nones) == len(batch.entities) for batch in batches)
    seen = numpy.concatenate([batch.entity_segments for batch in batches])
    numpy.testing.assert_array_equal(numpy.sort(seen), pool.entity_segments)


def test_steps_on_a_part_of_the_tokens_are_steps_on_all(trained):
    head = trained.get_pipe("epnet_ner").model.get_ref("head")
    rng = numpy.random.default_rng(0)
    width = head.shims[0]._model.projection[0].in_features - 25
    tokens = rng.normal(size=(50, width)).astype("f")
    spans = numpy.asarray([[3, 2], [4, 5], [20, 1], [40, 10]], dtype="i")
    rows = numpy.asarray([0, 1, 2], dtype="i")
    tuner = HeadTuner(head, n_layers=3, rows=[0, 1], lr=0.1, trains_tokens=True)
    with tuner.open():
        expected, backprop = head.begin_update((tokens, spans, rows))
        gradients = tuple(numpy.ones_like(output) for output in expected)
        d_expected = backprop(gradients)
        outputs, backprop = tuner.begin_update(tokens, spans, rows, dropout=0.0)
        numpy.testing.assert_array_equal(outputs[0], expected[0])
        d_tokens = backprop(gradients)
    numpy.testing.assert_allclose(d_tokens, d_expected, atol=1e-6)
    assert numpy.abs(d_tokens).sum() > 0
