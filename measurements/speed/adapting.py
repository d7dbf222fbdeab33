"""Measure how long adapting takes."""

import random
from statistics import median
from time import perf_counter
from typing import Any

import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import Adam, warmup_linear

from spacy_epnet import adapt
from spacy_epnet.corpora.documents import Sentence

from .contestants import (
    draw_support,
    make_examples,
    make_pipeline,
    make_references,
)
from .measuring import get_seconds, judge
from .setup import Setup, Table

SIZES = (10, 100, 1000)
# As `spacy init config --gpu` has them, but for the batches, which are smaller.
LEARN_RATE, STEPS, BATCH = 5e-5, 20_000, 8
# When the loss has stopped falling: after as many passes without a new lowest one. With
# spaCy's own warm-up it hardly moves in the first passes. Without one it falls sooner,
# and there is a first dip that one could take for the end.
MANNERS = {
    "as spaCy's quickstart": {"warmup": 250, "patience": 20},
    "without warm-up, to the first dip": {"warmup": 1, "patience": 5},
}
MAX_PASSES = 80


def measure_adapting(setup: Setup) -> list[Table]:
    """Compare adapting with fine-tuning `ner`, and see how it grows."""
    encoder, path = setup.encoder
    source = spacy.load(setup.source)
    return [measure_race(setup, encoder, path, source), measure_growth(setup, source)]


def measure_race(setup: Setup, encoder: str, path: str, source: Language) -> Table:
    """Adapt and fine-tune in turns, on support sets of wnut17's six types."""
    dev = setup.read("wnut17/dev.txt")
    first = dev[:1] + find_entities(dev)[:5]
    adapt(source, make_references(source.vocab, first))  # warms up
    rows, runs = [], []
    n_seeds = 1 if setup.quick else 3
    for seed in range(n_seeds):
        support = draw_support(dev, seed)
        docs = make_references(source.vocab, support)
        seconds = get_seconds(lambda d=docs: adapt(source, d))  # type: ignore[misc]
        for manner, settings in MANNERS.items():
            tuned = fine_tune(path, support, **settings)
            ratio = tuned["until_lowest"] / seconds
            run = {"sentences": len(support), "adapt": seconds, "ratio": ratio}
            runs.append({**run, "manner": manner, "ner": tuned})
            rows.append(
                [
                    f"{len(support)} sentences, ner {manner}",
                    f"{seconds:.2f}",
                    f"{tuned['until_lowest']:.1f}",
                    str(tuned["passes"]),
                    f"{ratio:.1f}",
                    judge(ratio, least=20),
                ]
            )
        setup.report_progress("adapting", n_seeds)(seed + 1)
    header = ["", "adapt, s", "ner to its lowest loss, s", "passes", "x as fast"]
    return Table(f"adapting, {encoder}", [*header, "goal"], rows, {"runs": runs})


def find_entities(sentences: list[Sentence]) -> list[Sentence]:
    """List the sentences that have entities."""
    return [sentence for sentence in sentences if sentence.entities]


def fine_tune(
    path: str, sentences: list[Sentence], *, warmup: int, patience: int
) -> dict[str, Any]:
    """Train `ner` and its transformer until the loss of a pass stops falling."""
    nlp = make_pipeline(path, "ner", drive="stock")
    examples = make_examples(nlp.vocab, sentences)
    nlp.initialize(lambda: examples)
    rate = warmup_linear(LEARN_RATE, warmup, STEPS)
    optimizer = Adam(rate, L2=0.01, grad_clip=1.0, use_averages=False)
    shuffled = random.Random(0)
    losses: list[float] = []
    ends: list[float] = []
    start = perf_counter()
    while len(losses) < MAX_PASSES:
        order = shuffled.sample(examples, len(examples))
        losses.append(train_pass(nlp, order, optimizer))
        ends.append(perf_counter() - start)
        best = losses.index(min(losses))
        if len(losses) - 1 - best >= patience:
            break
    return {
        "until_lowest": ends[best],
        "until_stopped": ends[-1],
        "passes": best + 1,
        "losses": losses,
    }


def train_pass(nlp: Language, examples: list[Example], optimizer: Any) -> float:
    """Train on all examples once, and give the loss."""
    losses: dict[str, float] = {}
    for batch in minibatch(examples, BATCH):
        nlp.update(batch, drop=0.1, sgd=optimizer, losses=losses)
        optimizer.step_schedules()
    return float(losses["ner"])


def measure_growth(setup: Setup, source: Language) -> Table:
    """Adapt to support sets of different sizes, with the same six types."""
    sentences = find_entities(setup.read("wnut17/train.txt"))
    unique = list(
        {" ".join(sentence.words): sentence for sentence in sentences}.values()
    )
    random.Random(0).shuffle(unique)
    first = get_all_types(unique, SIZES[0])
    ordered = first + [sentence for sentence in unique if sentence not in first]
    sizes = SIZES[:2] if setup.quick else SIZES
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    steps: dict[int, int] = {}
    for repeat in range(3):
        for size in sizes:
            docs = make_references(source.vocab, ordered[:size])
            start = perf_counter()
            steps[size] = adapt(source, docs, seed=repeat).learning.details["steps"]
            seconds[size].append(perf_counter() - start)
            setup.report_progress(f"support of {size} sentences", 3)(repeat + 1)
    rows, results = [], {}
    for size in sizes:
        ratio = median(seconds[size]) / median(seconds[sizes[0]])
        before = sizes[max(0, sizes.index(size) - 1)]
        growth = median(seconds[size]) / median(seconds[before])
        results[str(size)] = {"seconds": seconds[size], "steps": steps[size]}
        goal = judge(growth, most=size / before) if size != before else ""
        rows.append(
            [
                str(size),
                f"{median(seconds[size]):.2f}",
                str(steps[size]),
                f"{ratio:.1f}",
                f"{growth:.1f}",
                goal,
            ]
        )
    header = ["sentences", "s", "steps", f"x {sizes[0]} sentences"]
    return Table(
        "growth of the support set", [*header, "x the row above", "goal"], rows, results
    )


def get_all_types(sentences: list[Sentence], count: int) -> list[Sentence]:
    """Choose a few sentences that have all types."""
    found: list[Sentence] = []
    seen: set[str] = set()
    for sentence in sentences:
        labels = {label for *_, label in sentence.entities}
        if labels - seen:
            found.append(sentence)
            seen |= labels
    rest = [sentence for sentence in sentences if sentence not in found]
    return (found + rest)[:count]
