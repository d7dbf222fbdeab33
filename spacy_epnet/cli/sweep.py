from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.cli._util import import_code, parse_config_overrides, setup_gpu
from spacy.language import Language
from spacy.util import load_config, load_model_from_config
from wasabi import msg

from ..errors import SettingError
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_places
from ._app import epnet_cli
from ._errors import report_errors
from .adapt import SECTION, read_settings
from .benchmark import read_shots, run_benchmark, split_options
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
from .places import check_files
from .train import train

HELD_OUT = "held-out"
TARGETS = "the targets"


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
    from ..evaluation.benchmark import Benchmark, Target, make_targets
    from ..evaluation.sweep import list_profiles, list_sources, read_varied, summarize

    import_code(code)
    setup_gpu(use_gpu, silent=True)
    paths, options = split_options(list(map(str, corpora or [])))
    with report_errors("The sweep stopped", output):
        if not varied:
            raise SettingError(
                "There is nothing to vary. Give --set, such as --set "
                "adapt.lr=1e-4,5e-4."
            )
        check_plot(plot)
        settings = read_varied(varied)
        adapting, training = part_options([*ctx.args, *options])
        check_training(model, settings, output)
        base, changes = read_settings(
            config, profile, adapting if is_config(model) else [*adapting, *training]
        )
        numbers = read_shots(shots)
        profiles = list_profiles(settings, base, changes)
        targets = make_targets([Path(path) for path in paths])
        if held_out is not None:
            # A folder may be called so, too.
            names = {HELD_OUT: f"{HELD_OUT}#2"}
            targets = [t._replace(name=names.get(t.name, t.name)) for t in targets]
        own = {TARGETS: [target.name for target in targets]}
        made = [path for path in (output, plot) if path is not None]
        inputs = [locate_pipeline(model), *paths, held_out, config, code]
        check_places(made, inputs)
        check_files([plot, None if is_config(model) else output], [])
        if held_out is not None:
            targets.append(Target(HELD_OUT, held_out, held_out))
            own = {"the held-out types": [HELD_OUT], **own}
        if not targets or (choose_on_query and not own[TARGETS]):
            raise SettingError(
                "There is nothing to measure on. Give DEV and TEST of a target, or "
                "--held-out a corpus of types that the source hasn't seen."
            )
        overrides = parse_config_overrides(training) if is_config(model) else {}
        check_ahead(model, overrides, targets, profiles, name)
        measured = {}
        trainings = list_sources(settings)
        sources = iter_sources(model, trainings, overrides, output, use_gpu)
        for title, nlp, results_path in sources:
            if held_out is not None:
                check_held_out(nlp, held_out, name)
            benchmark = Benchmark(
                nlp,
                targets,
                profiles,
                numbers,
                list(range(supports)),
                name=name,
            )
            measured[title] = run_benchmark(benchmark, results_path)
        outcomes = {
            title: summarize(measured, names) for title, names in own.items() if names
        }
        if plot is not None:
            draw(outcomes, ", ".join(setting.title for setting in settings), plot)
        show_outcomes(outcomes, choose_on_query=choose_on_query)
    for path in made:
        msg.good("Wrote the results", str(path))


def is_config(model: str) -> bool:
    """Whether a source is still to be trained."""
    return Path(model).suffix == ".cfg"


def part_options(args: list[str]) -> tuple[list[str], list[str]]:
    """Part options of the adaptation, such as --adapt.lr, from others."""
    adapting: list[str] = []
    training: list[str] = []
    place = training
    for arg in args:
        if arg.startswith("--"):
            place = adapting if arg.startswith(f"--{SECTION}.") else training
        place.append(arg)
    return adapting, training


def check_training(model: str, settings: list[Any], output: Path | None) -> None:
    """Refuse to vary a training where there is none, or has no place.

    model (str): The source, or the config of its training.
    settings (List[Setting]): What is varied.
    output (Optional[Path]): Where sources and results will be.
    """
    names = [setting.name for setting in settings if not setting.is_adapting]
    if names and not is_config(model):
        raise SettingError(
            f"{', '.join(names)} are settings of the training. To vary them, give the "
            "config of a training, such as configs/source.cfg, in place of a source "
            "that is trained."
        )
    if is_config(model) and (output is None or output.is_file()):
        raise SettingError(
            "A source is trained for each value. Give --output a folder for them and "
            "their results. What was interrupted goes on from what is in it."
        )


