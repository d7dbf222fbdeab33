"""Token vectors made part by part are those made at once."""

import numpy
import pytest
from spacy.tokens import Doc
from spacy_transformers.layers import TransformerListener, trfs2arrays
from thinc.api import chain, reduce_last, reduce_max, reduce_mean

from spacy_epnet.encoder.vectors import open_tokens


@pytest.fixture
def docs(trained):
    words = ["Ada", " ", "Lovelace", "\n\n", "left", "PARIS", "\u200b"]
    docs = [
        Doc(trained.vocab, words=(words * 40)[:length])
        for length in (7, 0, 250, 1, 2, 0, 90)
    ]
    docs.append(Doc(trained.vocab, words=[" ", " "]))
    return list(trained.get_pipe("transformer").pipe(docs))


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize("has_surface", [True, False])
def test_windows_add_up_to_the_whole(trained, docs, size, has_surface):
    pipe = trained.get_pipe("epnet_ner")
    tok2vec = pipe.model.get_ref("tok2vec")
    if not has_surface:
        tok2vec = tok2vec.layers[0]
    expected = numpy.concatenate([v for v in tok2vec.predict(docs) if len(v)])
    tokens = open_tokens(tok2vec, docs)
    assert len(tokens) == len(expected) == sum(map(len, docs))
    windows = [tokens[i : i + size] for i in range(0, len(tokens), size)]
    numpy.testing.assert_allclose(numpy.concatenate(windows), expected, atol=1e-6)
    numpy.testing.assert_array_equal(tokens[:], expected)


@pytest.mark.parametrize("pool", [reduce_max, reduce_last, reduce_mean])
def test_docs_without_word_pieces_are_zeros_for_any_pooling(trained, pool):
    texts = [["Ada", "left"], [" ", " "], ["Otto"]]
    docs = [Doc(trained.vocab, words=words) for words in texts]
    docs = list(trained.get_pipe("transformer").pipe(docs))
    tok2vec = chain(TransformerListener("*"), trfs2arrays(pool(), 1.0))
    tok2vec.set_ref("listener", tok2vec.layers[0])
    tok2vec.layers[0].set_dim("nO", 32)
    expected = numpy.concatenate(tok2vec.predict(docs))
    tokens = open_tokens(tok2vec, docs)
    numpy.testing.assert_array_equal(tokens[:], expected)
    assert not tokens[2:4].any()
    assert tokens[4:5].any()


def test_only_the_window_is_pooled(trained, docs):
    tok2vec = trained.get_pipe("epnet_ner").model.get_ref("tok2vec")
    tokens = open_tokens(tok2vec, docs)
    seen = []
    pooling = tokens.tokens.pooling
    pool = pooling._func
    pooling._func = lambda model, X, is_train: (
        seen.append(len(X)) or pool(model, X, is_train)
    )
    assert tokens[100:130].shape[0] == 30
    assert seen == [30]
