"""What an adaptation trains, and when it stops."""

import numpy
import pytest
from spacy.language import Language
from spacy.training import Example
from thinc.api import NumpyOps

from spacy_epnet.adapting import adapt
from spacy_epnet.epnet.finetuning import (
    PartialTraining,
    choose_batch_size,
    iter_batches,
)
from spacy_epnet.errors import SupportError
from spacy_epnet.recognizer.spans import SpanPool

from ..conftest import train
from ..util.adapting_tools import SUPPORT, get_network_weights, make_reference, mark


@pytest.mark.parametrize(
    ("extend", "moved"),
    [
        (True, {"prototypes"}),
        (
            False,
            {
                "prototypes",
                *(f"projection.{i}" for i in range(3)),
                "edges.0",
                "edges.1",
            },
        ),
    ],
)
def test_what_is_trained(trained, extend, moved):
    before = get_network_weights(trained)
    report = adapt(trained, SUPPORT, extend=extend, max_steps=2, average=0)
    after = get_network_weights(report.nlp)
    changed = {
        name.rpartition(".")[0] or name
        for name, weight in after.items()
        if not weight.equal(before[name])
    }
    assert changed == moved
    rows = [0, *report.nlp.get_pipe("epnet_ner").prototypes.values()]
    others = [row for row in range(8) if row not in rows]
    assert after["prototypes"][others].equal(before["prototypes"][others])


def test_adapted_pipelines_can_be_trained_on(trained):
    adapt(trained, SUPPORT, in_place=True, max_steps=5)
    examples = [
        Example(trained.make_doc(text), make_reference(trained, (text, marks)))
        for text, marks in SUPPORT
    ]
    before = get_network_weights(trained)
    losses = train(trained, examples, steps=20)
    assert losses["epnet_ner"] < 1
    after = get_network_weights(trained)
    assert not any(w.equal(before[n]) for n, w in after.items() if "bias" not in n)


def test_a_loss_that_is_no_number_is_an_error(trained):
    with pytest.raises(ValueError, match=r"1e\+30"):
        adapt(trained, SUPPORT, lr=1e30)
    with pytest.raises(ValueError, match=r"inf"):
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
    (example,) = report.nlp.get_pipe("epnet_ner").learned["support"]
    (start, end, _), *_ = example["ents"]
    assert example["words"][start:end] == ["Otto"]


def test_a_type_that_is_lost_by_merging_is_named_and_no_other_takes_its_place(trained):
    @Language.component("merge_all_but_last")
    def merge(doc):
        with doc.retokenize() as retokenizer:
            if doc[0].text == "We":
                retokenizer.merge(doc[0:4])
        return doc

    trained.add_pipe("merge_all_but_last", first=True)
    lost = mark("We met Otto in Paris .", [("Otto", "ASTRONAUT"), ("Paris", "CITY")])
    kept = mark("Ada flew to Rio .", [("Ada", "PILOT"), ("Rio", "CITY")])
    with pytest.raises(SupportError) as caught:
        adapt(trained, [lost, kept], max_steps=2)
    (problem,) = caught.value.problems
    assert problem.where == "ASTRONAUT"
    assert "none of its 1 examples lines up" in problem.what
    # One of two examples is lost, and that is no reason to give up.
    more = mark("Alan Turing left .", [("Alan Turing", "ASTRONAUT")])
    report = adapt(trained, [lost, kept, more], max_steps=2)
    assert report.counts == {"ASTRONAUT": 1, "CITY": 2, "PILOT": 1}
    assert [p.where for p in report.problems if "line up" in p.what] == ["ASTRONAUT"]


def test_it_stops_when_the_loss_is_low_enough(trained):
    report = adapt(trained, SUPPORT, lr=0.01, target_loss=0.05, max_steps=500)
    tuning = report.learning.tuning
    assert tuning.stopped == "the loss was low enough"
    assert "the loss was low enough" in report.learning.summary
    assert sum(tuning.losses[-3:]) / 3 < 0.05 <= sum(tuning.losses[-4:-1]) / 3


