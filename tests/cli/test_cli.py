"""The component under spaCy's own commands."""

import json
import re
import runpy
import shutil
import zipfile
from functools import partial

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin
from thinc.api import Config
from typer.main import get_command
from typer.testing import CliRunner

from spacy_epnet.cli import epnet_cli
from spacy_epnet.cli.recognize import list_texts
from spacy_epnet.errors import CorpusError, EncoderError

from ..conftest import ROOT, SOURCE_CONFIG, get_ents
from ..util.commands import read, run


@pytest.fixture(scope="module")
def corpus(references, tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "docs.spacy"
    DocBin(docs=references).to_disk(path)
    return path


@pytest.fixture(scope="module")
def overrides(tiny_encoder, corpus):
    settings = {
        "paths.encoder": tiny_encoder,
        "paths.train": corpus,
        "paths.dev": corpus,
        "components.epnet_ner.model.prototype_size": 32,
        "components.epnet_ner.model.learn_rate_scale": 1.0,
        "training.max_epochs": 0,
        "training.max_steps": 60,
        "training.eval_frequency": 30,
        "training.optimizer.learn_rate.initial_rate": 0.01,
        "training.optimizer.learn_rate.warmup_steps": 1,
    }
    return [f"--{key}={value}" for key, value in settings.items()]


@pytest.fixture(scope="module")
def training(overrides, tmp_path_factory):
    """The output folder of `spacy train`, and what it printed."""
    folder = tmp_path_factory.mktemp("training")
    log = folder / "log.jsonl"
    command = ["train", SOURCE_CONFIG, "--output", folder, *overrides]
    output = run(*command, f"--training.logger.output_file={log}")
    return folder, output


@pytest.fixture
def model(training):
    return training[0] / "model-best"


def test_train_learns_and_logs_the_parts_of_the_loss(training, model):
    folder, output = training
    header = next(line for line in output.splitlines() if "ENTS_F" in line)
    assert "LOSS L_S" in header
    assert "LOSS L_D" in header
    rows = list(srsly.read_jsonl(folder / "log.jsonl"))
    assert [row["step"] for row in rows] == [0, 30, 60]
    for row in rows:
        losses = row["losses"]
        assert losses["epnet_ner"] == pytest.approx(losses["L_s"] + losses["L_d"])
    assert rows[-1]["scores"]["ents_f"] > 80
    assert spacy.load(model).get_pipe("epnet_ner").labels == ("PERSON", "PLACE")


def test_training_goes_on_from_a_trained_pipeline(model, examples):
    nlp = spacy.load(model)
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.001
    losses = [nlp.update(examples, sgd=optimizer, losses={}) for _ in range(10)]
    assert losses[0]["epnet_ner"] < 1
    assert losses[-1]["epnet_ner"] < losses[0]["epnet_ner"]


def test_a_sourced_and_frozen_transformer_stays_as_it_is(
    model, overrides, tmp_path, references
):
    config = spacy.util.load_config(SOURCE_CONFIG)
    config["components"]["transformer"] = {"source": str(model)}
    config["training"]["frozen_components"] = ["transformer"]
    config["training"]["annotating_components"] = ["transformer"]
    config.to_disk(tmp_path / "frozen.cfg", interpolate=False)
    run("train", tmp_path / "frozen.cfg", "-o", tmp_path / "out", *overrides)
    frozen = spacy.load(tmp_path / "out" / "model-best")
    for nlp in (frozen, spacy.load(model)):
        assert nlp(references[0].text).ents
    vectors = [
        nlp(references[0].text)._.trf_data.tensors[0]
        for nlp in (frozen, spacy.load(model))
    ]
    assert (vectors[0] == vectors[1]).all()


def test_evaluate(model, corpus, tmp_path):
    output = run("evaluate", model, corpus, "--output", tmp_path / "scores.json")
    assert "NER F" in output
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["ents_f"] > 0.8
    assert set(scores["ents_per_type"]) == {"PERSON", "PLACE"}


def test_find_threshold(model, corpus):
    output = run(
        "find-threshold", model, corpus, "epnet_ner", "threshold", "ents_f", "-n", 3
    )
    rows = re.findall(r"^([\d.]+) +([\d.]+) *$", output, flags=re.MULTILINE)
    values = {float(threshold): float(score) for threshold, score in rows}
    assert set(values) == {0.0, 0.5, 1.0}
    assert values[1.0] < values[0.0]


def test_init_labels(overrides, tmp_path):
    run("init", "labels", SOURCE_CONFIG, tmp_path, *overrides)
    path = tmp_path / "epnet_ner.json"
    assert srsly.read_json(path) == ["PERSON", "PLACE"]
    config = spacy.util.load_config(SOURCE_CONFIG)
    config["initialize"]["components"]["epnet_ner"] = {
        "labels": {"@readers": "spacy.read_labels.v1", "path": str(path)}
    }
    config.to_disk(tmp_path / "labels.cfg")
    folder = tmp_path / "training"
    run("train", tmp_path / "labels.cfg", "-o", folder, *overrides)
    nlp = spacy.load(folder / "model-last")
    assert nlp.get_pipe("epnet_ner").labels == ("PERSON", "PLACE")


def test_fill_config(tmp_path):
    base = tmp_path / "base.cfg"
    base.write_text(
        '[nlp]\nlang = "en"\npipeline = ["transformer", "epnet_ner"]\n'
        '[components]\n[components.transformer]\nfactory = "transformer"\n'
        '[components.epnet_ner]\nfactory = "epnet_ner"\n'
    )
    run("init", "fill-config", base, tmp_path / "full.cfg")
    filled = spacy.util.load_config(tmp_path / "full.cfg")
    assert filled["components"]["epnet_ner"]["tau"] == 3.0
    assert filled["components"]["epnet_ner"]["model"]["n_prototypes"] == 101


def test_the_source_config_needs_no_filling(tmp_path):
    run("init", "fill-config", SOURCE_CONFIG, tmp_path / "full.cfg")
    shipped = spacy.util.load_config(SOURCE_CONFIG)
    assert spacy.util.load_config(tmp_path / "full.cfg") == shipped


def test_debug_config(overrides):
    assert "Config is valid" in run("debug", "config", SOURCE_CONFIG, *overrides)


def test_assemble(model, tmp_path):
    config = tmp_path / "assemble.cfg"
    source = {"source": str(model)}
    names = ["transformer", "epnet_ner"]
    Config(
        {
            "nlp": {"lang": "en", "pipeline": names},
            "components": dict.fromkeys(names, source),
        }
    ).to_disk(config)
    run("assemble", config, tmp_path / "assembled")
    text = "Grace Hopper lives in Cape Town ."
    nlp = spacy.load(tmp_path / "assembled")
    assert get_ents(nlp(text)) == get_ents(spacy.load(model)(text))
    assert nlp(text).ents


# spaCy leaves files open when it builds a package.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_package(model, tmp_path):
    options = ("--build", "wheel", "--name", "demo", "--version", "1.0.0")
    run("package", model, tmp_path, *options)
    (wheel,) = tmp_path.glob("**/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        metadata = next(n for n in archive.namelist() if n.endswith("METADATA"))
        requirements = archive.read(metadata).decode()
    assert "Requires-Dist: spacy-epnet" in requirements
    (folder,) = (tmp_path / "installed").glob("en_demo/en_demo-1.0.0")
    assert spacy.load(folder).pipe_names == ["transformer", "epnet_ner"]


recognize = partial(read, "epnet", "recognize")


def test_recognize(model, tmp_path):
    output = recognize(model, "Ada lives in Paris .")
    assert "PERSON" in output
    assert re.search(r"\b[01]\.\d{3}\b", output)
    path = tmp_path / "texts.txt"
    path.write_text("Ada lives in Paris .\n\nNobody was there .\n")
    assert "no entities" in recognize(model, "--file", path)


def test_recognized_entities_are_compared_with_marked_ones(model, tmp_path):
    text = "Ada lives in Paris ."
    nlp = spacy.load(model)
    found = {ent.text: ent.label_ for ent in nlp(text).ents}
    assert found == {"Ada": "PERSON", "Paris": "PLACE"}
    marks = [(0, 3, "PERSON"), (13, 18, "TOWN"), (4, 9, "VERB")]
    spans = [{"start": s, "end": e, "label": label} for s, e, label in marks]
    path = tmp_path / "marked.jsonl"
    srsly.write_jsonl(path, [{"text": text, "spans": spans}])
    shown = recognize(model, "--marked", path)
    assert "several labels" not in shown
    assert re.search(r"Ada PERSON [01]\.\d+ right Paris PLACE", shown)
    assert "wrong, it is marked as TOWN lives VERB missed" in shown
    assert "Precision 50.0, recall 33.3, F1 40.0" in shown
    srsly.write_jsonl(path, [{"text": text, "spans": []}])
    shown = recognize(model, "--marked", path)
    assert shown.count("nothing like this is marked") == 2
    assert "no such file" in recognize(model, "--marked", tmp_path / "x", code=1)


def test_recognize_says_what_is_missing(model, tmp_path):
    assert "nothing to recognize" in recognize(model, code=1)
    assert "no such file" in recognize(model, "-f", tmp_path / "x", code=1)
    shown = recognize(tmp_path / "nowhere", "Ada", code=1)
    assert "There is no pipeline '" in shown


def test_missing_encoder_says_what_to_do(overrides, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    encoder = "--paths.encoder=assets/encoders/all-MiniLM-L6-v2"
    result = CliRunner().invoke(app, ["train", str(SOURCE_CONFIG), *overrides, encoder])
    assert result.exit_code == 1
    assert "There is no encoder at '" in str(result.exception)
    assert "one of all-MiniLM-L6-v2" in str(result.exception)


def test_hub_names_go_to_the_hub(overrides, monkeypatch):
    asked = []

    def from_pretrained(name, **kwargs):
        asked.append(name)
        raise OSError("no network")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", from_pretrained)
    encoder = "--paths.encoder=bert-base-cased"
    result = CliRunner().invoke(app, ["train", str(SOURCE_CONFIG), *overrides, encoder])
    assert isinstance(result.exception, EncoderError)
    assert asked == ["bert-base-cased"]


def test_help_names_the_commands():
    assert "epnet" in run("--help")
    output = run("epnet", "--help")
    for command in ("adapt", "benchmark", "encoder", "recognize"):
        assert command in output


def test_toy_corpus_is_what_its_script_writes(tmp_path):
    toy = ROOT / "assets" / "toy"
    shutil.copytree(toy, tmp_path / "toy")
    generate = runpy.run_path(str(toy / "generate.py"))["main"]
    generate(tmp_path / "toy")
    files = sorted(toy.glob("*.iob"))
    assert len(files) == 4
    for path in files:
        assert (tmp_path / "toy" / path.name).read_bytes() == path.read_bytes()


def test_the_demos_marks_lie_on_tokens():
    demo = ROOT / "assets" / "demo"
    nlp = spacy.blank("en")
    texts, labels = set(), set()
    for name in ("dev", "test", "sentences"):
        for line in srsly.read_jsonl(demo / f"{name}.jsonl"):
            doc = nlp(line["text"])
            for span in line["spans"]:
                assert doc.char_span(span["start"], span["end"]), (line, span)
                labels.add(span["label"])
            assert doc.text not in texts, doc.text
            texts.add(doc.text)
    assert len(labels) == 6


def test_only_line_feeds_end_a_text(tmp_path):
    path = tmp_path / "texts.txt"
    texts = ["Ada\u2028left.", "one\ftwo\x0bthree", "x\x85y", "z"]
    path.write_text("\n".join([*texts, " ", ""]), encoding="utf8")
    assert list_texts(path) == texts
    path.write_bytes("\r\n".join(texts).encode())
    assert list_texts(path) == texts
    path.write_bytes(b"Ada\n\xff\n")
    with pytest.raises(CorpusError, match="line 2: not UTF-8"):
        list_texts(path)


def find_commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from find_commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_a_gpu_that_is_not_there_is_told_by_every_command(monkeypatch):
    def refuse(gpu_id):
        raise ValueError("No GPU devices detected")

    monkeypatch.setattr("spacy_epnet.cli.options.require_gpu", refuse)
    commands = [
        path
        for path, command in find_commands(get_command(epnet_cli))
        if any("--gpu-id" in param.opts for param in command.params)
    ]
    assert len(commands) > 8
    for path in commands:
        result = CliRunner().invoke(epnet_cli, [*path, "--gpu-id", "0"])
        assert result.exit_code == 1, result.output
        output = " ".join(result.output.split())
        assert "Can't use GPU 0" in output
        assert "No GPU devices detected. Leave out --gpu-id" in output
