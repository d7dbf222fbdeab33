"""Run benchmarks with a progress bar, and keep results as they come."""

from collections.abc import Collection, Mapping
from pathlib import Path

import typer
from tqdm import tqdm

from spacy_epnet.evaluation.benchmark import Benchmark
from spacy_epnet.evaluation.query import Queries
from spacy_epnet.evaluation.results import Results


def choose_rows(wanted: Collection[str] | None, rows: Collection[str]) -> list[str]:
    """Choose rows of a table, or all of them."""
    unknown = set(wanted or ()) - set(rows)
    if unknown:
        raise typer.BadParameter(f"{unknown.pop()!r} isn't one of: {', '.join(rows)}")
    return list(wanted or rows)


def run_together(benchmarks: Mapping[str, Benchmark], folder: Path) -> None:
    """Run benchmarks of the same targets. Neighbors over the same encoder share the
    query sets. For the results of each see `get_results_path`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = {
        name: Results(get_results_path(folder, name), benchmark.describe())
        for name, benchmark in benchmarks.items()
    }
    targets = next(iter(benchmarks.values())).targets
    total = sum(len(b.list_runs(t)) for b in benchmarks.values() for t in targets)
    done = sum(len(results.runs) for results in kept.values())
    with tqdm(total=total, initial=done, unit="run") as bar:
        for target in targets:
            queries = Queries()
            for name, benchmark in benchmarks.items():
                bar.set_description(f"{target.name}: {name}")
                runs = benchmark.run_target(target, queries, kept[name].runs)
                for case, result in runs:
                    kept[name].keep(case.key, result)
                    bar.update()


def get_results_path(folder: Path, name: str) -> Path:
    """Return the path of the results of a benchmark."""
    words = "".join(c if c.isalnum() or c == "." else " " for c in name.lower())
    return folder / f"{'-'.join(words.split())}.json"
