import numpy
import pytest
import spacy
from spacy.tokens import Doc
from thinc.api import NumpyOps

from spacy_epnet.recognizer.spans import (
    get_candidates,
    get_layout,
    iter_windows,
    list_starts,
    make_spans,
)

OPS = NumpyOps()


def make_random_docs(seed):
    rng = numpy.random.default_rng(seed)
    vocab = spacy.blank("en").vocab
    docs = []
    for length in rng.integers(0, 25, size=rng.integers(1, 8)):
        words = [str(rng.choice(["a", "b", " ", "\n\n"])) for _ in range(length)]
        starts = [bool(rng.random() < 0.2) for _ in words]
        doc = Doc(
            vocab, words=words, sent_starts=starts if rng.random() < 0.5 else None
        )
        docs.append(doc)
    return docs


def list_candidates(docs, max_width):
    """The definition, one span after the other."""
    spans = []
    offset = 0
    for doc in docs:
        for start in range(len(doc)):
            for end in range(start + 1, min(len(doc), start + max_width) + 1):
                crosses = any(doc[i].sent_start == 1 for i in range(start + 1, end))
                if not (crosses or doc[start].is_space or doc[end - 1].is_space):
                    spans.append((offset + start, end - start))
        offset += len(doc)
    return spans


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("max_width", [1, 3, 10])
def test_candidates_equal_the_definition(seed, max_width):
    docs = make_random_docs(seed)
    spans = get_candidates(get_layout(docs, ops=OPS), max_width, ops=OPS)
    assert spans.dtype == numpy.int32
    assert sorted(map(tuple, spans.tolist())) == sorted(
        list_candidates(docs, max_width)
    )


@pytest.mark.parametrize("max_starts", [1, 7, 1000])
def test_windows_cover_every_candidate_once(max_starts):
    docs = make_random_docs(3)
    layout = get_layout(docs, ops=OPS)
    found = []
    for window, n_starts in iter_windows(len(layout.segments), 4, max_starts):
        spans = make_spans(
            list_starts(layout.cut(window), 4, ops=OPS, n_starts=n_starts), ops=OPS
        )
        assert (spans.sum(axis=1) <= window.stop - window.start).all()
        found += [(start + window.start, width) for start, width in spans.tolist()]
    assert sorted(found) == sorted(list_candidates(docs, 4))
    assert len(found) > 40


def test_no_docs_and_empty_docs_have_no_candidates():
    empty = Doc(spacy.blank("en").vocab)
    for docs in ([], [empty], [empty, empty]):
        assert get_candidates(get_layout(docs, ops=OPS), 10, ops=OPS).shape == (0, 2)
