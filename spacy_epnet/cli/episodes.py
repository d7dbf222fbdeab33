from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from spacy.cli._util import import_code, setup_gpu
from tqdm import tqdm
from wasabi import msg

from ..corpora.files import get_hash
from ..errors import CorpusError
from ..sources.catalog import load_pipeline, locate_pipeline
from ._app import epnet_cli
from .adapt import read_settings
from .failures import tell_failures
from .options import (
    WITH_SETTINGS,
    CodeFile,
    ComponentName,
    GpuId,
    PerType,
    ProfileName,
    ResultsPath,
    SettingsFile,
    Source,
)
from .places import check_files


@epnet_cli.command("episodes", context_settings=WITH_SETTINGS)
def episodes_cli(
    ctx: typer.Context,
    model: Source,
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
    config: SettingsFile = None,
    profile: ProfileName = None,
    output: ResultsPath = None,
    name: ComponentName = None,
    per_type: PerType = True,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Measure recognition by episodes: adapt the source pipeline to the few sentences of
    each, recognise a few others, and count over all episodes what is right. Settings
    can be changed as --adapt.lr 0.001.

    Example: spacy epnet episodes source dev_5_1.jsonl --output results.json

    Example: spacy epnet episodes source corpus.spacy --ways 5 --shots 1 --count 500
    """
    from ..evaluation.benchmark import Profile
    from ..evaluation.episodes import EpisodeBenchmark, EpisodeResults

    import_code(code)
    setup_gpu(use_gpu, silent=True)
    with tell_failures("The evaluation stopped", output):
        check_files([output], [locate_pipeline(model), episodes, config, code])
        benchmark = EpisodeBenchmark(
            load_pipeline(model),
            Profile(*read_settings(config, profile, ctx.args)),
            scoring,
            name,
        )
        draw = {
            "ways": ways,
            "shots": shots,
            "query_shots": query_shots or shots,
            "seed": seed,
        }
        chosen, how = list_episodes(episodes, count, draw)
        results = EpisodeResults(output, {**benchmark.describe(), "episodes": how})
        if results.runs:
            msg.info(f"Going on after {len(results.runs)} episodes", str(output))
        measure(benchmark, chosen, results, how["count"])
    show_results(results.summarize(), per_type=per_type)
    if output is not None:
        msg.good("Wrote the results", str(output))


def list_episodes(
    path: Path, count: int | None, draw: dict[str, int]
) -> tuple[Iterable[tuple[int, Any]], dict[str, Any]]:
    """Read episodes, or draw them from a corpus.

    path (Path): The file or the corpus.
    count (Optional[int]): How many.
    draw (Dict[str, int]): How they are drawn.
    RETURNS (Tuple[Iterable[Tuple[int, Episode]], Dict[str, Any]]): The number of each
        and the episode, and what they depend on.
    """
    from ..corpora.episodes import EpisodeSampler, read_episodes, sample_episodes
    from ..corpora.sampling import Corpus

    if path.suffix != ".spacy":
        known = list(enumerate(read_episodes(path)))[:count]
        if not any(doc.ents for _, episode in known for doc in episode.query):
            reason = "nothing is marked in the query sets, so nothing can be scored"
            raise CorpusError(path, reason)
        how = {"file": path.name, "sha256": get_hash(path), "count": len(known)}
        return known, how
    corpus = Corpus(path)
    sampler = EpisodeSampler(corpus.mentions, **draw)
    count = count or 500
    how = {"file": path.name, "sha256": corpus.hash, "count": count, **draw}
    return sample_episodes(corpus, sampler, range(count)), how


def measure(benchmark: Any, episodes: Iterable, results: Any, total: int) -> None:
    """Measure episodes, with a bar that shows the F1 so far."""
    with tqdm(
        total=total, initial=len(results.runs), unit="episode", disable=None
    ) as bar:
        for number, result in benchmark.run(episodes, results.runs):
            results.keep(number, result)
            summary = results.summarize()
            bar.set_postfix(f1=f"{summary['f']:.2f}")
            bar.update()


def show_results(summary: dict[str, Any], *, per_type: bool) -> None:
    """Print the scores of all episodes together."""
    rows = [("all", *(f"{summary[key]:.2f}" for key in "prf"))]
    if per_type:
        rows += [
            (label, *(f"{scores[key]:.2f}" for key in "prf"))
            for label, scores in summary["per_type"].items()
        ]
    header = ("type", "precision", "recall", "F1")
    msg.table(rows, header=header, aligns=("l", "r", "r", "r"), divider=True)
    seconds = summary["seconds_per_episode"]
    msg.text(f"{summary['episodes']} episodes, {seconds:.2f} s each")
    if summary["failed"]:
        what = "Their entities count as missed. The results say why"
        msg.warn(f"Nothing was learned in {summary['failed']} episodes", what)
