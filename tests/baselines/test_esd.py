"""ESD's mathematics, against slow direct computations and cases worked out by hand."""

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import NumpyOps

from spacy_epnet import adapt
from spacy_epnet.baselines.esd import contexts as contexts_module
from spacy_epnet.baselines.esd import esd_network as network_module
from spacy_epnet.baselines.esd.contexts import iter_parts, number_contexts
from spacy_epnet.baselines.esd.esd_model import Episode, recall
from spacy_epnet.baselines.esd.esd_network import (
    SpanAttention,
    SpanAttentionNetwork,
    measure_columns,
)
from spacy_epnet.baselines.esd.nones import (
    DISJOINT,
    INSIDE,
    OVERLAPPING,
    find_kinds,
    get_loss,
    get_probabilities,
)
from spacy_epnet.baselines.esd.soft_nms import (
    choose_spans,
    get_overlaps,
    group_spans,
    resolve_overlaps,
)
from spacy_epnet.baselines.memory import get_memory
from spacy_epnet.recognizer.spans import Layout, get_candidates, get_layout

from ..conftest import SMALL_TOK2VEC, get_ents, train
from ..util.gradients import check_gradient

OPS = NumpyOps()
INF = numpy.inf
SIZE = 4
SUPPORT = [
    ("Rex barked at Otto .", [(0, 3, "DOG"), (14, 18, "CAT")]),
    ("I saw Rex .", [(6, 9, "DOG")]),
]


@pytest.fixture
def rng():
    return numpy.random.default_rng(0)


@pytest.fixture
def network():
    """A small network in double precision, whose attention has been learned."""
    torch.manual_seed(0)
    network = SpanAttentionNetwork(token_width=3, span_size=SIZE).double()
    for attention in (network.inter, network.cross):
        for parameter in attention.parameters():
            torch.nn.init.normal_(parameter)
    return network.eval()


@pytest.fixture
def nlp(references):
    nlp = spacy.blank("en")
    model = {"tok2vec": SMALL_TOK2VEC, "span_size": 16}
    nlp.add_pipe("esd_ner", config={"model": model})
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    return nlp


def to_numpy(*tensors):
    return [tensor.detach().numpy() for tensor in tensors]


def attend_slowly(attention, spans, others):
    """The definition, one span after the other."""
    query, key, value = to_numpy(
        attention.query.weight, attention.key.weight, attention.value.weight
    )
    gain, bias = to_numpy(attention.norm.weight, attention.norm.bias)
    found = []
    for span in spans:
        scores = [(query @ span) @ (key @ other) / SIZE**0.5 for other in others]
        total = sum(numpy.exp(score) for score in scores)
        for score, other in zip(scores, others, strict=True):
            span = span + numpy.exp(score) / total * (value @ other)
        deviation = (span.var() + attention.norm.eps) ** 0.5
        found.append((span - span.mean()) / deviation * gain + bias)
    return numpy.asarray(found)


def embed_slowly(network, tokens, spans):
    first, last, output = (
        to_numpy(layer.weight)[0]
        for layer in (network.first, network.last, network.output)
    )
    bias, output_bias = to_numpy(network.first.bias, network.output.bias)
    return numpy.asarray(
        [
            output
            @ numpy.maximum(first @ tokens[s] + last @ tokens[s + w - 1] + bias, 0)
            + output_bias
            for s, w in spans
        ]
    )


def look_slowly(point, others):
    """What a span makes of others by attention."""
    likes = [numpy.exp(point @ other / SIZE**0.5) for other in others]
    return sum(
        like / sum(likes) * other for like, other in zip(likes, others, strict=True)
    )


def measure_slowly(points, support, columns, n_types):
    distances = numpy.full((len(points), 1 + n_types), INF)
    for i, point in enumerate(points):
        views = {
            column: look_slowly(
                point,
                [s for s, c in zip(support, columns, strict=True) if c == column],
            )
            for column in set(columns)
        }
        nones = [view for column, view in views.items() if column < 3]
        types = {c - 2: view for c, view in views.items() if c >= 3}
        if nones:
            types[0] = look_slowly(point, nones)
        for column, view in types.items():
            distances[i, column] = ((point - view) ** 2).sum()
    return distances


# Attention


@pytest.mark.parametrize("block", [2, 512])
def test_spans_attend_to_others(network, rng, monkeypatch, block):
    monkeypatch.setattr(network_module, "BLOCK", block)
    spans, others = rng.normal(size=(5, SIZE)), rng.normal(size=(3, SIZE))
    found = network.cross(torch.tensor(spans), torch.tensor(others))
    expected = attend_slowly(network.cross, spans, others)
    numpy.testing.assert_allclose(*to_numpy(found), expected)
    nothing = network.cross(torch.tensor(spans), torch.zeros(0, SIZE).double())
    numpy.testing.assert_allclose(
        *to_numpy(nothing), attend_slowly(network.cross, spans, [])
    )


