from pathlib import Path
from typing import Annotated

import typer

from .._compat import import_code, parse_config_overrides
from ..console import msg
from ..evaluation.benchmark import make_targets
from ..evaluation.plots import check_plot, draw_lines, save
from ..evaluation.sweep import (
    TARGETS_TITLE,
    Outcome,
    Sweep,
    is_config,
    list_profiles,
    make_table,
    read_varied,
    split_options,
)
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs, check_places
from . import options
from ._app import epnet_cli, report_errors
from .adapt import read_settings, split_paths
from .benchmark import read_shots, run_benchmark
from .train import train


@epnet_cli.command("sweep", context_settings=options.WITH_SETTINGS)
def sweep_cli(
    ctx: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            help="Source pipeline: a folder, a package, or one that comes with "
            "spacy-epnet, such as small. Or the config of a training"
        ),
    ],
    corpora: options.Corpora = None,
    varied: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Setting and its values, such as adapt.lr=1e-4,5e-4. If it is given "
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
    shots: options.Shots = "1,5",
    supports: options.Supports = 5,
    config: options.SettingsFile = None,
    profile: options.ProfileName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="JSON file for the results, or a folder if sources are trained. What "
            "was interrupted goes on from what is in it",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a plot, such as plot.svg or .png")
    ] = None,
    name: options.ComponentName = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Try values of settings, each on the same support sets. A value is chosen on types
    that are held out from the source, and not on the targets, because what is tuned on
    a test set says nothing about others. Of settings of the training, a source is
    trained for each value: give the config in place of the source, its other settings
    like those of spacy train, and --output a folder.

    Example: spacy epnet sweep source --held-out other_types.spacy --set
    adapt.lr=1e-4,5e-4

    Example: spacy epnet sweep configs/source.cfg dev.spacy test.spacy --set
    components.epnet_ner.tau=1,2,3 --paths.train train.spacy --paths.dev
    held-out.spacy --output training/tau --plot tau.svg
    """
    import_code(code)
    paths, rest = split_paths(corpora)
    with report_errors("The sweep stopped", output):
        settings = read_varied(varied or [])
        if plot is not None:
            check_plot(plot)
        adapting, training = split_options([*ctx.args, *rest])
        if not is_config(model):
            adapting, training = [*adapting, *training], []
        numbers = read_shots(shots)
        sweep = Sweep(
            model,
            settings,
            list_profiles(settings, *read_settings(config, profile, adapting)),
            make_targets(paths),
            held_out,
            parse_config_overrides(training),
            output,
            name,
        )
        inputs = [locate_pipeline(model), *paths, held_out, config, code]
        check_places([output, plot], inputs)
        check_outputs([plot, None if sweep.trains else output], [])
        sweep.check(choose_on_query=choose_on_query)
        measured = {}
        for each in sweep.list_trainings():
            if each.folder is not None:
                msg.divider(each.title or model)
                train(Path(model), {**each.overrides}, each.folder, use_gpu)
            nlp = load_pipeline(each.model)
            benchmark = sweep.make_benchmark(nlp, numbers, supports)
            measured[each.title] = run_benchmark(benchmark, each.results)
        outcomes = sweep.summarize(measured)
        if plot is not None:
            draw(outcomes, ", ".join(setting.title for setting in settings), plot)
        print_outcomes(outcomes, choose_on_query=choose_on_query)
    for path in filter(None, (output, plot)):
        msg.good("Wrote the results", str(path))


def draw(outcomes: dict[str, Outcome], x: str, plot: Path) -> None:
    """Draw a curve for each number of shots."""
    lines = {
        f"{title}, {kind}" if len(outcomes) > 1 else kind: line
        for title, outcome in outcomes.items()
        for kind, line in outcome.get_lines().items()
    }
    values = next(iter(outcomes.values())).values
    ticks = [value.removeprefix(f"{x}=") for value in values]
    save(draw_lines(lines, x=x, y="F1, mean over targets", ticks=ticks), plot)


def print_outcomes(outcomes: dict[str, Outcome], *, choose_on_query: bool) -> None:
    """Print the results of values, and the best one unless that would be tuning."""
    for title, outcome in outcomes.items():
        msg.divider(f"F1 on {title}, mean ± standard deviation over support sets")
        header, rows = make_table(outcome)
        msg.figures(rows, header=header)
    if not choose_on_query and next(iter(outcomes)) == TARGETS_TITLE:
        msg.info(
            "No value is chosen, because that would be tuning on the test set",
            "Give --held-out a corpus of types that the source hasn't seen, or "
            "--choose-on-query if you know what you do",
        )
        return
    chosen_on = TARGETS_TITLE if choose_on_query else next(iter(outcomes))
    for shots, value in outcomes[chosen_on].choose().items():
        msg.info(f"Best on {chosen_on}, {shots}-shot: {value}")
    if choose_on_query:
        msg.warn("It was tuned on the test set, so what it has there is no result")