def test_paper_stops_when_the_loss_rises(trained):
    report = adapt(trained, SUPPORT, profile="paper", lr=0.05, max_steps=500)
    tuning = report.learning.tuning
    assert tuning.stopped == "the loss stopped falling"
    *_, before, last = tuning.losses
    assert last >= before
    assert tuning.steps < 500


def test_chance_does_not_stop_it(trained):
    report = adapt(
        trained, SUPPORT, profile="paper", lr=0.001, dropout=0.5, max_steps=60
    )
    tuning = report.learning.tuning
    # Over samples of their own and with dropout, 20 losses don't all fall.
    assert len(tuning.losses) > 20
    assert tuning.losses[:20] == sorted(tuning.losses[:20], reverse=True)


def test_weights_are_averaged(trained):
    settings = {
        "lr": 0.01,
        "dropout": 0.0,
        "resample_nones": False,
        "target_loss": 0.0,
    }
    name = "projection.2.weight"
    weights = [
        get_network_weights(
            adapt(trained, SUPPORT, max_steps=n, average=0, **settings).nlp
        )
        for n in (1, 2, 3)
    ]
    first, second, third = (weight[name] for weight in weights)
    mean = adapt(trained, SUPPORT, max_steps=3, average=2, **settings)
    expected = ((first + second) / 2 + third) / 2
    numpy.testing.assert_allclose(
        get_network_weights(mean.nlp)[name], expected, atol=1e-6
    )


def make_pool(n_sentences):
    sentences = numpy.repeat(numpy.arange(n_sentences, dtype="i"), 3)
    spans = numpy.stack([numpy.arange(len(sentences)), numpy.ones_like(sentences)], 1)
    zeros = numpy.zeros(len(sentences), dtype="i")
    ones = (spans, zeros + 1, sentences)
    return SpanPool(*ones, spans, zeros, sentences, zeros.astype(bool))


@pytest.mark.parametrize(
    ("count", "sizes"), [(64, [64]), (65, [33, 32]), (200, [50] * 4)]
)
def test_large_support_sets_are_learned_in_parts(count, sizes):
    pool, ops = make_pool(count), NumpyOps()
    batches = list(iter_batches(pool, choose_batch_size(pool), ops))
    assert [len(batch.entities) // 3 for batch in batches] == sizes
    assert all(len(batch.nones) == len(batch.entities) for batch in batches)
    seen = numpy.concatenate([batch.entity_sentences for batch in batches])
    numpy.testing.assert_array_equal(numpy.sort(seen), pool.entity_sentences)


def test_steps_on_a_part_of_the_tokens_are_steps_on_all(trained):
    head = trained.get_pipe("epnet_ner").model.get_ref("head")
    rng = numpy.random.default_rng(0)
    width = head.shims[0]._model.projection[0].in_features - 25
    tokens = rng.normal(size=(50, width)).astype("f")
    spans = numpy.asarray([[3, 2], [4, 5], [20, 1], [40, 10]], dtype="i")
    rows = numpy.asarray([0, 1, 2], dtype="i")
    training = PartialTraining(head, rows=[0, 1], trains_projection=True, lr=0.1)
    network = head.shims[0]._model
    gradients = []
    with training.open():
        whole = head.begin_update((tokens, spans, rows))
        part = training.begin_update(tokens, spans, rows, dropout=0.0)
        expected = whole[0]
        ones = tuple(numpy.ones_like(output) for output in expected)
        for outputs, backprop in (whole, part):
            numpy.testing.assert_array_equal(outputs[0], expected[0])
            network.zero_grad()
            backprop(ones)
            gradients.append(network.projection[0].weight.grad.clone().numpy())
    numpy.testing.assert_allclose(*gradients, atol=1e-6)
    assert numpy.abs(gradients[0]).sum() > 0