def test_others_do_not_count_before_there_is_something_to_learn(rng):
    attention = SpanAttention(SIZE).double()
    spans, others = torch.tensor(rng.normal(size=(2, 5, SIZE)))
    assert torch.equal(attention(spans, others), attention.norm(spans))


def test_spans_see_those_of_their_own_context(network, rng):
    tokens = rng.normal(size=(5, 3))
    contexts = numpy.asarray([0, 0, 0, 2, 2])  # the second has no tokens
    candidates = numpy.asarray([[3, 1], [0, 1], [0, 2], [1, 2], [3, 2]])
    spans = numpy.asarray([[4, 1], [0, 2], [3, 1]])
    arguments = (tokens, spans, contexts[spans[:, 0]])
    arguments += (candidates, contexts[candidates[:, 0]])
    (found,) = to_numpy(network.represent(*map(torch.tensor, arguments)))
    for span, point in zip(spans, found, strict=True):
        own = embed_slowly(network, tokens, [span])
        others = [c for c in candidates if contexts[c[0]] == contexts[span[0]]]
        others = embed_slowly(network, tokens, others)
        (expected,) = attend_slowly(network.inter, own, others)
        numpy.testing.assert_allclose(point, expected)


@pytest.mark.parametrize("block", [2, 512])
def test_types_are_what_each_span_sees_of_their_examples(rng, monkeypatch, block):
    monkeypatch.setattr(network_module, "BLOCK", block)
    points, support = rng.normal(size=(5, SIZE)), rng.normal(size=(6, SIZE))
    columns = [0, 3, 0, 1, 3, 3]
    found = measure_columns(*map(torch.tensor, (points, support, columns)), 5)
    expected = measure_slowly(points, support, columns, 2)
    numpy.testing.assert_allclose(*to_numpy(found), expected)
    assert numpy.isinf(expected[:, 2]).all()  # of which there are no examples
    types = torch.tensor([3, 3, 4, 4, 4, 3])
    lost = measure_columns(*map(torch.tensor, (points, support)), types, 5)
    assert lost[:, 0].isinf().all()
    assert lost[:, 1:].isfinite().all()


def make_episode(rng):
    tokens = rng.normal(size=(6, 3))
    spans = numpy.asarray([[0, 2], [3, 1], [1, 1], [4, 2], [0, 1], [5, 1]])
    contexts = numpy.asarray([0, 0, 0, 1, 1, 1])
    candidates = numpy.asarray([[0, 1], [1, 1], [0, 2], [3, 1], [4, 1], [5, 1], [4, 2]])
    columns = numpy.asarray([3, 3, 0, 1, 2, 2])
    return tokens, Episode(
        spans,
        contexts[spans[:, 0]],
        candidates,
        contexts[candidates[:, 0]],
        columns,
        contexts[spans[:, 0]] == 0,
        5,
    )


def run_episode(network, tokens, episode):
    *arrays, n_columns = episode
    return network(tokens, *map(torch.tensor, arrays), n_columns)


def test_each_half_of_a_batch_is_judged_by_the_other(network, rng):
    tokens, episode = make_episode(rng)
    found, points = to_numpy(*run_episode(network, torch.tensor(tokens), episode))
    for is_support in (episode.is_first, ~episode.is_first):
        support = points[is_support]
        seen = attend_slowly(network.cross, support, support)
        asked = attend_slowly(network.cross, points[~is_support], support)
        expected = measure_slowly(asked, seen, episode.columns[is_support].tolist(), 2)
        numpy.testing.assert_allclose(found[~is_support], expected)


def test_gradients_reach_the_tokens_and_the_weights(network, rng):
    tokens, episode = make_episode(rng)

    def get_slow_loss(values):
        distances, _ = to_numpy(*run_episode(network, torch.tensor(values), episode))
        return get_loss(distances, episode.columns)[0]

    leaf = torch.tensor(tokens, requires_grad=True)
    distances, _ = run_episode(network, leaf, episode)
    loss, gradient = get_loss(*to_numpy(distances), episode.columns)
    distances.backward(torch.tensor(gradient))
    assert loss == pytest.approx(get_slow_loss(tokens))
    check_gradient(get_slow_loss, tokens, leaf.grad.numpy())
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.any(), name


# None


