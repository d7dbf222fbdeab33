from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg, table

from ._app import epnet_cli


@epnet_cli.command("recognize")
def recognize_cli(
    model: Annotated[str, typer.Argument(help="Pipeline to load: a folder or package")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts in which to recognize entities")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File with one text a line")
    ] = None,
) -> None:
    """
    Show the entities that a pipeline recognizes, with their probabilities.

    Example: spacy epnet recognize training/model-best "Ada Lovelace lived in London."
    """
    if file is not None and not file.is_file():
        msg.fail("There is no such file", str(file), exits=1)
    lines = [] if file is None else file.read_text(encoding="utf8").splitlines()
    given = [*(texts or []), *(line for line in lines if line.strip())]
    if not given:
        msg.fail("There is nothing to recognize", "Give texts, or a --file", exits=1)
    try:
        nlp = spacy.load(model)
    except OSError as err:
        msg.fail("Can't load the pipeline", str(err), exits=1)
    for doc in nlp.pipe(given):
        print(doc.text)
        rows = list(get_rows(doc))
        print(table(rows) if rows else "\nno entities\n")


def get_rows(doc: Doc) -> Iterator[tuple[str, str, str]]:
    """The entities of a doc: text, type, and probability if it is known."""
    scores = {
        (span.start, span.end, span.label_): f"{score:.3f}"
        for group in doc.spans.values()
        for span, score in zip(group, group.attrs.get("scores", []), strict=False)
    }
    for ent in doc.ents:
        yield ent.text, ent.label_, scores.get((ent.start, ent.end, ent.label_), "")
