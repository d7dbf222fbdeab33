from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer
from tqdm import tqdm

from .._compat import import_code
from ..console import msg
from ..evaluation.benchmark import Profile
from ..evaluation.episode_benchmark import EpisodeResults, Task, run_in_processes
from ..sources.catalog import locate_pipeline
from ..writing import check_outputs
from . import options
from ._app import epnet_cli, report_errors
from .adapt import read_settings


@epnet_cli.command("episodes", context_settings=options.WITH_SETTINGS)
def episodes_cli(
    ctx: typer.Context,
    model: options.Source,
    episodes: Annotated[
        Path,
        typer.Argument(
            help="Episodes as Few-NERD releases them, or a .spacy corpus to draw them "
            "from"
        ),
    ],
    ways: Annotated[
        int, typer.Option(help="Types of an episode that is drawn", min=1)
    ] = 5,
    shots: Annotated[
        int,
        typer.Option(
            help="Mentions of each type in the support set of an episode that is "
            "drawn, or up to twice as many",
            min=1,
        ),
    ] = 1,
    query_shots: Annotated[
        int | None,
        typer.Option(help="The same of the query set. By default as many", min=1),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            help="How many episodes: of a file all by default, 500 if they are drawn",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides what is drawn", min=0)] = 0,
    scoring: Annotated[
        Literal["sentence", "episode"],
        typer.Option(
            help="Whether entities end with their sentence, or may go on in the next "
            "one, as in Few-NERD's published code"
        ),
    ] = "sentence",
    config: options.SettingsFile = None,
    profile: options.ProfileName = None,
    output: options.ResultsPath = None,
    name: options.ComponentName = None,
    per_type: options.PerType = True,
    processes: Annotated[
        int,
        typer.Option(
            help="Processes that measure side by side, each with the source. One for "
            "each core is fastest, if there are many episodes",
            min=1,
        ),
    ] = 1,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Measure recognition by episodes: adapt the source pipeline to the few sentences of
    each, recognize a few others, and count over all episodes what is right. Settings
    can be changed as --adapt.lr 0.001.

    Example: spacy epnet episodes source dev_5_1.jsonl --output results.json

    Example: spacy epnet episodes source corpus.spacy --ways 5 --shots 1 --processes 2
    """
    import_code(code)
    with report_errors("The evaluation stopped", output):
        check_outputs([output], [locate_pipeline(model), episodes, config, code])
        wanted = query_shots or shots
        draw = {"ways": ways, "shots": shots, "query_shots": wanted, "seed": seed}
        settings = Profile(*read_settings(config, profile, ctx.args))
        task = Task(
            model, settings, scoring, name, episodes, count, draw, code, use_gpu
        )
        benchmark, known = task.begin()
        described = {**benchmark.describe(), "episodes": known.description}
        results = EpisodeResults(output, described)
        if results.runs:
            msg.info(f"Going on after {len(results.runs)} episodes", str(output))
        left = [number for number in known.numbers if str(number) not in results.runs]
        if processes > 1:
            found = run_in_processes(task, left, processes)
        else:
            found = benchmark.run((number, known.get(number)) for number in left)
        seconds = measure(found, results, len(known.numbers))
    print_results(results, per_type=per_type)
    if left:
        msg.text(f"{len(left)} of them now, one every {seconds:.2f} s")
    if output is not None:
        msg.good("Wrote the results", str(output))


def measure(found: Any, results: EpisodeResults, total: int) -> float:
    """Measure episodes, with a bar that shows the F1 so far, and take the time."""
    begin, n_known = perf_counter(), len(results.runs)
    with (
        closing(found),
        tqdm(total=total, initial=n_known, unit="episode", disable=None) as bar,
    ):
        for number, result in found:
            results.keep(number, result)
            summary = results.summarize()
            bar.set_postfix(f1=f"{summary['f']:.2f}")
            bar.update()
    return (perf_counter() - begin) / max(1, len(results.runs) - n_known)


def print_results(results: EpisodeResults, *, per_type: bool) -> None:
    """Print the scores of all episodes together."""
    summary = results.summarize()
    shown = {"all": summary, **(summary["per_type"] if per_type else {})}
    rows = [
        (label, *(f"{scores[key]:.2f}" for key in "prf"))
        for label, scores in shown.items()
    ]
    msg.figures(rows, header=("type", "precision", "recall", "F1"))
    seconds = summary["seconds_per_episode"]
    msg.text(f"{summary['episodes']} episodes, {seconds:.2f} s each")
    reasons = [run["failed"] for run in results.runs.values() if "failed" in run]
    if reasons:
        what = f"Their entities count as missed. The first of them: {reasons[0]}"
        msg.warn(f"Nothing was learned in {len(reasons)} episodes", what)
