"""Compare ways to train a source pipeline, on corpora that it is trained without.

    python -m measurements.quality.left_out corpus/sources --source training/small-0.2.0
        --output training/left-out

The folder has what `spacy project run convert-sources` makes. Each row is a training of
the same length, continued from a source pipeline that has seen none of these corpora,
as `small` had not in version 0.2.0. Their types go by their names in words. What is
done already isn't done again: it can be interrupted at any time.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_epnet.corpora.docbins import ATTRS
from spacy_epnet.corpora.listed_corpora import read_listed_corpora
from spacy_epnet.corpora.type_names import read_type_names
from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.comparison import read_comparison
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.recognizer.pipeline import find_recognizer

from .benchmarking import choose_rows, get_results_path, run_together
from .sources import list_splits, train_source
from .tasks import read_splits

CONFIG = Path(__file__).parents[2] / "configs" / "mixed.cfg"
# The corpora of the first version of `small`.
FIRST = 12
# What is like the README's targets, and some that is unlike them. A colon is followed
# by the only type of a target.
LEFT_OUT = [
    "ai_papers",
    "chemical_disease",
    "chemical_disease:Disease",
    "courts",
    "customer_service",
    "disasters",
    "docred",
    "fiction",
    "history",
]
SHOTS = [0, 1, 5]
# How often a type occurs at least where support sets are drawn, and in the test set.
LEAST = {"dev": 10, "test": 2}


def leave(nlp: Language) -> Language:
    """Leave a pipeline as it is."""
    return nlp


def forget_names(nlp: Language) -> Language:
    """Let a pipeline compare names without knowing where prototypes lie by them."""
    find_recognizer(nlp).recognizer.learned["maps_names"] = False
    return nlp


class Row(NamedTuple):
    """A way to train, and what is made of the trained pipeline."""

    training: str
    settings: Mapping[str, str] = {}
    first_only: bool = False  # whether it is trained on the first corpora alone
    turn: Callable[[Language], Language] = leave


ROWS = {
    "as shipped": Row("shipped"),
    "own part only": Row("shipped", turn=forget_names),
    "names not trained": Row("unnamed", {"--components.epnet_ner.name_weight": "0"}),
    "no descriptions": Row(
        "undescribed",
        {"--initialize.components.epnet_ner.names.descriptions": "false"},
    ),
    "first twelve corpora": Row("first", first_only=True),
}


def main(
    corpora: Annotated[Path, typer.Argument(help="Folder of the converted corpora")],
    source: Annotated[
        str, typer.Option(help="Pipeline to continue from, which hasn't seen them")
    ],
    output: Annotated[Path, typer.Option(help="Folder for all that is made")],
    steps: int = 1500,
    supports: int = 2,
    row: Annotated[list[str] | None, typer.Option(help="All by default")] = None,
) -> None:
    """Train and measure, and show a table of all rows that are measured."""
    folders = [make_target(corpora, name, output / "targets") for name in LEFT_OUT]
    targets = make_targets(list_splits(folders))
    profiles = {"default": Profile("default", {})}
    for name in choose_rows(row, ROWS):
        nlp = ROWS[name].turn(train(ROWS[name], corpora, source, output, steps))
        benchmark = Benchmark(nlp, targets, profiles, SHOTS, [*range(supports)])
        run_together({name: benchmark}, output / "results")
    print(make_table(output / "results"))


def train(row: Row, corpora: Path, source: str, output: Path, steps: int) -> Language:
    """Train a pipeline, or load it if it is trained already."""
    folder = output / row.training
    if not (folder / "model-last").exists():
        settings = {
            "--paths.corpora": str(corpora),
            "--paths.source": source,
            "--mixture.without": json.dumps(list_without(first_only=row.first_only)),
            "--training.max_steps": str(steps),
            "--training.optimizer.learn_rate.total_steps": str(steps),
            "--training.eval_frequency": "500",
            "--corpora.dev.limit": "5",  # how well it knows its own types isn't asked
        }
        train_source(CONFIG, folder, {**settings, **row.settings})
    return spacy.load(folder / "model-last")


def list_without(*, first_only: bool) -> list[str]:
    """List the corpora that a pipeline isn't trained on."""
    listed = [each.corpus for each in read_listed_corpora()]
    others = listed[FIRST:] if first_only else []
    return sorted({*(name.partition(":")[0] for name in LEFT_OUT), *others})


def make_target(corpora: Path, name: str, output: Path) -> Path:
    """Write the dev and test set of a target, whose types are called by their names."""
    corpus, _, only = name.partition(":")
    folder = output / name.replace(":", "-")
    if folder.exists():
        return folder
    types = read_type_names()
    splits = read_splits(corpora, corpus, random.Random(corpus))
    counts = {split: count_types(docs) for split, docs in splits.items()}
    kept = {
        label: types[f"{corpus}:{label}"].name
        for label in counts["test"]
        if all(counts[split][label] >= least for split, least in LEAST.items())
        and only in ("", label)
    }
    folder.mkdir(parents=True)
    for split, docs in splits.items():
        for doc in docs:
            found = [ent for ent in doc.ents if ent.label_ in kept]
            doc.set_ents([Span(doc, e.start, e.end, kept[e.label_]) for e in found])
        DocBin(attrs=ATTRS, docs=docs).to_disk(folder / f"{split}.spacy")
    return folder


def count_types(docs: Iterable[Doc]) -> Counter[str]:
    """Count the entities of each type."""
    return Counter(ent.label_ for doc in docs for ent in doc.ents)


def make_table(results: Path) -> str:
    """Make a table of all rows whose results are in a folder."""
    paths = {name: get_results_path(results, name) for name in ROWS}
    there = {name: path for name, path in paths.items() if path.exists()}
    return to_markdown(*read_comparison(there.items()).get_table())


if __name__ == "__main__":
    typer.run(main)