def test_the_three_kinds_of_none_spans():
    # Ada met Grace Brewster Hopper in Rio
    entities = numpy.asarray([[0, 1], [2, 3], [6, 1]])
    kinds = {
        (1, 1): DISJOINT,  # met
        (5, 1): DISJOINT,  # in
        (2, 1): INSIDE,  # Grace
        (3, 1): INSIDE,  # Brewster
        (3, 2): INSIDE,  # Brewster Hopper
        (2, 2): INSIDE,  # Grace Brewster
        (1, 2): OVERLAPPING,  # met Grace
        (4, 2): OVERLAPPING,  # Hopper in
        (1, 5): OVERLAPPING,  # met Grace Brewster Hopper in
        (0, 2): OVERLAPPING,  # Ada met
        (5, 2): OVERLAPPING,  # in Rio
        (0, 7): OVERLAPPING,  # all
    }
    spans = numpy.asarray(list(kinds))
    assert find_kinds(spans, entities, 7, ops=OPS).tolist() == list(kinds.values())
    side_by_side = numpy.asarray([[0, 2], [2, 2]])
    found = find_kinds(numpy.asarray([[1, 2], [2, 1]]), side_by_side, 4, ops=OPS)
    assert found.tolist() == [OVERLAPPING, INSIDE]
    nothing = OPS.alloc2i(0, 2)
    assert find_kinds(spans, nothing, 7, ops=OPS).tolist() == [DISJOINT] * len(spans)


def test_probabilities():
    distances = numpy.asarray([[1.0, 2.0, 1.5], [INF, 0.0, INF]])
    shares = numpy.exp([-1.0, -2.0, -1.5])
    found = get_probabilities(distances)
    numpy.testing.assert_allclose(found[0], shares / shares.sum())
    assert found[1].tolist() == [0, 1, 0]
    assert get_probabilities(numpy.full((1, 3), INF)).tolist() == [[1, 0, 0]]


def test_the_loss_and_its_gradient(rng):
    distances = rng.random((6, 3))
    distances[3, 0] = distances[4, 2] = INF
    # To the type of one there are no examples.
    columns = numpy.asarray([1, 3, 4, 4, 4, 2])
    loss, gradient = get_loss(distances, columns)
    losses = []
    for row, target in zip(distances, columns, strict=True):
        likes = numpy.exp(-row)
        share = likes[max(0, target - 2)] / likes.sum()
        losses += [-numpy.log(share)] if share else []
    assert len(losses) == 5
    assert loss == pytest.approx(sum(losses) / 5)
    check_gradient(lambda moved: get_loss(moved, columns)[0], distances, gradient)
    assert not gradient[4].any()
    nothing, zero = get_loss(numpy.full((2, 3), INF), columns[:2])
    assert (nothing, zero.any()) == (0.0, False)


# Overlaps


def test_spans_that_are_better_together_win_with_a_beam():
    starts, ends = numpy.asarray([0, 1, 2]), numpy.asarray([2, 3, 4])
    scores = numpy.asarray([0.6, 0.65, 0.6])
    # The second has a third of its tokens in common with either of the others.
    numpy.testing.assert_allclose(get_overlaps(starts, ends, 1), [1 / 3, 1, 1 / 3])
    spans = starts, ends, scores
    greedy = choose_spans(*spans, beam_size=1, delta=0.5)
    assert greedy == [(1, 0.65)]  # 0.4 is left of the others
    assert choose_spans(*spans, beam_size=2, delta=0.5) == [(0, 0.6), (2, 0.6)]
    soft = choose_spans(*spans, beam_size=1, delta=0.3)
    assert [i for i, _ in soft] == [1, 0, 2]
    assert [s for _, s in soft] == pytest.approx([0.65, 0.4, 0.4])
    # 1.45 in all, but this is 1.489, with 0.65 x 2/3 x 2/3 left of the second.
    best = choose_spans(*spans, beam_size=2, delta=0.2)
    assert [i for i, _ in best] == [0, 2, 1]
    assert [s for _, s in best] == pytest.approx([0.6, 0.6, 0.65 * 4 / 9])
    settings = {"contexts": numpy.zeros(3, dtype="i"), "delta": 0.2}
    assert resolve_overlaps(*spans, beam_size=1, **settings) == [1]
    assert resolve_overlaps(*spans, beam_size=2, **settings) == [0, 2]


