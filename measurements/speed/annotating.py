"""Measure annotating corpora against a plain loop over `nlp.pipe`."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice
from operator import call
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import spacy
from spacy.language import Language

from spacy_epnet.annotating.annotator import Recipe, Results
from spacy_epnet.annotating.cluster import run_on_ray
from spacy_epnet.annotating.folder import OutputFolder
from spacy_epnet.annotating.inputs import Input, open_input
from spacy_epnet.annotating.local import run_local
from spacy_epnet.annotating.output_formats import Layout
from spacy_epnet.processes import count_cores

from .measuring import compare, judge, show, take_turns
from .setup import Setup, Table

TARGET = "crossner_politics"
RECORDS = 4_000
SHARD_SIZE = 200
PLAIN = "nlp.pipe"
LAYOUT = Layout("jsonl", "text")
WITHIN = 0.8  # of the local engine's speed, for Ray


def measure_annotating(setup: Setup) -> list[Table]:
    """Let all annotate the same texts. What they need to start isn't counted."""
    sentences = setup.read(f"{TARGET}/test.txt")
    count = RECORDS // 2 if setup.quick else RECORDS
    texts = [" ".join(s.words) for s in islice(cycle(sentences), count)]
    path = setup.folder / "texts.txt"
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf8")
    records = open_input(
        [str(path)], format=None, text_field="text", shard_size=SHARD_SIZE
    )
    cores = count_cores()
    several = f"local, {cores} processes"
    run = partial(time_engine, setup, records)
    nlp = spacy.load(setup.source)
    contestants: dict[str, Callable[[int], float]] = {
        PLAIN: lambda _: time_plain(nlp, texts),
        "local, 1 process": lambda _: run(run_here, 1, cores),
        several: lambda _: run(run_here, cores, 1),
    }
    if find_spec("ray") is not None:
        contestants["ray"] = lambda _: run(run_there, cores, 1)
    repeats = 1 if setup.quick else 3
    # What is compared are the seconds for a word, since parts of the work are timed.
    seconds = take_turns(
        contestants,
        range(repeats),
        measure=call,
        on_block=setup.report_progress("annotating", repeats),
    )
    rows, results = [], {}
    for name, values in seconds.items():
        result: dict[str, Any] = {
            "seconds_per_word": values,
            "to_plain": compare(values, seconds[PLAIN]),
            "to_local": compare(values, seconds[several]),
        }
        results[name] = result
        goal = {
            several: judge(result["to_plain"]["ratio"], least=1),
            "ray": judge(result["to_local"]["ratio"], least=WITHIN),
        }
        rows.append(
            [
                name,
                f"{1 / median(values):.0f}",
                show(result["to_plain"]),
                show(result["to_local"]),
                goal.get(name, ""),
            ]
        )
    header = ["", "words/s", f"x {PLAIN}", f"x {several}", "goal"]
    return [Table(f"annotating, {TARGET}", header, rows, results)]


def time_plain(nlp: Language, texts: list[str]) -> float:
    """Seconds that a word takes in a loop that writes nothing."""
    start = perf_counter()
    words = sum(len(doc) for doc in nlp.pipe(texts))
    return (perf_counter() - start) / words


def time_engine(
    setup: Setup,
    records: Input,
    start: Callable[[Input, Recipe, int], Results],
    processes: int,
    threads: int,
) -> float:
    """Seconds that a word takes an engine which writes shards, once all its processes
    have begun.
    """
    recipe = Recipe(str(Path(setup.source).resolve()), LAYOUT, None, threads, -1)
    output = setup.folder / f"output-{perf_counter()}"
    folder = OutputFolder(output, LAYOUT)
    times, words = [], []
    with folder.open({}):
        for number, size, result in start(records, recipe, processes):
            folder.add(number, size, result)
            times.append(perf_counter())
            words.append(result.words)
    begun = 2 * processes
    return (times[-1] - times[begun - 1]) / sum(words[begun:])


def run_here(records: Input, recipe: Recipe, processes: int) -> Results:
    return run_local(records.read(), recipe, processes)


def run_there(records: Input, recipe: Recipe, processes: int) -> Results:
    return run_on_ray(records, (), recipe, processes=processes, address=None)
