"""The quick look at all spans gives the predictions of the plain network."""

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Doc
from thinc.api import Model, NumpyOps

from spacy_epnet.epnet import candidate_filter as filter_module
from spacy_epnet.epnet.candidate_filter import CandidateFilter
from spacy_epnet.epnet.decoding import find_winners
from spacy_epnet.epnet.model import build_epnet_model
from spacy_epnet.recognizer.spans import get_layout, list_starts, make_spans

OPS = NumpyOps()
VOCAB = spacy.blank("en").vocab  # knows which tokens are space
TOKEN_WIDTH = 24
PRECISIONS = [torch.float32, torch.bfloat16]


@pytest.fixture(params=PRECISIONS, ids=["float32", "bfloat16"])
def dtype(request, monkeypatch):
    monkeypatch.setattr(
        filter_module, "get_fastest_dtype", lambda device: request.param
    )
    return request.param


@pytest.fixture
def batch():
    rng = numpy.random.default_rng(0)
    words = [str(i) if i % 11 else " " for i in range(900)]
    docs = [Doc(VOCAB, words=words[:n]) for n in (1, 3, 700, 0, 40, 12, 300)]
    tokens = rng.normal(size=(sum(map(len, docs)), TOKEN_WIDTH)).astype("f")
    return tokens, get_layout(docs, ops=OPS)


def make_head(**settings):
    tok2vec = Model("none", lambda model, docs, is_train: (docs, lambda d: d))
    sizes = {"prototype_size": 32, "n_prototypes": 12, "initial_dispersion": 12.0}
    model = build_epnet_model(tok2vec, **sizes | settings)
    head = model.get_ref("head")
    head.initialize(X=(OPS.alloc2f(1, TOKEN_WIDTH), OPS.alloc2i(0, 2), OPS.alloc1i(0)))
    return head


def search(head, batch, generations, *, filters, **settings):
    tokens, layout = batch
    choice = {"threshold": 0.0, **settings}
    rows = [OPS.asarray1i(part) for part in generations]
    limit = 0 if filters else len(tokens) + 1
    return find_winners(
        head, tokens, layout, rows, max_width=10, min_tokens_to_filter=limit, **choice
    )


def get_keys(winners):
    return [(w.start, w.end, w.column) for part in winners for w in sorted(part)]


def get_leads(head, batch, rows):
    """By how much each type is nearer than None, for all spans."""
    tokens, layout = batch
    spans = make_spans(list_starts(layout, 10, ops=OPS), ops=OPS)
    distances, _ = head.predict((tokens, spans, OPS.asarray1i(rows)))
    return spans, distances[:, :1] - distances[:, 1:]


def place_none(head, batch, rows):
    """Move None's prototype so that about a tenth of all spans are entities."""
    prototypes = head.shims[0]._model.prototypes
    types = prototypes[rows[1:]].detach().mean(dim=0)
    start = prototypes[0].detach().clone()
    shares = {}
    for step in numpy.linspace(0, 1.5, 31):
        with torch.no_grad():
            prototypes[0] = (1 - step) * types + step * start
        _, leads = get_leads(head, batch, rows)
        shares[step] = abs(float((leads.max(axis=1) > 0).mean()) - 0.1)
    best = min(shares, key=shares.get)
    with torch.no_grad():
        prototypes[0] = (1 - best) * types + best * start


@pytest.mark.parametrize(
    "settings", [{}, {"threshold": 0.27}], ids=["nearest", "threshold"]
)
@pytest.mark.parametrize(
    "model",
    [{}, {"depth": 1}, {"depth": 2}, {"similarity": "cosine"}, {"edges": False}],
    ids=["plain", "one layer", "two layers", "cosine", "no edges"],
)
@pytest.mark.usefixtures("dtype")
def test_filtering_changes_no_prediction(batch, settings, model):
    head = make_head(**model)
    generations = [[0, 3, 1, 5], [0, 7]]
    place_none(head, batch, generations[0])
    plain = search(head, batch, generations, filters=False, **settings)
    filtered = search(head, batch, generations, filters=True, **settings)
    assert 50 < len(plain[0]) < 8000
    assert get_keys(filtered) == get_keys(plain)
    for one, other in zip(plain, filtered, strict=True):
        scores = [[w[3:] for w in sorted(part)] for part in (one, other)]
        if scores[0]:
            numpy.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-5)


