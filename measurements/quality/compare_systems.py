"""Compare all systems: train what needs training, measure, and write tables.

    python -m measurements.quality.compare_systems corpus/fewnerd_inter corpus/wnut17
        corpus/crossner_politics --encoder assets/encoders/all-MiniLM-L6-v2
        --output training/compare

The first folder is the source, with train.spacy and held-out.spacy. Each other one is a
target, with dev.spacy and test.spacy. The source is a target, too, if it has a
test.spacy with other types, from which support sets are taken as well. What is done
already isn't done again: it can be interrupted at any time.
"""

import random
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import srsly
import typer
from spacy.tokens import DocBin
from wasabi import msg

from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.docbins import ATTRS
from spacy_epnet.evaluation.benchmark import Run, Target, make_targets
from spacy_epnet.evaluation.comparison import read_comparison
from spacy_epnet.writing import write_whole

from .benchmarking import choose_rows, get_results_path, run_together
from .comparison_tables import SHOTS, make_page
from .sources import list_splits
from .systems import SYSTEMS, TRAINED_LAYERS, System, train


def main(
    source: Annotated[Path, typer.Argument(help="Folder of the source's corpus")],
    targets: Annotated[list[Path], typer.Argument(help="Folders of the targets")],
    encoder: Annotated[str, typer.Option(help="The encoder")],
    output: Annotated[Path, typer.Option(help="Folder for all that is made")],
    supports: Annotated[int, typer.Option(help="Support sets of each kind")] = 5,
    share: Annotated[
        float, typer.Option(help="Share of its config's steps that each training has")
    ] = 1.0,
    layers: Annotated[
        int | None, typer.Option(help="Upper layers of the encoder that are trained")
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="Docs of a larger test set, chosen at random")
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option(help="One of the systems. By default all")
    ] = None,
) -> None:
    """Train and measure systems, and write tables of those that are measured."""
    if find_spec("matplotlib") is None:
        # It is needed at the end, which is hours away.
        msg.fail(
            "Plots need Matplotlib and scikit-learn: pip install 'spacy-epnet[viz]'",
            exits=1,
        )
    names = choose_rows(system, [each.name for each in SYSTEMS])
    chosen = [each for each in SYSTEMS if each.name in names]
    settings = {
        "--paths.encoder": encoder,
        "--paths.train": str(source / "train.spacy"),
        "--paths.dev": str(source / "held-out.spacy"),
    }
    if layers is not None:
        settings[TRAINED_LAYERS] = str(layers)
    domains = list_targets(source, targets)
    if queries is not None:
        domains = [cut_target(each, queries, output / "targets") for each in domains]
    seeds = [*range(supports)]
    left = [each for each in chosen if not is_measured(each, output, domains, seeds)]
    for name in dict.fromkeys(each.source for each in left):
        msg.divider(f"Source: {name}")
        train(name, output, settings, share)
    if left:
        measure(left, output, domains, seeds)
    write_tables(output)


def list_targets(source: Path, targets: list[Path]) -> list[Target]:
    """List the targets, and the source's own test set, if it has one, at the end."""
    paths = list_splits(targets)
    own = source / "test.spacy"
    return make_targets([*paths, own, own] if own.exists() else paths)


def cut_target(target: Target, limit: int, folder: Path) -> Target:
    """Leave only so many docs in a test set, because systems that train their encoder
    encode all of it for each support set. Smaller test sets are kept in a folder.
    """
    corpus = Corpus(target.test)
    if len(corpus.docs) <= limit:
        return target
    chosen = random.Random(0).sample(corpus.docs, limit)
    path = folder / target.name / target.test.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as whole:
        DocBin(attrs=ATTRS, docs=chosen).to_disk(whole)
    dev = path if target.dev == target.test else target.dev
    return target._replace(dev=dev, test=path)


def is_measured(
    system: System, folder: Path, targets: list[Target], seeds: list[int]
) -> bool:
    """Whether all results of a system are there, of the same corpora, so that its
    source isn't needed.
    """
    path = get_results_path(folder / "results", system.name)
    if not path.exists():
        return False
    known = srsly.read_json(path)
    corpora = {t["name"]: t["test_sha256"] for t in known["benchmark"]["targets"]}
    if corpora != {t.name: Corpus(t.test).hash for t in targets}:
        return False
    wanted = {
        Run(target.name, system.profile, shots, seed).key
        for target in targets
        for shots in SHOTS
        for seed in seeds
    }
    return wanted <= {*known["runs"]}


def measure(
    systems: list[System], folder: Path, targets: list[Target], seeds: list[int]
) -> None:
    """Measure systems, whose sources are in a folder, and write the results there."""
    benchmarks = {
        system.name: system.make_benchmark(folder, targets, SHOTS, seeds)
        for system in sorted(systems, key=lambda system: system.source)
    }
    run_together(benchmarks, folder / "results")


def write_tables(folder: Path) -> None:
    """Write tables, a plot and JSON of all results that there are in a folder."""
    from spacy_epnet.evaluation.plots import draw_comparison, save

    results = folder / "results"
    paths = {each.name: get_results_path(results, each.name) for each in SYSTEMS}
    there = {name: path for name, path in paths.items() if path.exists()}
    if SYSTEMS[0].name not in there:
        return
    comparison = read_comparison(there.items())
    page = make_page(comparison, SYSTEMS)
    with write_whole(folder / "tables.md") as path:
        path.write_text(page, encoding="utf8")
    with write_whole(folder / "tables.json") as path:
        srsly.write_json(path, comparison.to_dict())
    save(draw_comparison(comparison.rows), folder / "tables.svg")
    print(page)
    msg.good("Wrote tables.md, tables.json and tables.svg", str(folder))


if __name__ == "__main__":
    typer.run(main)
