"""Measure start-up and loading."""

import subprocess
import sys
from operator import call
from pathlib import Path
from statistics import median
from typing import Any

import spacy

from spacy_epnet import adapt

from .contestants import make_pipeline, train_briefly
from .measuring import compare, judge, show, take_turns
from .setup import Setup, Table

# spaCy's own import takes seconds, and varies by more than we add to it, so only what
# comes after it is timed. A full garbage collection could fall on either side of that.
TIMED = """
{before}
import gc, time
gc.collect()
start = time.process_time()
try:
    {timed}
finally:
    print(time.process_time() - start)
"""
WITHOUT_US = """
import importlib.metadata as metadata
find = metadata.distributions
def distributions(**context):
    found = find(**context)
    return (d for d in found if d.metadata["Name"] != "spacy-epnet" or {keeps})
metadata.distributions = distributions
import sys, spacy.cli
sys.argv = ["spacy", "--help"]
"""
HELP = "spacy.cli.setup_cli()"
NOTHING = "import spacy"
SCRIPTS = {
    "import spacy again": (NOTHING, NOTHING),
    "import spacy_epnet": (NOTHING, "import spacy_epnet"),
    "spacy --help without us": (WITHOUT_US.format(keeps=False), HELP),
    "spacy --help": (WITHOUT_US.format(keeps=True), HELP),
}
PAIRS = {
    "import spacy_epnet": "import spacy again",
    "spacy --help": "spacy --help without us",
}
MOST_MORE = 50  # milliseconds
MOST_TIMES = 1.2


def measure_startup(setup: Setup) -> list[Table]:
    """Compare starting with us and without us, and loading a pipeline with its
    recognizer and without."""
    return [measure_imports(setup), measure_loading(setup)]


def measure_imports(setup: Setup) -> Table:
    """Start Python again and again, and see how long it computes."""
    repeats = 4 if setup.quick else 15
    seconds = take_turns(
        {name: lambda _, s=script: run(*s) for name, script in SCRIPTS.items()},  # type: ignore[misc]
        range(repeats),
        measure=call,
        on_block=setup.report_progress("imports", repeats),
    )
    rows, results = [], {}
    for name, values in seconds.items():
        result: dict[str, Any] = {"cpu_seconds": values}
        row = [name, f"{1000 * median(values):.0f}", "", ""]
        if name in PAIRS:
            more = 1000 * (median(values) - median(seconds[PAIRS[name]]))
            result["milliseconds_more"] = more
            row[2:] = [f"{more:.0f}", judge(more, most=MOST_MORE)]
        rows.append(row)
        results[name] = result
    header = ["after spaCy is imported", "CPU, ms", "ms more", "goal"]
    return Table("start-up", header, rows, results)


def run(before: str, timed: str) -> float:
    """Run a script in a new Python, and return the CPU seconds of a part of it.
    How long it took depends too much on the disk and on what else the machine does."""
    script = TIMED.format(before=before, timed=timed)
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(result.stdout.strip().splitlines()[-1])


def measure_loading(setup: Setup) -> Table:
    """Load an adapted pipeline with its recognizer and without it."""
    encoder, path = setup.encoder
    train = setup.read("fewnerd_inter/train.txt", limit=300)
    source = train_briefly(make_pipeline(path, "epnet_ner"), train)
    support = [
        ("Juno reached Jupiter in July.", [(0, 4, "SPACECRAFT"), (13, 20, "PLANET")]),
        ("Kourou is where Rosetta began.", [(0, 6, "PLACE"), (16, 23, "SPACECRAFT")]),
    ]
    adapted: Path = setup.folder / "adapted"
    adapt(source, support).nlp.to_disk(adapted)
    alone: Path = setup.folder / "alone"
    without = spacy.load(adapted, exclude=["epnet_ner"])
    without.to_disk(alone)
    folders = {"transformer alone": alone, "adapted pipeline": adapted}
    repeats = 5 if setup.quick else 20
    spacy.load(alone)  # warms up
    seconds = take_turns(
        {name: lambda _, f=folder: spacy.load(f) for name, folder in folders.items()},  # type: ignore[misc]
        range(repeats),
        on_block=setup.report_progress("loading", repeats),
    )
    longer = compare(seconds["transformer alone"], seconds["adapted pipeline"])
    rows = [
        ["transformer alone", f"{median(seconds['transformer alone']):.2f}", "", ""],
        [
            "adapted pipeline",
            f"{median(seconds['adapted pipeline']):.2f}",
            show(longer),
            judge(longer["ratio"], most=MOST_TIMES),
        ],
    ]
    results = {"seconds": seconds, "times_as_long": longer}
    return Table(f"loading, {encoder}", ["", "s", "x as long", "goal"], rows, results)
