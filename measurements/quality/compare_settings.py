"""Compare settings on tasks of types that a source hasn't seen.

    python -m measurements.quality.compare_settings measure MODEL TASKS
        --output settings/mine
    python -m measurements.quality.compare_settings table settings/mine/*.json

MODEL was trained without the corpora or types that TASKS, a folder, was made of with
`measurements.quality.tasks`. The first row is the default, and each other row changes
what it says. With `--instead ner` a recognizer of spaCy's is fine-tuned from MODEL's
encoder. The table takes the results of several sources together.
"""

from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated

import spacy
import srsly
import typer
from spacy.language import Language

from spacy_epnet.evaluation.benchmark import Benchmark, Profile, make_targets
from spacy_epnet.evaluation.results import to_markdown
from spacy_epnet.recognizer.pipeline import find_recognizer

from .benchmarking import choose_rows, run_together
from .finetuning import FineTuning
from .rows import COMPONENT, DEFAULT, PROFILE, ROWS
from .sources import list_splits

app = typer.Typer()


@app.command()
def measure(
    model: str,
    tasks: Path,
    output: Annotated[Path, typer.Option(help="Folder with a file for each row")],
    shots: str = "1,5",
    supports: int = 3,
    row: Annotated[list[str] | None, typer.Option(help="All by default")] = None,
    instead: Annotated[
        str | None, typer.Option(help="ner or spancat_singlelabel")
    ] = None,
) -> None:
    """Measure rows on each task. What is done already isn't done again."""
    nlp = spacy.load(model)
    name = find_recognizer(nlp).name
    kind = instead or nlp.get_pipe_meta(name).factory
    targets = make_targets(list_splits(sorted(tasks.iterdir())))
    numbers = [int(number) for number in shots.split(",")]
    benchmarks = {}
    for title in choose_rows(row, ROWS[kind]):
        benchmarks[title] = benchmark = make_benchmark(nlp, kind, title)
        benchmark.targets, benchmark.shots = targets, numbers
        benchmark.seeds = [*range(supports)]
    run_together(benchmarks, output)


def make_benchmark(nlp: Language, kind: str, title: str) -> Benchmark:
    """Make what measures a row of a factory of ours, or of a recognizer of spaCy's,
    without targets yet. Its profile is called as the row is.
    """
    changes = dict(ROWS[kind][title])
    own, base = changes.pop(COMPONENT, {}), changes.pop(PROFILE, DEFAULT)
    if kind in ("ner", "spancat_singlelabel"):
        profiles = {title: Profile(DEFAULT, {})}
        return FineTuning(nlp, [], profiles, [], [], rival=kind, **changes)  # type: ignore[arg-type]
    source = find_recognizer(nlp).copy()
    for setting, value in own.items():
        source.recognizer.cfg[setting] = value
    return Benchmark(source.nlp, [], {title: Profile(base, changes)}, [], [])


@app.command()
def table(files: list[Path]) -> None:
    """Show the rows of one or several files, with their differences to the default."""
    scores = read_scores(files)
    if DEFAULT not in scores:
        raise typer.BadParameter(f"there is no {DEFAULT}.json to compare with")
    print(make_table(scores))


def read_scores(files: list[Path]) -> dict[str, dict[tuple, float]]:
    """Read the F1 of each row by task, shots and support set, the default's first."""
    scores: dict[str, dict[tuple, float]] = defaultdict(dict)
    for file in sorted(files, key=lambda file: (file.stem != DEFAULT, file)):
        for result in srsly.read_json(file)["runs"].values():
            if "failed" not in result:
                # Files of one folder are of one source.
                target = f"{file.parent}/{result['target']}"
                case = (target, result["shots"], result["support"])
                scores[result["profile"]][case] = result["f"]
    return scores


def make_table(scores: dict[str, dict[tuple, float]]) -> str:
    """Make a table with a row for each setting. Differences are over the same cases,
    their standard error over tasks.
    """
    shots = sorted({number for cases in scores.values() for _, number, _ in cases})
    rows = []
    for name, cases in scores.items():
        both = [case for case in cases if case in scores[DEFAULT]]
        by_shots = [[cases[c] for c in both if c[1] == number] for number in shots]
        by_task = defaultdict(list)
        for case in both:
            by_task[case[0]].append(cases[case] - scores[DEFAULT][case])
        differences = [fmean(values) for values in by_task.values()]
        spread = stdev(differences) / len(differences) ** 0.5 if differences[1:] else 0
        cells = [f"{fmean(own):.1f}" if own else "" for own in by_shots]
        rows.append([name, *cells, f"{fmean(differences):+.1f} ± {spread:.1f}"])
    return to_markdown(["setting", *(f"{n}-shot" for n in shots), "difference"], rows)


if __name__ == "__main__":
    app()
