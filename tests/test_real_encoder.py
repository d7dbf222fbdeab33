"""What the product promises, with the encoder that it ships."""

import numpy
import pytest
import spacy
from spacy.cli.convert import convert
from spacy.cli.train import train as spacy_train
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_epnet import adapt
from spacy_epnet.cli import epnet_cli
from spacy_epnet.corpora.sampling import Corpus, sample_greedily
from spacy_epnet.encoder.download import MINILM, fetch_encoder
from spacy_epnet.recognizers.epnet import search

from .conftest import ROOT, SOURCE_CONFIG, get_ents

DEMO = ROOT / "assets" / "demo"
SOURCE_TEXTS = [
    "On Friday, Miriam Makeba sang in Nairobi with the Berlin Philharmonic.",
    "Toyota will pay for the World Cup in Mexico City.",
    "Marie Curie was reading Hamlet near Mount Fuji.",
    "Nobody in Lincoln had heard of Lincoln.",
    "The train was late and nobody complained.",
]


@pytest.fixture(scope="module")
def minilm():
    return fetch_encoder(MINILM, ROOT / "assets" / "encoders")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("source-train", "source-dev", "target-dev", "target-test"):
        convert(
            DEMO / f"{name}.iob",
            folder,
            converter="ner",
            file_type="spacy",
            silent=True,
        )
    return folder


@pytest.fixture(scope="module")
def trained(minilm, corpus, tmp_path_factory):
    output = tmp_path_factory.mktemp("training")
    overrides = {
        "paths.encoder": str(minilm),
        "paths.train": str(corpus / "source-train.spacy"),
        "paths.dev": str(corpus / "source-dev.spacy"),
        "training.max_steps": 160,
        "training.eval_frequency": 160,
        "training.batcher.size": 128,
        "components.epnet_ner.model.learn_rate_scale": 5.0,
        "training.optimizer.learn_rate.initial_rate": 0.0002,
        "training.optimizer.learn_rate.warmup_steps": 10,
        "training.optimizer.learn_rate.total_steps": 160,
    }
    spacy_train(SOURCE_CONFIG, output, overrides=overrides)
    return output / "model-last"


def test_learns_the_demo_corpus(trained, corpus):
    nlp = spacy.load(trained)
    docs = spacy.training.Corpus(corpus / "source-dev.spacy")
    scores = nlp.evaluate(list(docs(nlp)))
    assert scores["ents_f"] > 0.5
    assert len(scores["ents_per_type"]) == 6


def test_batches_and_single_texts_are_recognised_alike(trained):
    nlp = spacy.load(trained)
    batched = list(nlp.pipe(SOURCE_TEXTS))
    for doc, text in zip(batched, SOURCE_TEXTS, strict=True):
        single = nlp(text)
        assert get_ents(doc) == get_ents(single)
        scores = [d.spans["epnet_ner"].attrs["scores"] for d in (doc, single)]
        numpy.testing.assert_allclose(*scores, atol=1e-4)
    assert sum(len(doc.ents) for doc in batched) >= 5


def test_fast_paths_change_no_prediction(trained, corpus, monkeypatch):
    docs = [*DocBin().from_disk(corpus / "source-dev.spacy").get_docs(Vocab())]
    texts = [doc.text for doc in docs]
    assert sum(map(len, docs)) > search.MAX_STARTS

    def recognize(**settings):
        config = {f"components.transformer.model.{k}": v for k, v in settings.items()}
        return [get_ents(doc) for doc in spacy.load(trained, config=config).pipe(texts)]

    fast = recognize()
    assert sum(map(len, fast)) > 50
    assert recognize(max_pieces=10**9) == fast
    monkeypatch.setitem(search.find_winners.__kwdefaults__, "min_tokens_to_sift", 10**9)
    assert recognize() == fast


def test_long_documents_are_recognised_to_the_end(trained):
    nlp = spacy.load(trained)
    sentence = "Marie Curie spoke to the press in Nairobi . "
    once = [ent.label_ for ent in nlp(sentence).ents]
    assert once == ["PERSON", "CITY"]
    ents = nlp(sentence * 120).ents
    assert len(ents) > 200
    assert ents[-1].start > 1050


@pytest.fixture(scope="module")
def support(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("support")
    dev = Corpus(corpus / "target-dev.spacy")
    chosen = sample_greedily(dev.mentions, 5, 0)
    dev.write_support(chosen, folder / "set.spacy", dev.describe(chosen))
    return folder / "set.spacy"


@pytest.fixture(scope="module")
def adapted(trained, support, tmp_path_factory):
    output = tmp_path_factory.mktemp("adapted") / "pipeline"
    result = CliRunner().invoke(
        epnet_cli, ["adapt", str(trained), str(support), str(output)]
    )
    assert result.exit_code == 0, result.output
    assert "SPACECRAFT" in result.output
    return output


def evaluate(model, path):
    nlp = spacy.load(model)
    return nlp.evaluate(list(spacy.training.Corpus(path)(nlp)))


def test_five_examples_of_each_type_teach_a_new_domain(adapted, corpus):
    scores = evaluate(adapted, corpus / "target-test.spacy")
    assert len(scores["ents_per_type"]) == 6
    assert scores["ents_f"] > 0.5


def test_adapting_takes_seconds_and_repeats_to_the_last_digit(trained, support):
    nlp = spacy.load(trained)
    docs = Corpus(support, nlp.vocab).docs
    first, second = (adapt(nlp, docs) for _ in range(2))
    assert first.learning.tuning.losses == second.learning.tuning.losses
    # A limit for slow machines under load. Figures are measured, not tested.
    assert second.seconds["total"] < 60


def test_old_types_are_recognised_as_before_when_new_ones_join(trained, support):
    nlp = spacy.load(trained)
    docs = Corpus(support, nlp.vocab).docs
    for doc in docs:
        doc.ents = [ent for ent in doc.ents if ent.label_ == "INSTRUMENT"]
    grown = adapt(nlp, docs, labels="extend").nlp
    found = [ent.label_ for doc in docs for ent in grown(doc.text).ents]
    assert found.count("INSTRUMENT") >= 2
    texts = SOURCE_TEXTS
    before, after = (
        [
            (get_ents(doc), doc.spans["epnet_ner"].attrs["scores"].tolist())
            for doc in pipeline.pipe(texts)
        ]
        for pipeline in (nlp, grown)
    )
    new = set(grown.get_pipe("epnet_ner").generations[1])
    untouched = [
        (a, b)
        for a, b in zip(before, after, strict=True)
        if not new & {label for *_, label in b[0]}
    ]
    assert len(untouched) >= len(texts) / 2
    assert all(a == b for a, b in untouched)
    assert sum(len(a[0]) for a, _ in untouched) >= 5


def test_entities_of_an_adapted_pipeline_are_explained(adapted):
    result = CliRunner().invoke(
        epnet_cli,
        ["recognize", str(adapted), "--explain", "NASA launched Juno from Kourou."],
    )
    assert result.exit_code == 0, result.output
    assert "otherwise" in result.output
    assert "near, at" in result.output
