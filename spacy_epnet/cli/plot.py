from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .._compat import import_code
from ..console import msg
from ..corpora.corpus import Corpus
from ..errors import SettingError
from ..evaluation.geometry import import_tsne, make_heat_map, make_span_map
from ..evaluation.plots import check_plot, draw_heat_maps, draw_span_maps, save
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs
from . import options
from ._app import epnet_cli, report_errors
from .compare import read_name

plot_cli = typer.Typer(
    name="plot", help="Draw where types and entities are", no_args_is_help=True
)
epnet_cli.add_typer(plot_cli)

Pipelines: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        help="NAME=PIPELINE for each panel, or PIPELINE alone: a folder, a package, or "
        "a source that comes with spacy-epnet"
    ),
]
Output: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", help="File to draw, such as map.svg or .png")
]


@plot_cli.command("prototypes")
def prototypes_cli(
    models: Pipelines,
    output: Output = Path("prototypes.svg"),
    all_rows: Annotated[
        bool,
        typer.Option("--all/--types", help="Whether free prototypes are drawn, too"),
    ] = False,
    name: options.ComponentName = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Draw how far the types of pipelines are from each other, as heat maps side by side.
    What stands for a type is its prototype, or the mean of what is remembered of it.

    Example: spacy epnet plot prototypes EP-Net=training/epnet CP-Net=training/cpnet
    """
    import_code(code)
    with report_errors("Nothing was drawn"):
        named = read_names(models, output, [code])
        maps = {t: make_heat_map(load_pipeline(m), name) for t, m in named.items()}
        save(draw_heat_maps(maps, with_free=all_rows), output)
    msg.good("Drew the plot", str(output))
    rows = [
        (title, *("" if v is None else f"{v:.2f}" for v in heat.summarize().values()))
        for title, heat in maps.items()
    ]
    msg.text("Mean squared distances:")
    msg.figures(rows, header=("pipeline", "all", "types", "None and types"))


@plot_cli.command("spans")
def spans_cli(
    models: Pipelines,
    corpus: Annotated[
        Path, typer.Argument(help="Corpus with marked entities, such as test.spacy")
    ],
    output: Output = Path("spans.svg"),
    per_type: Annotated[
        int, typer.Option(help="The most entities of a type, chosen at random", min=1)
    ] = 100,
    seed: Annotated[int, typer.Option(help="Decides what is chosen", min=0)] = 0,
    name: options.ComponentName = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Draw where the entities of a corpus are, by t-SNE, and what stands for their types
    as a star. It takes a while for large corpora.

    Example: spacy epnet plot spans training/adapted test.spacy --output spans.png
    """
    import_code(code)
    with report_errors("Nothing was drawn"):
        import_tsne()
        maps = {}
        for title, model in read_names(models, output, [corpus, code]).items():
            nlp = load_pipeline(model)
            docs = Corpus(corpus, nlp.vocab).docs
            maps[title] = make_span_map(nlp, docs, name, per_type=per_type, seed=seed)
        save(draw_span_maps(maps), output)
    msg.good("Drew the plot", str(output))
    for title, found in maps.items():
        count = len({*found.labels})
        msg.text(f"{title}: {len(found.labels)} entities of {count} types")


def read_names(
    models: list[str], output: Path, inputs: list[Path | None]
) -> dict[str, str]:
    """Read pipelines, given as NAME=PIPELINE, and check that a plot can be written."""
    check_plot(output)
    named: dict[str, str] = {}
    for title, model in map(read_name, models):
        if title in named:
            raise SettingError(
                f"'{model}' would be called '{title}', like another before. Give "
                f"each a name of its own: NAME={model}"
            )
        named[title] = str(model)
    check_outputs([output], [*inputs, *map(locate_pipeline, named.values())])
    return named
