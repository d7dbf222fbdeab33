"""The comparison of all systems, with a tiny encoder."""

import subprocess

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.util import load_config, load_model_from_config
from typer.testing import CliRunner

from measurements.quality.compare_settings import app as settings_app
from measurements.quality.compare_settings import make_benchmark
from measurements.quality.compare_systems import (
    cut_target,
    is_measured,
    list_targets,
    measure,
    write_tables,
)
from measurements.quality.comparison_tables import PAPER, PAPER_COLUMNS
from measurements.quality.finetuning import FineTuning
from measurements.quality.rows import DEFAULT, ROWS
from measurements.quality.systems import SOURCES, SYSTEMS, get_config, train
from spacy_epnet.cli import epnet_cli
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.evaluation.benchmark import Profile, make_targets

from ..conftest import SMALL_TOK2VEC
from ..conftest import train as train_briefly

TRANSFORMER_NAME = "components.transformer.model.name"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_encoder, references):
    """Two sources and two targets."""
    folder = tmp_path_factory.mktemp("compare")
    for name in ("epnet", "structshot"):
        path = get_config(name, folder)
        overrides = {"paths.encoder": str(tiny_encoder)}
        if name == "epnet":
            overrides["components.epnet_ner.model.prototype_size"] = 32
        nlp = load_model_from_config(load_config(path, overrides, interpolate=True))
        examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
        nlp.initialize(lambda examples=examples: examples)
        train_briefly(nlp, examples, steps=3)
        path = folder / "made" / name / "model-best"
        path.parent.mkdir(parents=True)
        nlp.to_disk(path)
    for target in ("one", "source"):
        for split, docs in (("dev", references[:10]), ("test", references[10:])):
            path = folder / target / f"{split}.spacy"
            path.parent.mkdir(exist_ok=True)
            DocBin(docs=docs).to_disk(path)
    return folder


def choose(*names):
    return [system for system in SYSTEMS if system.name in names]


def test_every_system_has_a_source_and_a_config(tmp_path):
    for name in SOURCES:
        assert load_config(get_config(name, tmp_path))["components"]
    assert {system.source for system in SYSTEMS} == set(SOURCES)
    names = [system.name for system in SYSTEMS]
    assert len(set(names)) == len(names)
    assert names[0] == "EP-Net"
    assert {*PAPER} == {*PAPER_COLUMNS}
    for kind, figures in PAPER.items():
        assert set(figures) <= set(names)
        assert {*map(len, figures.values())} == {len(PAPER_COLUMNS[kind])}


def test_sources_are_trained_with_their_settings(monkeypatch, tmp_path):
    calls = []

    def note(args, **_):
        calls.append(args)
        return subprocess.CompletedProcess(args, returncode=len(calls) - 1)

    monkeypatch.setattr(subprocess, "run", note)
    train("cosine", tmp_path, {"--paths.train": "train.spacy"}, share=0.1)
    (call,) = calls
    options = dict(zip(call[6::2], call[7::2], strict=True))
    assert options["--output"] == str(tmp_path / "cosine")
    assert options["--components.epnet_ner.model.similarity"] == "cosine"
    assert options["--paths.train"].endswith("train.spacy")
    assert options["--training.max_steps"] == "300"
    # All of them are settings that there are.
    overrides = {
        key.removeprefix("--"): value
        for key, value in options.items()
        if key != "--output"
    }
    config = load_config(call[5], overrides, interpolate=True)
    assert config["components"]["epnet_ner"]["model"]["similarity"] == "cosine"
    with pytest.raises(SystemExit):
        train("cosine", tmp_path, {})


