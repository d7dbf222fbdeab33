from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from .._compat import import_code
from ..console import msg
from ..errors import InvalidSettingError
from ..evaluation.benchmark import Benchmark, Profile, format_shots, make_targets
from ..evaluation.results import Results, format_spread
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs
from . import options
from ._app import epnet_cli, report_errors
from .adapt import read_descriptions, read_settings, split_paths


@epnet_cli.command("benchmark", context_settings=options.WITH_SETTINGS)
def benchmark_cli(
    ctx: typer.Context,
    model: options.Source,
    corpora: options.Corpora,
    shots: options.Shots = "1,5",
    supports: options.Supports = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first support set", min=0)] = 0,
    given: Annotated[
        list[Path] | None,
        typer.Option(
            help="Support set to take instead: a set or manifest that spacy epnet "
            "sample has written, or a list of indices. Can be given several times"
        ),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(help="JSON file with what types are in words"),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            help="Settings: default or paper. Can be given several times. By default "
            "the config's"
        ),
    ] = None,
    config: options.SettingsFile = None,
    output: options.ResultsPath = None,
    name: options.ComponentName = None,
    per_type: options.PerType = True,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
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
    import_code(code)
    paths, settings = split_paths(corpora)
    with report_errors("The benchmark stopped", output):
        manifests = [find_manifest(path) for path in given or []]
        known = [*(given or []), *manifests, types, config, code]
        check_outputs([output], [locate_pipeline(model), *paths, *known])
        profiles = {}
        chosen: str | None
        for chosen in profile or [None]:  # type: ignore[list-item]
            base, changes = read_settings(config, chosen, [*ctx.args, *settings])
            profiles[base] = Profile(base, changes)
        benchmark = Benchmark(
            load_pipeline(model),
            make_targets(paths),
            profiles,
            read_shots(shots),
            list(range(seed, seed + supports)),
            manifests,
            name,
            read_descriptions(types) if types is not None else {},
        )
        results = run_benchmark(benchmark, output)
    print_results(results, per_type=per_type)
    if output is not None:
        msg.good("Wrote the results", str(output))


def run_benchmark(benchmark: Benchmark, output: Path | None) -> Results:
    """Make all runs of a benchmark, or those that are left, with a bar."""
    results = Results(output, benchmark.describe())
    if results.runs:
        msg.info(f"Going on after {len(results.runs)} runs that are done", str(output))
    total = sum(len(benchmark.list_runs(target)) for target in benchmark.targets)
    with tqdm(total=total, initial=len(results.runs), unit="run", disable=None) as bar:
        for run, result in benchmark.run(results.runs):
            results.keep(run.key, result)
            bar.set_description(f"{run.target} {run.profile} {format_shots(run.shots)}")
            bar.set_postfix(f1="failed" if "failed" in result else f"{result['f']:.1f}")
            bar.update()
    return results


def find_manifest(path: Path) -> Path:
    """Return the manifest of a support set, or a list of indices itself."""
    return path.with_suffix(".json") if path.suffix == ".spacy" else path


def read_shots(value: str) -> list[int]:
    """Read numbers with commas between them."""
    numbers = [part.strip() for part in value.split(",")]
    if not all(map(str.isdecimal, numbers)):
        expected = "numbers with commas, such as 0,1,5"
        raise InvalidSettingError("shots", value, expected)
    return [int(number) for number in numbers]


def print_results(results: Results, *, per_type: bool) -> None:
    """Print the tables of a benchmark."""
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
