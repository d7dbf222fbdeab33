from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._compat import import_code, parse_config_overrides
from ..console import msg
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs, check_places
from ._app import epnet_cli
from ._errors import report_errors
from .adapt import read_settings
from .benchmark import read_shots, run_benchmark, split_paths
from .options import (
    WITH_SETTINGS,
    CodeFile,
    ComponentName,
    GpuId,
    ProfileName,
    SettingsFile,
    Shots,
    Supports,
)
from .train import train

if TYPE_CHECKING:
    from ..evaluation.outcomes import Outcome


@epnet_cli.command("sweep", context_settings=WITH_SETTINGS)
def sweep_cli(
    ctx: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            help="Source pipeline: a folder, a package, or one that comes with "
            "spacy-epnet, such as small. Or the config of a training"
        ),
    ],
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
    shots: Shots = "1,5",
    supports: Supports = 5,
    config: SettingsFile = None,
    profile: ProfileName = None,
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
    name: ComponentName = None,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
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
    from ..evaluation.benchmark import make_targets
    from ..evaluation.plots import check_plot
    from ..evaluation.sweep import (
        Sweep,
        is_config,
        list_profiles,
        read_varied,
        split_options,
    )

    import_code(code)
    paths, options = split_paths(list(map(str, corpora or [])))
    with report_errors("The sweep stopped", output):
        settings = read_varied(varied or [])
        if plot is not None:
            check_plot(plot)
        adapting, training = split_options([*ctx.args, *options])
        if not is_config(model):
            adapting, training = [*adapting, *training], []
        numbers = read_shots(shots)
        sweep = Sweep(
            model,
            settings,
            list_profiles(settings, *read_settings(config, profile, adapting)),
            make_targets([Path(path) for path in paths]),
            held_out,
            parse_config_overrides(training),
            output,
            name,
        )
        made = [path for path in (output, plot) if path is not None]
        inputs = [locate_pipeline(model), *paths, held_out, config, code]
        check_places(made, inputs)
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
    for path in made:
        msg.good("Wrote the results", str(path))


def draw(outcomes: "dict[str, Outcome]", x: str, plot: Path) -> None:
    """Draw a curve for each number of shots."""
    from ..evaluation.plots import draw_lines, save

    lines = {
        f"{title}, {kind}" if len(outcomes) > 1 else kind: line
        for title, outcome in outcomes.items()
        for kind, line in outcome.get_lines().items()
    }
    values = next(iter(outcomes.values())).values
    ticks = [value.removeprefix(f"{x}=") for value in values]
    save(draw_lines(lines, x=x, y="F1, mean over targets", ticks=ticks), plot)


def print_outcomes(outcomes: "dict[str, Outcome]", *, choose_on_query: bool) -> None:
    """Print the results of values, and the best one unless that would be tuning."""
    from ..evaluation.outcomes import make_table
    from ..evaluation.sweep import TARGETS_TITLE

    for title, outcome in outcomes.items():
        msg.divider(f"F1 on {title}, mean ± standard deviation over support sets")
        header, rows = make_table(outcome)
        msg.figures(rows, header=header)
    chosen_on = TARGETS_TITLE if choose_on_query else next(iter(outcomes))
    if chosen_on == TARGETS_TITLE and not choose_on_query:
        msg.info(
            "No value is chosen, because that would be tuning on the test set",
            "Give --held-out a corpus of types that the source hasn't seen, or "
            "--choose-on-query if you know what you do",
        )
        return
    for shots, value in outcomes[chosen_on].choose().items():
        msg.info(f"Best on {chosen_on}, {shots}-shot: {value}")
    if choose_on_query:
        msg.warn("It was tuned on the test set, so what it has there is no result")
