from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from .._compat import import_code
from ..console import msg
from ..corpora.corpus import Corpus
from ..errors import SettingError
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs
from ._app import epnet_cli
from ._errors import report_errors
from .compare import read_name
from .options import CodeFile, ComponentName, GpuId

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
    name: ComponentName = None,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Draw how far the types of pipelines are from each other, as heat maps side by side.
    What stands for a type is its prototype, or the mean of what is remembered of it.

    Example: spacy epnet plot prototypes EP-Net=training/epnet CP-Net=training/cpnet
    """
    from ..evaluation.geometry import make_heat_map
    from ..evaluation.plots import draw_heat_maps

    import_code(code)
    make = partial(make_heat_map, name=name)
    maps = draw(
        models, output, [code], make, partial(draw_heat_maps, with_free=all_rows)
    )
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
    name: ComponentName = None,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Draw where the entities of a corpus are, by t-SNE, and what stands for their types
    as a star. It takes a while for large corpora.

    Example: spacy epnet plot spans training/adapted test.spacy --output spans.png
    """
    from ..evaluation.geometry import import_tsne, make_span_map
    from ..evaluation.plots import draw_span_maps

    def make(nlp: Any) -> Any:
        docs = Corpus(corpus, nlp.vocab).docs
        return make_span_map(nlp, docs, name, per_type=per_type, seed=seed)

    import_code(code)
    with report_errors("Nothing was drawn"):
        import_tsne()
    maps = draw(models, output, [corpus, code], make, draw_span_maps)
    for title, found in maps.items():
        count = len({*found.labels})
        msg.text(f"{title}: {len(found.labels)} entities of {count} types")


def draw(
    models: list[str],
    output: Path,
    inputs: list[Path | None],
    make: Callable[[Any], Any],
    draw_maps: Callable[[dict[str, Any]], Any],
) -> dict[str, Any]:
    """Make something of each pipeline, given as NAME=PIPELINE, and draw all of it.

    RETURNS (Dict[str, Any]): What was made, by name.
    """
    from ..evaluation.plots import check_plot, save

    with report_errors("Nothing was drawn"):
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
        maps = {title: make(load_pipeline(model)) for title, model in named.items()}
        save(draw_maps(maps), output)
    msg.good("Drew the plot", str(output))
    return maps
