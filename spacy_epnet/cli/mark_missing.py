from pathlib import Path
from typing import Annotated

import typer

from ..console import msg
from ..corpora.docbins import is_sharded
from ..corpora.partial_annotation import write_marked
from ..errors import InvalidSettingError
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_places, check_replaceable
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("mark-missing")
def mark_missing_cli(
    model: options.Source,
    corpus: Annotated[
        Path, typer.Argument(help="Corpus with partial annotation: some types only")
    ],
    output: Annotated[Path, typer.Argument(help="Corpus to write")],
    types_of: Annotated[
        str | None,
        typer.Option(
            help="Only predict types of this corpus, one of those that `spacy epnet "
            "corpora` lists. By default all types"
        ),
    ] = None,
    name: options.ComponentName = None,
) -> None:
    """
    Mark tokens of a partially annotated corpus as missing where a pipeline predicts an
    entity that isn't annotated. Training ignores such tokens instead of learning that
    they are outside of all entities.

    Example: spacy epnet mark-missing small partial.spacy train.spacy --types-of fewnerd
    """
    with report_errors("Nothing was written"):
        check_places([output], [locate_pipeline(model), corpus])
        check_replaceable(output, is_sharded)
        nlp = load_pipeline(model)
        pipe = find_recognizer(nlp, name).recognizer
        if types_of is not None and types_of not in pipe.corpora:
            expected = " or ".join(pipe.corpora) or "none, as it was trained on one"
            raise InvalidSettingError("types-of", types_of, expected)
        docs, spans = write_marked(nlp, corpus, output, types_of=types_of)
    msg.good(f"Wrote {docs} docs, marked {spans} spans as missing", str(output))
