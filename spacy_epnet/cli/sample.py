from pathlib import Path
from typing import Annotated

import typer

from ..console import msg
from ..corpora.corpus import Manifest
from ..corpora.sampling import write_given_support, write_support_sets
from ._app import epnet_cli, report_errors


@epnet_cli.command("sample")
def sample_cli(
    corpus: Annotated[Path, typer.Argument(help="Corpus to sample from")],
    output: Annotated[
        Path, typer.Argument(help="Support set to write, such as support.spacy")
    ],
    shots: Annotated[
        int, typer.Option("--shots", "-k", help="Mentions wanted of each type", min=1)
    ] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers", min=0)] = 0,
    count: Annotated[
        int,
        typer.Option(
            help="Number of sets, each with a seed of its own, named NAME-SEED",
            min=1,
        ),
    ] = 1,
    indices: Annotated[
        Path | None,
        typer.Option(
            help="Write these sentences: a manifest, a JSON list, or one index a line"
        ),
    ] = None,
) -> None:
    """
    Sample support sets from a corpus by greedy sampling: types of few sentences first,
    sentences without replacement, until each type has K mentions. The manifest beside
    each set reproduces it.

    Example: spacy epnet sample dev.spacy support.spacy --shots 5 --count 5
    """
    with report_errors("Sampling failed"):
        if indices is not None:
            report_set(output, write_given_support(corpus, output, indices))
            return
        found = write_support_sets(corpus, output, shots=shots, seed=seed, count=count)
    for path, manifest in found.manifests.items():
        report_set(path, manifest)
    for label, total in found.rare.items():
        msg.warn(f"{label} has only {total} mentions, and all were taken")


def report_set(path: Path, manifest: Manifest) -> None:
    counts = ", ".join(f"{label} {n}" for label, n in manifest["counts"].items())
    msg.good(f"Wrote {manifest['sentences']} sentences: {counts}", str(path))