def test_a_beam_is_as_good_as_trying_all_orders():
    rng = numpy.random.default_rng(1)
    better = 0
    for _ in range(20):
        starts = rng.integers(0, 5, size=5)
        ends = starts + rng.integers(1, 4, size=5)
        scores = rng.random(5) / 2 + 0.5
        spans, delta = (starts, ends, scores), 0.45
        totals = [
            sum(s for _, s in choose_spans(*spans, beam_size=size, delta=delta))
            for size in (1, 100)
        ]
        assert totals[1] == pytest.approx(try_all(*spans, delta))
        assert totals[1] >= totals[0]
        better += totals[1] > totals[0] + 1e-9
    assert better >= 3


def try_all(starts, ends, scores, delta, chosen=frozenset()):
    """The best total of all orders in which spans can be chosen."""
    best = 0.0
    for i in set(range(len(scores))) - chosen:
        if chosen and scores[i] < delta:
            continue
        left = scores * (1 - get_overlaps(starts, ends, i))
        rest = try_all(starts, ends, left, delta, chosen | {i})
        best = max(best, scores[i] + rest)
    return best


def test_spans_are_resolved_in_groups_that_do_not_touch():
    starts = numpy.asarray([7, 0, 1, 3, 2, 9, 8])
    ends = numpy.asarray([9, 2, 3, 5, 3, 10, 10])
    contexts = numpy.asarray([0, 0, 0, 0, 0, 1, 0])
    groups = [group.tolist() for group in group_spans(starts, ends, contexts)]
    assert groups == [[1, 2, 4], [3], [0, 6], [5]]  # the longest first
    scores = numpy.asarray([0.9, 0.5, 0.5, 0.05, 0.2, 0.7, 0.8])
    kept = resolve_overlaps(starts, ends, scores, contexts, beam_size=3, delta=0.3)
    # The fourth stands alone, so that it needn't reach delta. Of the others, two that
    # were chosen overlap a better one, also that of another context.
    assert kept == [1, 3, 0, 5]


# Long texts


def test_long_sentences_have_several_contexts():
    segments = numpy.asarray([0, 0, 0, 0, 0, 1, 1, 2])
    assert number_contexts(segments, 2).tolist() == [0, 0, 1, 1, 2, 3, 3, 4]
    assert number_contexts(segments, 5).tolist() == segments.tolist()
    # They don't depend on what stands before a sentence.
    alone = number_contexts(segments[5:], 2)
    assert alone.tolist() == [0, 0, 1]


@pytest.mark.parametrize("part_tokens", [1, 6, 1000])
def test_parts_have_every_candidate_once(rng, monkeypatch, part_tokens):
    monkeypatch.setattr(number_contexts, "__defaults__", (4,))
    lengths = [7, 1, 12, 3, 4, 9]
    segments = numpy.repeat(numpy.arange(6), lengths)
    layout = Layout(segments, rng.random(36) < 0.8)
    tokens = rng.normal(size=(36, 2))
    found, n_parts = [], 0
    for part in iter_parts(tokens, layout, 3, ops=OPS, part_tokens=part_tokens):
        assert part.candidates[:, 0].max(initial=0) < part.n_starts
        ends = part.candidates.sum(axis=1)
        assert ends.max(initial=0) <= len(part.tokens)
        stop = part.offset + len(part.tokens)
        numpy.testing.assert_array_equal(part.tokens, tokens[part.offset : stop])
        n_parts += 1
        found += [(s + part.offset, w) for s, w in part.candidates.tolist()]
    expected = get_candidates(layout, 3, ops=OPS)
    assert sorted(found) == sorted(map(tuple, expected.tolist()))
    # Of 7 tokens there are two contexts, of 1 there is one, and so on.
    assert n_parts == {1: 2 + 1 + 3 + 1 + 1 + 3, 6: 6, 1000: 1}[part_tokens]


def test_long_docs_give_the_same_in_small_parts(nlp, monkeypatch):
    pipe = adapt(nlp, SUPPORT).nlp.get_pipe("esd_ner")
    doc = Doc(nlp.vocab, words=("Rex barked at Otto and I saw it . " * 80).split())
    tokens = pipe.encode([doc])
    assert len(doc) > 2 * contexts_module.MAX_TOKENS
    (whole,) = pipe.recognize([doc], tokens)
    assert whole
    taken = [i for p in whole for i in range(p.start, p.end)]
    assert len(taken) == len(set(taken))
    defaults = iter_parts.__kwdefaults__
    monkeypatch.setitem(defaults, "part_tokens", 1)
    monkeypatch.setattr(network_module, "BLOCK", 7)
    (parts,) = pipe.recognize([doc], tokens)
    assert [p[:3] for p in parts] == [p[:3] for p in whole]
    scores = [[p.score for p in found] for found in (parts, whole)]
    numpy.testing.assert_allclose(*scores, atol=1e-4)


# The component


