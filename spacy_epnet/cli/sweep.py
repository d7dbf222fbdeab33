from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, setup_gpu
from wasabi import msg

from ..errors import Errors
from ..sources.catalog import load_pipeline, locate_pipeline
from ._app import epnet_cli
from .adapt import read_settings
from .benchmark import Progress, read_shots, split_options
from .failures import tell_failures
from .options import (
    WITH_SETTINGS,
    CodeFile,
    ComponentName,
    GpuId,
    ProfileName,
    ResultsPath,
    SettingsFile,
    Shots,
    Source,
    Supports,
)
from .places import check_files

HELD_OUT = "held-out"


@epnet_cli.command("sweep", context_settings=WITH_SETTINGS)
def sweep_cli(
    ctx: typer.Context,
    model: Source,
    corpora: Annotated[
        list[Path] | None,
        typer.Argument(
            help="DEV TEST of each target: support sets are from DEV, scored is TEST"
        ),
    ] = None,
    varied: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Setting and its values, such as adapt.tau=1,2,3. If it is given "
            "several times, all combinations are tried",
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="Corpus of types that the source hasn't seen, to choose a value on. "
            "Support sets are from it, and scored is the rest"
        ),
    ] = None,
    choose_on_query: Annotated[
        bool,
        typer.Option(
            "--choose-on-query",
            help="Choose a value on the targets. What it has there is no result then",
        ),
    ] = False,
    shots: Shots = "1,5",
    supports: Supports = 5,
    config: SettingsFile = None,
    profile: ProfileName = None,
    output: ResultsPath = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a plot, such as plot.svg or .png")
    ] = None,
    name: ComponentName = None,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Try values of settings of the adaptation, each on the same support sets. A value is
    chosen on types that are held out from the source, and not on the targets, because
    what is tuned on a test set says nothing about others.

    Example: spacy epnet sweep source --held-out other_types.spacy --set
    adapt.lr=1e-4,5e-4

    Example: spacy epnet sweep source dev.spacy test.spacy --set adapt.tau=1,2,3
    --output tau.json --plot tau.svg
    """
    from ..evaluation.benchmark import Benchmark, Target, make_targets
    from ..evaluation.plots import check_suffix, draw_lines, make_figure, save
    from ..evaluation.results import Results
    from ..evaluation.sweep import list_profiles, read_setting, summarize

    import_code(code)
    setup_gpu(use_gpu, silent=True)
    paths, options = split_options(list(map(str, corpora or [])))
    with tell_failures("The sweep stopped", output):
        if not varied:
            raise ValueError(Errors.EP057)
        if plot is not None:
            check_suffix(plot)
            make_figure(1, 1)  # so that an extra that is missing is missed at once
        settings = [read_setting(text) for text in varied]
        base, changes = read_settings(config, profile, [*ctx.args, *options])
        targets = make_targets([Path(path) for path in paths])
        names = [target.name for target in targets]
        made = [path for path in (output, plot) if path is not None]
        inputs = [locate_pipeline(model), *paths, held_out, config, code]
        check_files(made, inputs)
        nlp = load_pipeline(model)
        if held_out is not None:
            check_held_out(nlp, held_out, name)
            targets.append(Target(HELD_OUT, held_out, held_out))
        if not targets:
            raise ValueError(Errors.EP058)
        benchmark = Benchmark(
            nlp,
            targets,
            list_profiles(settings, base, changes),
            read_shots(shots),
            list(range(supports)),
            name=name,
        )
        results = Results(output, benchmark.describe())
        if results.runs:
            msg.info(f"Going on after {len(results.runs)} runs", str(output))
        with Progress(benchmark, len(results.runs)) as progress:
            for run, result in benchmark.run(results.runs, on_encode=progress.encoded):
                results.add(run, result)
                progress.finished(run, result)
        chosen_on = {
            "the held-out types": [HELD_OUT] if held_out is not None else [],
            "the targets": names,
        }
        outcomes = {
            title: summarize(results, own) for title, own in chosen_on.items() if own
        }
        if plot is not None:
            lines = {
                f"{title}, {kind}" if len(outcomes) > 1 else kind: line
                for title, outcome in outcomes.items()
                for kind, line in outcome.get_lines().items()
            }
            x = ", ".join(setting.name for setting in settings)
            values = next(iter(outcomes.values())).values
            ticks = [value.removeprefix(f"{x}=") for value in values]
            save(draw_lines(lines, x=x, y="F1, mean over targets", ticks=ticks), plot)
    show_outcomes(outcomes, choose_on_query=choose_on_query)
    for path in made:
        msg.good("Wrote the results", str(path))


def check_held_out(nlp: Any, path: Path, name: str | None) -> None:
    """Refuse a corpus whose types the source knows."""
    from ..corpora.sampling import Corpus
    from ..pipelines import find_recognizer

    _, pipe = find_recognizer(nlp, name)
    known = sorted({*Corpus(path).totals} & {*pipe.labels})
    if known:
        raise ValueError(Errors.EP059.format(path=path, labels=", ".join(known)))


def show_outcomes(outcomes: dict[str, Any], *, choose_on_query: bool) -> None:
    """Print what values give, and which is the best, if it may be told."""
    from ..evaluation.sweep import make_table

    for title, outcome in outcomes.items():
        msg.divider(f"F1 on {title}, mean ± standard deviation over support sets")
        header, rows = make_table(outcome)
        aligns = ("l", *("r" for _ in header[1:]))
        msg.table(rows, header=header, aligns=aligns, divider=True)
    title = next(iter(outcomes))
    is_held_out = title != "the targets"
    if is_held_out or choose_on_query:
        chosen_on = title if is_held_out and not choose_on_query else "the targets"
        for shots, value in outcomes[chosen_on].choose().items():
            msg.info(f"Best on {chosen_on}, {shots}-shot: {value}")
        if chosen_on == "the targets":
            msg.warn("It was tuned on the test set, so what it has there is no result")
    else:
        msg.info(
            "No value is chosen, because that would be tuning on the test set",
            "Give --held-out a corpus of types that the source hasn't seen, or "
            "--choose-on-query if you know what you do",
        )
