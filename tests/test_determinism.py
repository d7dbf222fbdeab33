"""What is the same in every run, and in batches of any size."""

import os
import subprocess
import sys

import numpy
import pytest
import spacy
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_by_spacy

from spacy_epnet import adapt

from .conftest import ROOT, get_ents, get_weights
from .util.adapting_tools import SUPPORT

TOLERANCE = 1e-4  # docs/architecture.md


def test_the_same_seed_gives_the_same_weights(short_config):
    def run(seed):
        short_config["training"]["seed"] = seed
        return get_weights(train_by_spacy(init_nlp(short_config.copy()))[0])

    first, again, other = run(1), run(1), run(2)
    assert first == again
    assert first != other


def test_the_same_seed_gives_the_same_adaptation(trained):
    first, again, other = (
        get_weights(adapt(trained, SUPPORT, seed=seed, max_steps=5).nlp)
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


ADAPT = """
import spacy, srsly, sys
from spacy_epnet import adapt
from tests.util.adapting_tools import FAST, SUPPORT
nlp = adapt(spacy.load(sys.argv[1]), SUPPORT, **FAST).nlp
docs = nlp.pipe([text for text, _ in SUPPORT])
print([[ent.text, ent.label_] for doc in docs for ent in doc.ents])
"""


def test_hash_seeds_and_threads_change_no_entity(trained, tmp_path):
    trained.to_disk(tmp_path / "nlp")
    found = set()
    for number in ("1", "2"):
        environment = {"PYTHONHASHSEED": number, "OMP_NUM_THREADS": number}
        result = subprocess.run(
            [sys.executable, "-c", ADAPT, tmp_path / "nlp"],
            cwd=ROOT,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        found.add(result.stdout)
    assert len(found) == 1
    assert "PILOT" in found.pop()


@pytest.fixture
def texts(references):
    """Texts of many lengths, of which the longest are sifted by themselves."""
    texts = [doc.text for doc in references]
    return [*texts, "", " ".join(texts * 3), *texts[::-1], " ".join(texts[:5])]


def test_predictions_are_the_same_in_any_batch(trained, texts):
    def run(batch_size):
        return list(trained.pipe(texts, batch_size=batch_size))

    expected = [trained(text) for text in texts]
    assert sum(len(doc.ents) for doc in expected) > 100
    for docs in map(run, (1, 3, len(texts))):
        for doc, single in zip(docs, expected, strict=True):
            assert get_ents(doc) == get_ents(single)
            scores = [d.spans["epnet_ner"].attrs["scores"] for d in (doc, single)]
            numpy.testing.assert_allclose(*scores, atol=TOLERANCE)


def test_predictions_of_the_same_batches_are_the_same_to_the_last_bit(trained, texts):
    first, again = (
        [doc.spans["epnet_ner"].attrs["scores"].tolist() for doc in trained.pipe(texts)]
        for _ in range(2)
    )
    assert first == again


def test_a_pipeline_that_is_read_twice_is_saved_as_the_same_bytes(trained, tmp_path):
    trained.to_disk(tmp_path / "nlp")
    saved = []
    for name in ("a", "b"):
        spacy.load(tmp_path / "nlp").to_disk(tmp_path / name)
        saved.append((tmp_path / name / "transformer" / "model").read_bytes())
    assert saved[0] == saved[1]
