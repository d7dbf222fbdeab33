"""Make tasks of corpora that a source was trained without.

    python -m measurements.quality.tasks corpus/sources clinical recipes
        --output corpus/tasks

A task is what a user has: a few types of a corpus that matter, while the others are
left unmarked. Each corpus gives one of eight types, one of three others, and one of a
single type, as OUTPUT/CORPUS-8/dev.spacy and test.spacy and so on. Support sets are
drawn from docs that the corpus trains sources with, and scored on those it holds out.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import Doc, DocBin

from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.docbins import ATTRS

SIZES = (8, 3, 1)  # how many types a task has
DOCS = {"dev": 1500, "test": 300}  # the most docs
MENTIONS = {"dev": 20, "test": 8}  # the fewest of a type


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of the converted corpora")],
    corpora: list[str],
    output: Annotated[Path, typer.Option()],
) -> None:
    """Write the tasks of each corpus."""
    for corpus in corpora:
        rng = random.Random(corpus)
        splits = read_splits(folder, corpus, rng)
        for types in choose_types(splits, rng):
            task = output / f"{corpus}-{len(types)}"
            task.mkdir(parents=True, exist_ok=True)
            for name, docs in splits.items():
                chosen = [keep_types(doc, types) for doc in docs]
                DocBin(attrs=ATTRS, docs=chosen).to_disk(task / f"{name}.spacy")
            print(f"{task}: {', '.join(types)}")


def read_splits(folder: Path, corpus: str, rng: random.Random) -> dict[str, list[Doc]]:
    """Read as many docs of a corpus as are wanted, chosen at random."""
    every = {
        "dev": Corpus(folder / "train" / f"{corpus}.spacy").docs,
        "test": Corpus(folder / "held-out" / f"{corpus}.spacy").docs,
    }
    return {
        name: rng.sample(docs, min(DOCS[name], len(docs)))
        for name, docs in every.items()
    }


def choose_types(splits: dict[str, list[Doc]], rng: random.Random) -> list[list[str]]:
    """Choose the types of each task, which no two tasks share if there are enough."""
    counts = {
        name: Counter(ent.label_ for doc in docs for ent in doc.ents)
        for name, docs in splits.items()
    }
    every = sorted(
        label
        for label in counts["test"]
        if all(counts[name][label] >= least for name, least in MENTIONS.items())
    )
    rng.shuffle(every)
    tasks = []
    for size in SIZES:
        if len(every) < size:
            continue
        tasks.append(sorted(every[:size]))
        # Used types come again when the others have had their turn.
        every = every[size:] + every[:size]
    return tasks


def keep_types(doc: Doc, types: list[str]) -> Doc:
    """Copy a doc without the entities of other types."""
    copy = doc.copy()
    copy.set_ents([ent for ent in doc.ents if ent.label_ in types])
    return copy


if __name__ == "__main__":
    typer.run(main)
