import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from .._compat import import_code
from ..console import msg
from ..errors import InvalidSettingError
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs
from ._app import epnet_cli
from ._errors import report_errors
from .adapt import read_settings
from .options import (
    WITH_SETTINGS,
    CodeFile,
    ComponentName,
    GpuId,
    PerType,
    ResultsPath,
    SettingsFile,
    Shots,
    Source,
    Supports,
)


@epnet_cli.command("benchmark", context_settings=WITH_SETTINGS)
def benchmark_cli(
    ctx: typer.Context,
    model: Source,
    corpora: Annotated[
        list[Path],
        typer.Argument(
            help="DEV TEST of each target: support sets are from DEV, scored is TEST"
        ),
    ],
    shots: Shots = "1,5",
    supports: Supports = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first support set", min=0)] = 0,
    given: Annotated[
        list[Path] | None,
        typer.Option(
            help="Support set to take instead: a set or manifest that spacy epnet "
            "sample has written, or a list of indices. Can be given several times"
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            help="Settings: default or paper. Can be given several times. By default "
            "the config's"
        ),
    ] = None,
    config: SettingsFile = None,
    output: ResultsPath = None,
    name: ComponentName = None,
    per_type: PerType = True,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Measure few-shot recognition: sample support sets, adapt the source pipeline to
    each of them, recognize the whole test set, and score. Give the same corpus as DEV
    and TEST to score on what isn't in the support set. Settings can be changed as
    --adapt.lr 0.001.

    Example: spacy epnet benchmark source dev.spacy test.spacy --shots 1,5

    Example: spacy epnet benchmark source a/dev.spacy a/test.spacy b/dev.spacy
    b/test.spacy --profile paper --profile default --output results.json
    """
    from ..evaluation.benchmark import Benchmark, Profile, make_targets

    import_code(code)
    paths, options = split_paths(list(map(str, corpora)))
    with report_errors("The benchmark stopped", output):
        manifests = [find_manifest(path) for path in given or []]
        known = [*(given or []), *manifests, config, code]
        check_outputs([output], [locate_pipeline(model), *paths, *known])
        profiles: dict[str, Any] = {}
        chosen: str | None
        for chosen in profile or [None]:  # type: ignore[list-item]
            base, changes = read_settings(config, chosen, [*ctx.args, *options])
            profiles[base] = Profile(base, changes)
        benchmark = Benchmark(
            load_pipeline(model),
            make_targets(list(map(Path, paths))),
            profiles,
            read_shots(shots),
            list(range(seed, seed + supports)),
            manifests,
            name,
        )
        results = run_benchmark(benchmark, output)
    print_results(results, per_type=per_type)
    if output is not None:
        msg.good("Wrote the results", str(output))


def run_benchmark(benchmark: Any, output: Path | None) -> Any:
    """Make all runs of a benchmark, or those that are left, with a bar."""
    from ..evaluation.benchmark import format_shots
    from ..evaluation.results import Results

    results = Results(output, benchmark.describe())
    if results.runs:
        msg.info(f"Going on after {len(results.runs)} runs that are done", str(output))
    total = sum(len(benchmark.list_runs(target)) for target in benchmark.targets)
    encoded: Counter[str] = Counter()
    with tqdm(total=total, initial=len(results.runs), unit="run", disable=None) as bar:

        def show_encoding(target: str, n_docs: int, count: int) -> None:
            # A test set is encoded anew for another encoder.
            encoded[target] = encoded[target] % n_docs + count
            bar.set_description(f"Encoding {target}: {encoded[target]} of {n_docs}")

        for run, result in benchmark.run(results.runs, on_encode=show_encoding):
            results.keep(run.key, result)
            bar.set_description(f"{run.target} {run.profile} {format_shots(run.shots)}")
            bar.set_postfix(f1="failed" if "failed" in result else f"{result['f']:.1f}")
            bar.update()
    return results


def find_manifest(path: Path) -> Path:
    """Return the manifest of a support set, or a list of indices itself."""
    return path.with_suffix(".json") if path.suffix == ".spacy" else path


def split_paths(values: list[str]) -> tuple[list[str], list[str]]:
    """Split paths from options, both of which a list of arguments takes up."""
    paths, options = [], []
    rest = iter(values)
    for value in rest:
        if not value.startswith("--"):
            paths.append(value)
        elif "=" in value:
            options.append(value)
        else:
            options += [value, *itertools.islice(rest, 1)]
    return paths, options


def read_shots(value: str) -> list[int]:
    """Read numbers with commas between them."""
    numbers = [part.strip() for part in value.split(",")]
    if not all(number.isdecimal() and int(number) for number in numbers):
        expected = "numbers above 0 with commas, such as 1,5"
        raise InvalidSettingError("shots", value, expected)
    return [int(number) for number in numbers]


def print_results(results: Any, *, per_type: bool) -> None:
    """Print the tables of a benchmark."""
    from ..evaluation.benchmark import format_shots
    from ..evaluation.results import format_spread

    for group in results.summarize():
        n_sets, kind = group["supports"], format_shots(group["shots"])
        failed = f", {group['failed']} more failed" if group["failed"] else ""
        target, profile = group["target"], group["profile"]
        msg.divider(f"{target}, {profile}, {kind}, {n_sets} sets{failed}")
        shown = {"all": group, **(group["per_type"] if per_type else {})}
        rows = [
            (label, *(format_spread(scores[key]) for key in "prf"))
            for label, scores in shown.items()
        ]
        header = ("type", "precision", "recall", "F1")
        msg.figures(rows, header=header, divider=False)
        seconds = {part: value["mean"] for part, value in group["seconds"].items()}
        msg.text(
            f"Encoding the query set took {seconds['encode_query']:.1f} s. Each "
            f"support set: adapting {seconds['adapt']:.1f} s, recognizing "
            f"{seconds['recognize']:.1f} s"
        )
    for key, reason in results.failed.items():
        msg.warn(f"There is no result for {key}", reason)
    header, rows = results.get_overview()
    msg.divider("F1, mean ± standard deviation over support sets")
    msg.figures(rows, header=header, divider=False)
