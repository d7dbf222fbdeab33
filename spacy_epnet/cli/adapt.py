import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import dot_to_dict, load_config
from tqdm import tqdm

from .._compat import import_code, parse_config_overrides
from ..adapting import AdaptReport, adapt
from ..console import msg
from ..corpora.conversion import convert
from ..corpora.corpus import Corpus
from ..errors import SettingError
from ..recognizer.pipeline import is_pipeline
from ..recognizer.settings import merge
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs, write_whole
from . import options
from ._app import epnet_cli, report_errors, write_json

SECTION = "adapt"


@epnet_cli.command("adapt", context_settings=options.WITH_SETTINGS)
def adapt_cli(
    ctx: typer.Context,
    model: options.Source,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[SUPPORT] OUTPUT",
            help="Marked examples, a .spacy file or any format that convert reads, "
            "unless --types are enough, and the folder for the adapted pipeline",
        ),
    ],
    config: options.SettingsFile = None,
    profile: options.ProfileName = None,
    types: Annotated[
        str | None,
        typer.Option(
            help="Types to learn even without examples: names with commas between, or "
            "a JSON file with what each is in words",
            callback=options.decode,
        ),
    ] = None,
    extend: Annotated[
        bool,
        typer.Option(
            "--extend", help="Let new types join those of the source, not replace them"
        ),
    ] = False,
    name: options.ComponentName = None,
    report: Annotated[
        Path | None, typer.Option(help="JSON file for what was done")
    ] = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Teach a trained pipeline new entity types from a few marked examples, from their
    names, or both. Settings can be changed like those of spacy train, as
    --adapt.lr 0.001.

    Example: spacy epnet adapt training/model-best support.spacy training/adapted

    Example: spacy epnet adapt small adapted --types "politician,political party"

    Example: spacy epnet adapt my_source tagged.iob adapted --adapt.max_steps 80
    """
    import_code(code)
    with report_errors("Nothing was adapted"):
        given, rest = split_paths(paths)
        base, changes = read_settings(config, profile, [*ctx.args, *rest])
        if len(given) != 2 and (types is None or len(given) != 1):
            raise SettingError(
                "Give marked examples and the folder for the adapted pipeline, or "
                "--types and the folder."
            )
        *supports, output = given
        listed = Path(types) if types and types.endswith(".json") else None
        inputs = [locate_pipeline(model), *supports, listed, config, code]
        check_outputs([report], inputs, folder=output, may_replace=is_pipeline)
        nlp = load_pipeline(model)
        examples = [doc for path in supports for doc in read_examples(path, nlp)]
        with tqdm(desc="Adapting", unit="step", disable=None, leave=False) as bar:

            def show(step: int, loss: float) -> None:
                bar.set_postfix(loss=f"{loss:.4f}")
                bar.update()

            result = adapt(
                nlp,
                examples,
                labels=read_types(types),
                extend=extend,
                name=name,
                profile=base,
                on_step=show,
                in_place=True,
                **changes,
            )
        write_json(report, result.to_dict())
        with write_whole(output, may_replace=is_pipeline) as path:
            nlp.to_disk(path)
    print_result(result)
    msg.good("Saved the adapted pipeline", str(output))


def split_paths(values: list[Path] | None) -> tuple[list[Path], list[str]]:
    """Split paths from options, both of which a list of arguments takes up."""
    paths: list[Path] = []
    options: list[str] = []
    rest = map(str, values or [])
    for value in rest:
        if not value.startswith("--"):
            paths.append(Path(value))
        elif "=" in value:
            options.append(value)
        else:
            options += [value, *itertools.islice(rest, 1)]
    return paths, options


def read_settings(
    config: Path | None, profile: str | None, args: list[str]
) -> tuple[str, dict[str, Any]]:
    """Read the profile, which is the config's if none is given, and the settings that
    differ from it, from a config file and from --adapt options.
    """
    names = [arg.removeprefix("--") for arg in args if arg.startswith("--")]
    strange = [name for name in names if not name.startswith(f"{SECTION}.")]
    if strange:
        named = ", ".join(f"--{name}" for name in strange)
        raise SettingError(
            f"There are no such options: {named}. Settings of the adaptation are "
            "given as --adapt.NAME, for example --adapt.lr 0.001."
        )
    settings: dict[str, Any] = {}
    if config is not None:
        sections = load_config(config, interpolate=True)
        if SECTION not in sections:
            what = "has no section [adapt], such as configs/adapt.cfg has"
            raise SettingError(f"The config '{config}' {what}.")
        settings = dict(sections[SECTION])
    # What SPACY_CONFIG_OVERRIDES says is about the configs of trainings.
    overrides = dot_to_dict(parse_config_overrides([*args], env_var=None))
    settings = merge(settings, overrides.get(SECTION, {}))
    chosen = settings.pop("profile", "default")
    return profile or chosen, settings


def read_types(types: str | None) -> list[str] | dict[str, str]:
    """Read names with commas between, or a file with what types are in words."""
    if types is None:
        return []
    if not types.endswith(".json"):
        return [name.strip() for name in types.split(",")]
    return read_descriptions(Path(types))


def read_descriptions(path: Path) -> dict[str, str]:
    """Read what types are in words from a JSON file."""
    try:
        found: Any = srsly.read_json(path)
    except (OSError, ValueError) as err:
        raise SettingError(f"Can't read types from '{path}': {err}") from err
    if not isinstance(found, dict):
        raise SettingError(
            f"'{path}' must have what each type is in words, such as "
            '{"PARTY": "a political party or alliance"}.'
        )
    return found


def read_examples(support: Path, nlp: Language) -> list[Doc]:
    """Read marked examples in any format, from a file or a folder."""
    if support.suffix == ".spacy":
        return Corpus(support).docs
    with TemporaryDirectory() as folder:
        converted = Path(folder) / "support.spacy"
        found = convert([support], converted, lang=nlp.meta["lang"])
        for note, count in found.notes.items():
            if count:
                what = f"In {support}. Mark them anew to use them"
                msg.warn(f"{note}: {count}", what)
        for hint in found.hints:
            msg.text(hint)
        return Corpus(converted).docs


def print_result(result: AdaptReport) -> None:
    """Print the types of an adaptation, and its problems."""
    learning = result.learning
    n_columns = len(learning.columns)
    rows = [
        (label, count, *learning.cells.get(label, ("",) * n_columns))
        for label, count in result.counts.items()
    ]
    header = ("type", "examples", *learning.columns)
    aligns = ("l", "r", *("l",) * n_columns)
    msg.table(rows, header=header, aligns=aligns, divider=True)
    msg.info(f"{learning.summary}, in {result.seconds['total']:.1f} s")
    for problem in result.problems:
        msg.warn(problem.where, problem.what)
