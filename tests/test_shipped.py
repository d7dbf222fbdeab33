"""What the product promises, with the source and the encoder that it ships."""

import re
from statistics import fmean

import pytest
import spacy
import srsly
from typer.testing import CliRunner

import spacy_epnet
from spacy_epnet import adapt
from spacy_epnet.cli import epnet_cli
from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.sampling import sample_greedily
from spacy_epnet.encoder.download import ENCODERS, fetch_encoder
from spacy_epnet.sources.catalog import PACKED, list_sources, make_source
from spacy_epnet.sources.packing import read_manifest

from .conftest import ROOT, get_ents

DEMO = ROOT / "assets" / "demo"
MAX_MEGABYTES = {"small": 25, "base": 45}
SOURCE_TEXTS = [
    "Miriam Makeba sang in Nairobi with the Berlin Philharmonic.",
    "Toyota will pay for the World Cup in Mexico City.",
    "Marie Curie was reading Hamlet near Mount Fuji.",
    "Angela Merkel was in Warsaw before she flew to Tokyo.",
    "The train was late and nobody complained.",
]


@pytest.fixture(
    scope="module", params=["small", pytest.param("base", marks=pytest.mark.large)]
)
def shipped(request, tmp_path_factory):
    name = request.param
    encoder = ENCODERS[read_manifest(PACKED / name).encoder]
    fetched = fetch_encoder(encoder, ROOT / "assets" / "encoders")
    return make_source(
        name, encoder=str(fetched), cache=tmp_path_factory.mktemp("cache")
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("dev", "test", "sentences"):
        convert([DEMO / f"{name}.jsonl"], folder / f"{name}.spacy")
    return folder


@pytest.fixture(scope="module")
def support(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("support")
    dev = Corpus(corpus / "dev.spacy")
    chosen = sample_greedily(dev.mentions, 5, 0)
    dev.write_support(folder / "set.spacy", chosen)
    return folder / "set.spacy"


@pytest.fixture(scope="module")
def adapted(shipped, support, tmp_path_factory):
    output = tmp_path_factory.mktemp("adapted") / "pipeline"
    args = ["adapt", str(shipped), str(support), str(output)]
    result = CliRunner().invoke(epnet_cli, args)
    assert result.exit_code == 0, result.output
    assert "SPACECRAFT" in result.output
    return output


def evaluate(model, path):
    nlp = spacy.load(model)
    return nlp.evaluate(list(spacy.training.Corpus(path)(nlp)))


@pytest.mark.parametrize("name", list_sources())
def test_weights_are_small_and_their_licenses_named(name):
    folder = PACKED / name
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < MAX_MEGABYTES[name] * 1e6
    meta = srsly.read_json(folder / "meta.json")
    license = (PACKED / "LICENSE.md").read_text(encoding="utf8")
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf8")
    assert len(meta["sources"]) >= 10
    for note in meta["sources"]:
        row = [note["name"], note["author"], note["license"], note["url"]]
        assert f"| {' | '.join(row)} |" in license
        assert re.search(
            rf"^\| `{note['corpus']}` .* {note['license']} \|$", page, re.MULTILINE
        )


def test_five_examples_of_each_type_teach_a_new_domain(adapted, corpus):
    scores = evaluate(adapted, corpus / "test.spacy")
    assert len(scores["ents_per_type"]) == 6
    assert scores["ents_f"] > 0.6


def test_the_demos_sentences_are_recognized(shipped, corpus):
    nlp = spacy.load(shipped)
    dev = Corpus(corpus / "dev.spacy", nlp.vocab)
    shown = list(spacy.training.Corpus(corpus / "sentences.spacy")(nlp))
    scores = []
    for seed in range(5):
        chosen = sample_greedily(dev.mentions, 5, seed)
        adapted = adapt(nlp, [dev.docs[i] for i in chosen]).nlp
        scores.append(adapted.evaluate(shown)["ents_f"])
    assert fmean(scores) > 0.7


def test_the_example_for_spacys_universe_prints_what_it_says(
    shipped, monkeypatch, capsys
):
    entry = srsly.read_json(ROOT / "universe.json")
    loaded = spacy.load(shipped)
    monkeypatch.setattr(spacy_epnet, "load_source", lambda name: loaded, raising=False)
    exec("\n".join(entry["code_example"]), {})
    assert f"# {capsys.readouterr().out.strip()}" == entry["code_example"][-1]


def test_adapting_takes_seconds_and_repeats_to_the_last_digit(shipped, support):
    nlp = spacy.load(shipped)
    docs = Corpus(support, nlp.vocab).docs
    first, second = (adapt(nlp, docs) for _ in range(2))
    assert first.learning.tuning.losses == second.learning.tuning.losses
    # A limit for slow machines under load. Figures are measured, not tested.
    assert second.seconds["total"] < 60


def test_old_types_are_recognized_as_before_when_new_ones_join(shipped, support):
    nlp = spacy.load(shipped)
    docs = Corpus(support, nlp.vocab).docs
    for doc in docs:
        doc.ents = [ent for ent in doc.ents if ent.label_ == "INSTRUMENT"]
    grown = adapt(nlp, docs, extend=True).nlp
    found = [ent.label_ for doc in docs for ent in grown(doc.text).ents]
    assert found.count("INSTRUMENT") >= 2
    before, after = (
        [
            (get_ents(doc), doc.spans["epnet_ner"].attrs["scores"].tolist())
            for doc in pipeline.pipe(SOURCE_TEXTS)
        ]
        for pipeline in (nlp, grown)
    )
    untouched = [
        (a, b)
        for a, b in zip(before, after, strict=True)
        if "INSTRUMENT" not in {label for *_, label in b[0]}
    ]
    assert len(untouched) >= len(SOURCE_TEXTS) / 2
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