def test_the_entities_and_kinds_of_a_support_set_are_remembered(nlp):
    report = adapt(nlp, SUPPORT, none_samples=1000)
    memory = get_memory(report.nlp.get_pipe("esd_ner").model)
    # All spans of two sentences of 5 and 4 tokens, of which 3 are entities, and the
    # others go across Rex, Otto or both, or are beside them.
    counts = numpy.bincount(memory.columns).tolist()
    assert sum(counts) == 15 + 10
    assert counts[3:] == [1, 2]  # CAT, DOG
    # barked, at, barked at, "."; I, saw, I saw, "."
    assert counts[:3] == [8, 25 - 3 - 8, 0]
    assert report.learning.details == {"spans": {"CAT": 1, "DOG": 2}, "none_spans": 22}


def test_the_memory_is_found_anew_when_weights_change(nlp, references):
    pipe = nlp.get_pipe("esd_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    train(nlp, examples, steps=2, learn_rate=0.001)
    layer, vectors = pipe._layer, pipe.memory.vectors
    before = recall(layer, vectors, None)
    assert before.seen.shape == vectors.shape
    assert recall(layer, vectors, before) is before
    assert recall(layer, vectors[:5], before).seen.shape == vectors[:5].shape
    with torch.no_grad():
        for weight in layer.shims[0]._model.cross.norm.parameters():
            weight *= 2
    after = recall(layer, vectors, before)
    numpy.testing.assert_allclose(after.seen, 2 * before.seen, rtol=1e-5)


def test_nothing_is_recognized_before_anything_is_remembered(nlp):
    pipe = nlp.get_pipe("esd_ner")
    doc = nlp("Ada lives in Paris .")
    assert get_ents(doc) == []
    tokens = pipe.encode([doc])
    (scores,) = pipe.rate([doc], tokens, OPS.asarray2i([[0, 1]]))
    assert scores == {None: 1.0, "PERSON": 0.0, "PLACE": 0.0}
    pipe.add_label("DOG")
    assert get_ents(nlp("Ada lives in Paris .")) == []


def test_batches_of_one_doc_and_of_nothing_teach_nothing(nlp, references):
    eg = Example(nlp.make_doc(references[0].text), references[0])
    assert nlp.update([eg], losses={})["esd_ner"] == 0
    blank = Doc(nlp.vocab, words=["\n", " "])
    assert nlp.update([Example(blank, blank.copy())], losses={})["esd_ner"] == 0
    assert get_ents(nlp("\n")) == []


def test_entities_may_be_too_long_to_be_predicted(nlp):
    words = ["It", "was", *["very"] * 12, "cold", "."]
    reference = Doc(nlp.vocab, words=words)
    reference.set_ents([Span(reference, 2, 15, label="LONG")])
    other = Doc(nlp.vocab, words=["Cold", "."])
    other.set_ents([Span(other, 0, 1, label="LONG")])
    report = adapt(nlp, [reference, other])
    assert "longer than max_width = 10" in " ".join(map(str, report.problems))
    memory = get_memory(report.nlp.get_pipe("esd_ner").model)
    assert (memory.columns == 3).sum() == 2


def test_spans_at_both_ends_of_a_batch_are_explained_by_their_own_sentence(nlp):
    pipe = adapt(nlp, SUPPORT).nlp.get_pipe("esd_ner")
    with torch.no_grad():
        torch.nn.init.normal_(pipe._layer.shims[0]._model.inter.value.weight)
    docs = [nlp.make_doc(text) for text, _ in SUPPORT]
    tokens = pipe.encode(docs)
    spans = OPS.asarray2i([[7, 1], [0, 1]])
    together = pipe.embed(docs, tokens, spans)
    for doc, start, point in zip(docs, (0, 2), together[::-1], strict=True):
        span = OPS.asarray2i([[start, 1]])
        (alone,) = pipe.embed([doc], pipe.encode([doc]), span)
        numpy.testing.assert_allclose(point, alone, atol=1e-4)
    joined = Doc(nlp.vocab, words=[token.text for doc in docs for token in doc])
    (mixed,) = pipe.embed([joined], tokens, spans[:1])
    assert not numpy.allclose(mixed, together[0], atol=1e-2)
    assert get_layout([joined], ops=OPS).segments.max() == 0


def test_sizes_are_checked(nlp):
    for setting in ("max_width", "span_size", "learn_rate_scale"):
        config = {"model": {"tok2vec": SMALL_TOK2VEC, setting: 0}}
        with pytest.raises(ValueError, match=rf"{setting}"):
            spacy.blank("en").add_pipe("esd_ner", config=config)
