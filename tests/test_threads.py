import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import srsly
from torch import nn

from spacy_epnet import adapt
from spacy_epnet.encoder.networks import iter_weights

from .conftest import get_ents
from .util.adapting_tools import SUPPORT

N_THREADS = 8


@pytest.fixture
def nlp(trained):
    """A pipeline that shows at once if it drops something out."""
    for module in trained.get_pipe("transformer").model.transformer.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    return trained


@pytest.fixture
def texts(references):
    texts = [doc.text for doc in references]
    return [f"{text} {other}" for text in texts for other in texts[:12]]


def read(doc):
    return get_ents(doc), doc.spans["epnet_ner"].attrs["scores"].tolist()


def test_eight_threads_recognize_what_one_does(nlp, texts):
    expected = [read(nlp(text)) for text in texts]
    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(lambda text: read(nlp(text)), texts))
    assert found == expected
    assert sum(len(ents) for ents, _ in expected) > len(texts)


def test_streams_beside_saving(nlp, texts):
    def run(part):
        return [read(doc) for doc in nlp.pipe(part, batch_size=8)]

    parts = [texts[i::N_THREADS] for i in range(N_THREADS)]
    expected = [run(part) for part in parts]
    weights = [*iter_weights(nlp.get_pipe("transformer").model)]
    with ThreadPoolExecutor(N_THREADS + 1) as pool:
        saving = pool.submit(nlp.to_bytes)
        assert list(pool.map(run, parts)) == expected
    nlp.from_bytes(saving.result())
    assert [*iter_weights(nlp.get_pipe("transformer").model)] == weights


def test_a_loop_that_answers_many_beside_adapting(nlp, texts):
    texts = texts[:40]
    expected = [read(nlp(text)) for text in texts]

    async def serve():
        adapting = asyncio.to_thread(adapt, nlp, SUPPORT, max_steps=5)
        answers = [asyncio.to_thread(nlp, text) for text in texts]
        return await asyncio.gather(adapting, *answers)

    report, *docs = asyncio.run(serve())
    assert [read(doc) for doc in docs] == expected
    assert report.nlp.get_pipe("epnet_ner").labels == ("CITY", "PILOT")


PREFORK = """
import os, signal, spacy, srsly, sys
signal.alarm(100)  # a process that waits for threads of its parent would do so forever
nlp = spacy.load(sys.argv[1])
texts = srsly.read_json(sys.argv[2])
def read(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]
expected = [read(nlp(text)) for text in texts]
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        signal.alarm(100)
        found = [read(nlp(text)) for text in texts] + [*map(read, nlp.pipe(texts))]
        os._exit(found != expected * 2)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
print(sum(map(len, expected)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_server_that_forks_after_its_first_predictions(trained, texts, tmp_path):
    trained.to_disk(tmp_path / "nlp")
    srsly.write_json(tmp_path / "texts.json", texts[:40])
    command = [sys.executable, "-c", PREFORK, tmp_path / "nlp", tmp_path / "texts.json"]
    # Several threads, whatever this process was given.
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 40


def test_a_pipeline_that_was_just_loaded(nlp, texts):
    expected = [read(nlp(text)) for text in texts[:N_THREADS]]
    nlp.get_pipe("transformer").model.tokenizer.backend_tokenizer.no_padding()
    data = nlp.to_bytes()
    for _ in range(3):
        tokenizer = nlp.from_bytes(data).get_pipe("transformer").model.tokenizer
        # If it were set by the first text, others that are on their way would fail.
        assert tokenizer.backend_tokenizer.padding is not None
        with ThreadPoolExecutor(N_THREADS) as pool:
            found = list(pool.map(lambda text: read(nlp(text)), texts[:N_THREADS]))
        assert found == expected


def test_adaptations_at_once_are_those_of_one_after_the_other(nlp):
    def run(seed):
        pipe = adapt(nlp, SUPPORT, max_steps=5, seed=seed).nlp.get_pipe("epnet_ner")
        return pipe.to_bytes(exclude=["vocab"])

    expected = [run(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, range(3))) == expected
    assert len({*expected}) == 3


@pytest.mark.parametrize("in_place", [True, False])
def test_adapting_beside_predicting(nlp, texts, in_place):
    texts = texts[:40]
    alone = adapt(nlp, SUPPORT, max_steps=20)
    before = [read(nlp(text)) for text in texts]
    after = [read(alone.nlp(text)) for text in texts]
    assert before != after
    with ThreadPoolExecutor(N_THREADS) as pool:
        adapting = pool.submit(adapt, nlp, SUPPORT, max_steps=20, in_place=in_place)
        found = []
        while not adapting.done():
            found.append(list(pool.map(lambda text: read(nlp(text)), texts)))
    adapted = adapting.result().nlp
    assert found
    for results in found:
        for result, old, new in zip(results, before, after, strict=True):
            assert result == old or (in_place and result == new)
    for text, (ents, scores) in zip(texts, after, strict=True):
        doc = adapted(text)
        assert get_ents(doc) == ents
        numpy.testing.assert_allclose(read(doc)[1], scores, atol=1e-6)
