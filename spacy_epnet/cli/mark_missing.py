from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm
from wasabi import msg

from ..corpora.conversion import SHARD_SIZE, open_shards
from ..corpora.corpus import Corpus
from ..corpora.files import is_sharded
from ..corpora.partial_annotation import doubt_docs
from ..errors import InvalidSettingError
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_places, check_replaceable
from ._app import epnet_cli
from ._errors import report_errors
from .options import ComponentName, Source


@epnet_cli.command("doubt")
def doubt_cli(
    model: Source,
    corpus: Annotated[
        Path, typer.Argument(help="Corpus in which not every entity is marked")
    ],
    output: Annotated[Path, typer.Argument(help="Corpus to write")],
    types_of: Annotated[
        str | None,
        typer.Option(
            help="Corpus of the pipeline whose types are meant, see `spacy epnet "
            "corpora`. All of them by default"
        ),
    ] = None,
    name: ComponentName = None,
) -> None:
    """
    Take a corpus in which only some types are marked, and claim nothing of the tokens
    that a pipeline takes for an entity of the others. What is trained on the corpus
    then doesn't learn that they are none.

    Example: spacy epnet doubt small partial.spacy train.spacy --types-of fewnerd
    """
    n_doubted = n_docs = 0
    with report_errors("Nothing was written"):
        check_places([output], [locate_pipeline(model), corpus])
        check_replaceable(output, is_sharded)
        nlp = load_pipeline(model)
        _, pipe = find_recognizer(nlp, name)
        if types_of is not None and types_of not in pipe.corpora:
            expected = " or ".join(pipe.corpora) or "none, as it was trained on one"
            raise InvalidSettingError("types-of", types_of, expected)
        source = Corpus(corpus, nlp.vocab)
        with (
            open_shards(output, SHARD_SIZE) as writer,
            tqdm(total=len(source.docs), desc="Doubting", disable=None) as bar,
        ):
            for doubt in doubt_docs(nlp, source.docs, types_of=types_of):
                writer.add(doubt.doc)
                bar.update()
                n_docs += 1
                n_doubted += len(doubt.spans)
    msg.good(f"Wrote {n_docs} docs, with {n_doubted} spans in doubt", str(output))