def check_ahead(
    model: str,
    overrides: dict[str, Any],
    targets: list[Any],
    profiles: dict[str, Any],
    name: str | None,
) -> None:
    """Find out before a training what would stop the sweep after it.

    model (str): The source, or the config of its training.
    overrides (Dict[str, Any]): What differs from the config.
    targets (List[Target]): What is measured on.
    profiles (Dict[str, Profile]): How it is adapted.
    name (Optional[str]): The component.
    """
    from ..corpora.corpus import Corpus
    from ..recognizer.pipeline import find_recognizer

    if not is_config(model):
        return
    for path in {path for target in targets for path in (target.dev, target.test)}:
        Corpus(path)
    config = load_config(model, overrides=overrides, interpolate=True)
    _, pipe = find_recognizer(load_model_from_config(config, auto_fill=True), name)
    for profile in profiles.values():
        profile.describe(pipe)


def iter_sources(
    model: str,
    trainings: dict[str, dict[str, Any]],
    overrides: dict[str, Any],
    output: Path | None,
    use_gpu: int,
) -> Iterator[tuple[str, Language, Path | None]]:
    """Load the sources, trained before if they have to be.

    model (str): The source, or the config of its training.
    trainings (Dict[str, Dict[str, Any]]): What differs in each training.
    overrides (Dict[str, Any]): What is the same in all, such as paths.train.
    output (Optional[Path]): The file of the results, or a folder for all.
    use_gpu (int): The GPU, or -1 for none.
    YIELDS (Tuple[str, Language, Optional[Path]]): What each is called, the pipeline,
        and where its results are.
    """
    if output is None or not is_config(model):
        yield "", load_pipeline(model), output
        return
    for title, values in trainings.items():
        msg.divider(title or model)
        # A value may be a path.
        folder = output / title.replace("/", "_")
        train(Path(model), {**overrides, **values}, folder, use_gpu)
        nlp = load_pipeline(str(folder / "model-best"))
        yield title, nlp, folder / "results.json"


def check_plot(plot: Path | None) -> None:
    """Find out at once that a plot can't be drawn."""
    from ..evaluation.plots import check_suffix, make_figure

    if plot is not None:
        check_suffix(plot)
        make_figure(1, 1)


def draw(outcomes: dict[str, Any], x: str, plot: Path) -> None:
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


def check_held_out(nlp: Any, path: Path, name: str | None) -> None:
    """Refuse a corpus whose types the source knows."""
    from ..corpora.corpus import Corpus
    from ..recognizer.pipeline import find_recognizer

    _, pipe = find_recognizer(nlp, name)
    known = sorted({*Corpus(path).totals} & {*pipe.labels})
    if known:
        raise SettingError(
            f"The types of '{path}' aren't held out, because the source was trained on "
            f"them: {', '.join(known)}. Give a corpus of other types, or leave these "
            "out with --drop-types of spacy epnet convert."
        )


def show_outcomes(outcomes: dict[str, Any], *, choose_on_query: bool) -> None:
    """Print what values give, and which is the best, if it may be told."""
    from ..evaluation.sweep import make_table

    for title, outcome in outcomes.items():
        msg.divider(f"F1 on {title}, mean ± standard deviation over support sets")
        header, rows = make_table(outcome)
        aligns = ("l", *("r" for _ in header[1:]))
        msg.table(rows, header=header, aligns=aligns, divider=True)
    title = next(iter(outcomes))
    is_held_out = title != TARGETS
    if is_held_out or choose_on_query:
        chosen_on = title if is_held_out and not choose_on_query else TARGETS
        for shots, value in outcomes[chosen_on].choose().items():
            msg.info(f"Best on {chosen_on}, {shots}-shot: {value}")
        if chosen_on == TARGETS:
            msg.warn("It was tuned on the test set, so what it has there is no result")
    else:
        msg.info(
            "No value is chosen, because that would be tuning on the test set",
            "Give --held-out a corpus of types that the source hasn't seen, or "
            "--choose-on-query if you know what you do",
        )
