import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from spacy import displacy
from spacy.cli._util import import_code, setup_gpu
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg, table

from ..corpora.files import read_text, write_whole
from ..sources.catalog import load_pipeline
from ._app import epnet_cli
from .options import CodeFile, ComponentName, GpuId, Pipeline


@epnet_cli.command("recognize")
def recognize_cli(
    model: Pipeline,
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts in which to recognize entities")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File with one text a line")
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            help="Text whose entities are explained: what else they could be, and "
            "which examples they are near to. Can be given several times",
        ),
    ] = None,
    name: ComponentName = None,
    html: Annotated[
        Path | None, typer.Option(help="Page to write, with the entities marked")
    ] = None,
    code: CodeFile = None,
    use_gpu: GpuId = -1,
) -> None:
    """
    Show the entities that a pipeline recognizes, with their probabilities.

    Example: spacy epnet recognize training/adapted "Ada Lovelace lived in London."

    Example: spacy epnet recognize training/adapted --explain "Ada lived in London."
    """
    import_code(code)
    setup_gpu(use_gpu, silent=True)
    if file is not None and not file.is_file():
        msg.fail("There is no such file", str(file), exits=1)
    try:
        lines = [] if file is None else read_text(file, lambda count: None).splitlines()
        given = [*(texts or []), *(line for line in lines if line.strip())]
        if not given and not explain:
            msg.fail(
                "There is nothing to recognize",
                "Give texts, a --file, or a text to --explain",
                exits=1,
            )
        nlp = load_pipeline(model)
        docs = list(nlp.pipe(given))
        for doc in docs:
            print(doc.text)
            rows = list(get_rows(doc))
            print(table(rows) if rows else "\nno entities\n")
        for text in explain or []:
            show_explanations(nlp, text, name)
        if html is not None:
            with write_whole(html) as path, warnings.catch_warnings():
                # Texts without entities belong on the page, and are no surprise.
                warnings.filterwarnings("ignore", message=r"\[W006\]")
                page = displacy.render(docs, style="ent", page=True, jupyter=False)
                path.write_text(page, encoding="utf8")
            msg.good("Wrote the page", str(html))
    except (ValueError, OSError) as err:
        msg.fail("Can't recognize anything", str(err), exits=1)


def get_rows(doc: Doc) -> Iterator[tuple[str, str, str]]:
    """The entities of a doc: text, type, and probability if it is known."""
    scores = {
        (span.start, span.end, span.label_): f"{score:.3f}"
        for group in doc.spans.values()
        for span, score in zip(group, group.attrs.get("scores", []), strict=False)
    }
    for ent in doc.ents:
        yield ent.text, ent.label_, scores.get((ent.start, ent.end, ent.label_), "")


def show_explanations(nlp: Language, text: str, name: str | None) -> None:
    """Print why there are entities in a text."""
    from ..evaluation.explanation import explain

    print(text)
    found = explain(nlp, text, name=name)
    if not found:
        print("\nno entities\n")
    for entity in found:
        others = ", ".join(f"{label} {p:.3f}" for label, p in entity.runners_up)
        rows = [
            ("", f"{entity.label} {entity.probability:.3f}"),
            ("otherwise", others),
            *(
                (f"near, at {near.distance:.2f}", f'{near.label} "{near.text}"')
                for near in entity.neighbours
            ),
        ]
        rows[0] = (entity.text, rows[0][1])
        if not entity.neighbours:
            rows.append(("near", "unknown, the pipeline has kept no examples"))
        print(table(rows))