def test_systems_are_measured_and_shown(folder, capsys):
    targets = list_targets(folder / "source", [folder / "one"])
    assert [target.name for target in targets] == ["one", "source"]
    assert targets[1].dev == targets[1].test
    systems = choose("EP-Net", "NNShot", "StructShot")
    measure(systems, folder / "made", targets, [0])
    write_tables(folder / "made")
    page = (folder / "made" / "tables.md").read_text(encoding="utf8")
    assert page in capsys.readouterr().out
    assert "## Published systems, 5-shot" in page
    lines = [line for line in page.splitlines() if line.startswith("| NNShot")]
    assert lines[0].endswith("| 21.7 | 25.7 |")
    assert "The paper's figures are of BERT-base" in page
    figures = srsly.read_json(folder / "made" / "tables.json")
    assert {row["name"] for row in figures["rows"]} == {s.name for s in systems}
    assert figures["shared"] == ["one", "source"]
    svg = (folder / "made" / "tables.svg").read_text(encoding="utf8")
    assert "</svg>" in svg
    # What is done isn't done again, for which no source is needed.
    (first, *_) = systems
    assert is_measured(first, folder / "made", targets, [0])
    assert not is_measured(first, folder / "made", targets, [0, 1])
    assert not is_measured(first, folder / "made", targets[:1], [0])
    assert not is_measured(*choose("ESD"), folder / "made", targets, [0])
    path = folder / "made" / "results" / "ep-net.json"
    before = path.read_bytes()
    measure(systems, folder / "made", targets, [0])
    assert path.read_bytes() == before
    plot = folder / "plot.png"
    result = CliRunner().invoke(
        epnet_cli, ["compare", f"a={path}", f"b={path}", "--plot", str(plot)]
    )
    assert result.exit_code == 0, result.output
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_large_test_sets_are_cut(folder, tmp_path):
    other, own = list_targets(folder / "source", [folder / "one"])
    size = len(Corpus(other.test).docs)
    assert cut_target(other, size, tmp_path) == other
    cut = cut_target(other, 3, tmp_path)
    assert cut.dev == other.dev
    texts = [doc.text for doc in Corpus(cut.test).docs]
    assert len(texts) == 3
    assert set(texts) <= {doc.text for doc in Corpus(other.test).docs}
    # The sentences of a support set aren't scored, so that it has to be the same file.
    cut = cut_target(own, 3, tmp_path)
    assert cut.dev == cut.test
    assert cut.name == own.name
    before = cut.test.read_bytes()
    assert cut_target(own, 3, tmp_path).test.read_bytes() == before


@pytest.mark.parametrize("kind", ROWS)
def test_the_rows_of_settings_are_settings(folder, kind):
    instead = kind in ("ner", "spancat_singlelabel")
    if kind in ("epnet_ner", "structshot_ner") or instead:
        source = "structshot" if kind == "structshot_ner" else "epnet"
        nlp = spacy.load(folder / "made" / source / "model-best")
    else:
        nlp = spacy.blank("en")
        nlp.add_pipe(kind, config={"model": {"tok2vec": SMALL_TOK2VEC}})
    assert next(iter(ROWS[kind])) == DEFAULT
    described = [
        make_benchmark(nlp, kind, title).describe()["profiles"][title]
        for title in ROWS[kind]
    ]
    assert all(described)


def test_rows_of_settings_are_measured(folder):
    tasks = folder / "tasks"
    tasks.mkdir()
    (tasks / "one").symlink_to(folder / "one")
    model = str(folder / "made" / "structshot" / "model-best")
    args = ["measure", model, str(tasks), "--output", str(folder / "settings")]
    rows = ["--row", DEFAULT, "--row", "temperature 1.0", "--supports", "1"]
    result = CliRunner().invoke(settings_app, [*args, *rows])
    assert result.exit_code == 0, result.output
    files = sorted((folder / "settings").iterdir())
    assert [path.name for path in files] == ["default.json", "temperature-1.0.json"]
    hashes = {srsly.read_json(p)["benchmark"]["source_sha256"] for p in files}
    assert len(hashes) == 2  # the setting of the component has changed


def test_nnshot_is_made_of_structshot(folder, references):
    (nnshot,) = choose("NNShot")
    source = spacy.load(folder / "made" / "structshot" / "model-best")
    nlp = nnshot.turn(spacy.load(folder / "made" / "structshot" / "model-best"))
    pipe = nlp.get_pipe("structshot_ner")
    assert type(pipe).__name__ == "NNShotRecognizer"
    before = source.get_pipe("structshot_ner")
    assert pipe.model.to_bytes() == before.model.to_bytes()
    assert pipe.labels == before.labels
    docs = list(nlp.pipe(doc.text for doc in references))
    assert any(doc.ents for doc in docs)


@pytest.mark.parametrize("rival", ["ner", "spancat_singlelabel"])
def test_recognizers_of_spacy_are_fine_tuned(folder, rival):
    settings = {"paths.encoder": "any", TRANSFORMER_NAME: "${paths.encoder}"}
    nlp = spacy.load(folder / "made" / "epnet" / "model-best", config=settings)
    before = nlp.to_bytes(exclude=["vocab"])
    path = folder / "one" / "dev.spacy"
    benchmark = FineTuning(
        nlp,
        make_targets([path, folder / "one" / "test.spacy"]),
        {"default": Profile("default", {})},
        [5],
        [0],
        rival=rival,
        steps=80,
        learn_rate=0.005,
    )
    assert benchmark.describe()["recognizer"] == rival
    ((_, result),) = benchmark.run()
    assert result["f"] > 30
    assert result["learning"].startswith("80 steps")
    assert nlp.to_bytes(exclude=["vocab"]) == before
