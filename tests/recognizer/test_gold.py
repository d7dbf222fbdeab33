import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import NumpyOps

from spacy_epnet.recognizer.gold import find_sent_starts, read_gold
from spacy_epnet.recognizer.spans import (
    get_candidates,
    get_layout,
    get_span_pool,
    sample_nones,
    take_per_group,
)

OPS = NumpyOps()
RNG = numpy.random.default_rng(0)
VOCAB = spacy.blank("en").vocab


def make_example(words, ents=(), *, reference=None, missing=()):
    doc = Doc(VOCAB, words=(reference or words).split())
    spans = [doc[start:end] for start, end, _ in ents]
    for span, (*_, label) in zip(spans, ents, strict=True):
        span.label_ = label
    doc.set_ents(spans, missing=[doc[start:end] for start, end in missing])
    return Example(Doc(VOCAB, words=words.split()), doc)


def get_spans(examples, *, max_width=3, none_samples=1000, hard_nones=0.0):
    golds = [read_gold(eg) for eg in examples]
    layout = get_layout([eg.predicted for eg in examples], ops=OPS)
    pool = get_span_pool(golds, layout, {"A": 1, "B": 2}, max_width=max_width, ops=OPS)
    pool = sample_nones(pool, count=none_samples, hard_share=hard_nones, ops=OPS)
    spans, targets = pool.flatten(ops=OPS)
    return set(map(tuple, numpy.column_stack([spans, targets]).tolist()))


def test_every_candidate_is_either_gold_or_none():
    examples = [
        make_example("a b c d", [(0, 2, "A")]),
        make_example("e f", [(1, 2, "B")]),
    ]
    found = get_spans(examples)
    gold = {(0, 2, 1), (5, 1, 2)}
    layout = get_layout([eg.predicted for eg in examples], ops=OPS)
    candidates = set(map(tuple, get_candidates(layout, 3, ops=OPS).tolist()))
    nones = {(*span, 0) for span in candidates - {(0, 2), (5, 1)}}
    assert found == gold | nones


def test_none_spans_are_sampled_per_sentence_without_replacement():
    found = get_spans([make_example("a b c d e f", [(0, 2, "A")])], none_samples=4)
    assert len(found) == 1 + 4
    two_docs = [make_example("a b c d e f"), make_example("g")]
    found = get_spans(two_docs, none_samples=4)
    assert len(found) == 4 + 1
    sentences = make_example("a b c d e f")
    sentences.predicted[3].is_sent_start = True
    assert len(get_spans([sentences], none_samples=4)) == 4 + 4


def test_sentences_that_only_the_reference_marks_count_too():
    eg = make_example("a b c d e f", [(0, 2, "A")])
    eg.reference[3].is_sent_start = True
    for i in (1, 2, 4, 5):
        eg.reference[i].is_sent_start = False
    assert find_sent_starts(eg).tolist() == [True, False, False, True, False, False]
    # A None span may cross the border, and is of the sentence in which it begins.
    assert len(get_spans([eg], none_samples=4)) == 1 + 4 + 4
    other = make_example("a b - c d", reference="a b- c d")
    other.reference[2].is_sent_start = True
    for i in (1, 3):
        other.reference[i].is_sent_start = False
    assert find_sent_starts(other).tolist() == [True, False, False, True, False]


def test_sentences_that_nothing_marks_end_with_their_punctuation():
    eg = make_example("a b c . d e f .", [(0, 2, "A")])
    starts = find_sent_starts(eg)
    assert starts.nonzero()[0].tolist() == [0, 4]
    assert len(get_spans([eg], none_samples=4)) == 1 + 4 + 4


def test_a_share_of_the_none_spans_overlaps_an_entity():
    words = " ".join("abcdefghij")
    for share, n_hard in ((1.0, 5), (0.5, 3)):
        found = get_spans(
            [make_example(words, [(4, 5, "A")])], none_samples=6, hard_nones=share
        )
        nones = [(start, width) for start, width, target in found if target == 0]
        assert len(nones) == 6
        assert sum(start <= 4 < start + width for start, width in nones) >= n_hard
    plain = get_spans([make_example(words)], none_samples=6, hard_nones=1.0)
    assert len(plain) == 6


def test_gold_longer_than_any_candidate_is_trained_on():
    assert (0, 5, 1) in get_spans([make_example("a b c d e f", [(0, 5, "A")])])


def test_nothing_is_claimed_of_tokens_that_nobody_annotated():
    found = get_spans([make_example("a b c d", [(0, 1, "A")], missing=[(2, 3)])])
    assert found == {(0, 1, 1), (1, 1, 0), (3, 1, 0), (0, 2, 0)}
    bare = Doc(VOCAB, words=["a", "b"])
    assert get_spans([Example(bare.copy(), bare)]) == set()


def test_gold_is_aligned_to_the_predicted_tokens():
    eg = make_example(
        "New York - based firm", [(0, 2, "A")], reference="New York- based firm"
    )
    assert [eg.reference[0:2].text] == ["New York-"]
    gold = read_gold(eg)
    assert [(ent.start, ent.end, ent.label_) for ent in gold.ents] == [(0, 3, "A")]
    assert not gold.misaligned


def test_misaligned_gold_is_left_out_and_not_taken_for_none():
    eg = make_example("in NewYork now", [(2, 3, "A")], reference="in New York now")
    gold = read_gold(eg)
    assert gold.ents == []
    assert [ent.text for ent in gold.misaligned] == ["York"]
    assert gold.unknown.tolist() == [False, True, False]
    assert get_spans([eg]) == {(0, 1, 0), (2, 1, 0)}


@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_sampling_takes_what_each_group_has(count):
    groups = OPS.asarray1i([0] * 10 + [1] * 2 + [5] * 7)
    drawn = take_per_group(groups, RNG.random(19), count, ops=OPS)
    assert len(set(drawn.tolist())) == len(drawn)
    sizes = {int(g): int((groups[drawn] == g).sum()) for g in (0, 1, 5)}
    assert sizes == {0: min(count, 10), 1: min(count, 2), 5: min(count, 7)}


def test_sampling_is_uniform():
    groups = OPS.asarray1i([0] * 5 + [1] * 5)
    drawn = numpy.concatenate(
        [take_per_group(groups, RNG.random(10), 2, ops=OPS) for _ in range(2000)]
    )
    counts = numpy.bincount(drawn, minlength=10)
    assert counts.sum() == 8000
    assert (abs(counts - 800) < 120).all()
