from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora.corpus import Corpus, check_support_places
from ..corpora.sampling import sample_greedily
from ._app import epnet_cli
from ._errors import report_errors


@epnet_cli.command("sample")
def sample_cli(
    corpus: Annotated[Path, typer.Argument(help="Corpus to sample from")],
    output: Annotated[
        Path, typer.Argument(help="Support set to write, such as support.spacy")
    ],
    shots: Annotated[
        int, typer.Option("--shots", "-k", help="Mentions wanted of each type", min=1)
    ] = 5,
    seed: Annotated[int, typer.Option(help="Decides what is drawn", min=0)] = 0,
    count: Annotated[
        int,
        typer.Option(
            help="Write as many sets, from as many seeds, as NAME-SEED",
            min=1,
        ),
    ] = 1,
    indices: Annotated[
        Path | None,
        typer.Option(
            help="Take these sentences: a manifest, a JSON list, or one index a line"
        ),
    ] = None,
) -> None:
    """
    Sample support sets from a corpus by greedy sampling: types that are in few
    sentences first, sentences without replacement, until each type has K mentions.
    A manifest beside each set says what is in it and how to repeat it.

    Example: spacy epnet sample dev.spacy support.spacy --shots 5 --count 5
    """
    seeds = range(seed, seed + count)
    if indices is not None or count == 1:
        outputs = [output]
    else:
        outputs = [output.with_stem(f"{output.stem}-{number}") for number in seeds]
    with report_errors("Sampling failed"):
        check_support_places(outputs, [corpus, indices])
        source = Corpus(corpus)
        if not source.totals:
            msg.fail("There are no entities to sample", str(corpus), exits=1)
        if indices is not None:
            chosen = source.read_indices(indices)
            manifest = source.describe(chosen, given_by=indices.name)
            write(source, chosen, output, manifest)
            return
        for number, path in zip(seeds, outputs, strict=True):
            chosen = sample_greedily(source.mentions, shots, number)
            manifest = source.describe(chosen, shots=shots, seed=number)
            write(source, chosen, path, manifest)
    for label, total in sorted(source.totals.items()):
        if total < shots:
            msg.warn(f"{label} has only {total} mentions, and all were taken")


def write(source: Corpus, chosen: list[int], output: Path, manifest: dict) -> None:
    source.write_support(chosen, output, manifest)
    counts = ", ".join(f"{label} {n}" for label, n in manifest["counts"].items())
    msg.good(f"Wrote {len(chosen)} sentences: {counts}", str(output))
