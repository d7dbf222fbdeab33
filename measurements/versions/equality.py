"""Compare weights, entities and probabilities of two versions."""

from collections.abc import Iterator
from typing import Any

from ..speed.setup import Table
from .checkout import Versions
from .material import SHOTS, TARGETS, TOY, read_columns, read_target

# How a recognizer is trained: the name of its config in a checkout.
RECOGNIZERS = {
    "source": "epnet_ner",
    "paper": "epnet_ner",
    "epnet_tokens": "epnet_tokens_ner",
    "cpnet": "cpnet_ner",
    "esd": "esd_ner",
    "protonet": "protonet_ner",
    "protonet_pd": "protonet_pd_ner",
    "nnshot": "nnshot_ner",
    "structshot": "structshot_ner",
    "container": "container_ner",
}
HASHES = ("trained", "weights", "entities", "scores")


def compare_results(setup: Versions) -> Iterator[Table]:
    """Compare the shipped sources, adapted to each target."""
    targets = ["demo"] if setup.quick else ["demo", *TARGETS]
    cases = {}
    for name in targets:
        target = read_target(name, setup.corpora, limit=get_limit(setup))
        for shots in SHOTS:
            for seed in range(1 if setup.quick else 2):
                support = target.draw(shots, seed)
                case = {"support": support, "test": target.test}
                cases[f"{name}, {shots}-shot, set {seed}"] = case
    for source in setup.sources:
        answers = setup.run("adapt", threads=1, source=source, cases=cases)
        yield make_table(f"equality, source {source}", *answers)


def compare_trainings(setup: Versions) -> Iterator[Table]:
    """Compare all recognizers, trained for a few steps and adapted to the demo."""
    target = read_target("demo", setup.corpora, limit=get_limit(setup))
    answers = setup.run(
        "train",
        threads=1,
        source="small",
        recognizers=RECOGNIZERS,
        train=read_columns(TOY)[:200],
        case={"support": target.draw(5, 0), "test": target.test},
    )
    yield make_table("equality, all recognizers", *answers)


def get_limit(setup: Versions) -> int:
    """Return how many test texts are recognized."""
    return 50 if setup.quick else 200


def make_table(title: str, old: dict[str, Any], new: dict[str, Any]) -> Table:
    """Compare what both found in each case."""
    rows = []
    for name, found in old.items():
        hashes = [kind for kind in HASHES if kind in found]
        differing = [kind for kind in hashes if found[kind] != new[name][kind]]
        same = "same" if not differing else f"DIFFER: {', '.join(differing)}"
        f1 = [f"{100 * version[name]['f1']:.2f}" for version in (old, new)]
        rows.append([name, str(found["found"]), *f1, same])
    header = ["", "entities", "F1 old", "F1 new", "hashes"]
    return Table(title, header, rows, {"old": old, "new": new})


def is_equal(table: Table) -> bool:
    """Whether nothing in a table of equality differs."""
    return all(row[-1] == "same" for row in table.rows)