def test_there_may_be_nothing_to_select():
    docs = [Doc(VOCAB, words=[" "] * 300)]
    batch = OPS.alloc2f(300, TOKEN_WIDTH), get_layout(docs, ops=OPS)
    assert search(make_head(), batch, [[0, 1], [0, 2]], filters=True) == [[], []]


def test_what_cannot_be_an_entity_is_sorted_out(batch, dtype):
    head = make_head()
    tokens, layout = batch
    rows = [0, 3, 1, 5]
    place_none(head, batch, rows)
    chosen = CandidateFilter(head, [OPS.asarray1i(rows)])
    assert chosen.dtype == dtype
    (passed,) = chosen.select(tokens, list_starts(layout, 10, ops=OPS))
    spans, leads = get_leads(head, batch, rows)
    winners = set(map(tuple, spans[leads.max(axis=1) > 0].tolist()))
    assert winners <= set(map(tuple, passed.tolist()))
    assert 0 < len(winners) <= len(passed) < len(spans) / 2


def test_rounding_is_measured_and_larger_in_half_precision(batch):
    head = make_head()
    tokens, layout = batch
    errors = []
    for dtype in PRECISIONS:
        chosen = CandidateFilter(head, [OPS.asarray1i([0, 3])], dtype=dtype)
        chosen.select(tokens, list_starts(layout, 10, ops=OPS))
        errors += chosen.rounding
        assert chosen.n_measured >= filter_module.SAMPLE_SIZE
    assert 0 <= errors[0] < 1e-4 < errors[1] < 1


def test_rounding_is_measured_until_enough_was_seen(batch):
    head = make_head()
    head.shims[0]._model.dropout = 0.5  # left from training
    head.shims[0]._model.train()
    tokens, layout = batch
    chosen = CandidateFilter(head, [OPS.asarray1i([0, 3])], dtype=torch.float32)
    empty = [OPS.alloc1i(0)] * 10
    (passed,) = chosen.select(tokens, empty)
    assert len(passed) == 0
    assert chosen.n_measured == 0
    chosen.select(tokens[:10], [OPS.asarray1i([1])] * 4)
    assert chosen.n_measured == 4
    chosen.select(tokens, list_starts(layout, 10, ops=OPS))
    assert chosen.n_measured >= filter_module.SAMPLE_SIZE
    assert 0 < chosen.rounding[0] < 1e-4


def test_older_generations_are_found_the_same_to_the_last_bit(batch):
    head = make_head()
    place_none(head, batch, [0, 3, 1, 6, 8])
    alone = search(head, batch, [[0, 3, 1]], filters=True)
    joined = search(head, batch, [[0, 3, 1], [0, 6, 8]], filters=True)
    assert alone[0] == joined[0]
    assert alone[0]
    assert joined[1]


def test_recognizers_without_labels_find_nothing(batch):
    assert search(make_head(), batch, [[0]], filters=True) == [[]]


def test_pipelines_predict_the_same_with_and_without_a_filter(
    trained, references, monkeypatch
):
    from spacy_epnet.epnet import decoding

    texts = [doc.text for doc in references] * 3
    assert sum(map(len, references)) * 3 > decoding.MIN_TOKENS_TO_FILTER
    used = []
    select = CandidateFilter.select
    monkeypatch.setattr(
        CandidateFilter, "select", lambda *args: used.append(True) or select(*args)
    )
    results = []
    for limit in (decoding.MIN_TOKENS_TO_FILTER, 10**9):
        monkeypatch.setitem(
            decoding.find_winners.__kwdefaults__, "min_tokens_to_filter", limit
        )
        docs = list(trained.pipe(texts))
        groups = [doc.spans["epnet_ner"] for doc in docs]
        results.append([[str(span) + span.label_ for span in g] for g in groups])
        scores = numpy.concatenate([g.attrs["scores"] for g in groups])
        results.append(scores.round(4).tolist())
    assert len(used) == 1
    assert results[:2] == results[2:]
    assert sum(map(len, results[0])) > 50
