"""A benchmark with a bar, whose results are kept as they come."""

from collections.abc import Collection
from pathlib import Path

import typer
from tqdm import tqdm

from spacy_epnet.evaluation.benchmark import Benchmark
from spacy_epnet.evaluation.results import Results


def choose_rows(wanted: Collection[str] | None, rows: Collection[str]) -> list[str]:
    """The rows of a table that are wanted, or all of them."""
    unknown = set(wanted or ()) - set(rows)
    if unknown:
        raise typer.BadParameter(f"{unknown.pop()!r} isn't one of: {', '.join(rows)}")
    return list(wanted or rows)


def run(benchmark: Benchmark, output: Path) -> Results:
    """Run a benchmark. What is in the file already isn't measured again."""
    results = Results(output, benchmark.describe())
    total = sum(len(benchmark.list_runs(target)) for target in benchmark.targets)
    with tqdm(total=total, initial=len(results.runs), unit="run") as bar:
        for case, result in benchmark.run(results.runs):
            results.add(case, result)
            bar.update()
    return results
