from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example

from .._compat import import_code
from ..console import msg, show
from ..corpora.documents import raise_error
from ..corpora.files import read_lines
from ..evaluation import explanation
from ..evaluation.mistakes import recognize_marked
from ..evaluation.pages import make_page, mark_text
from ..recognizer.annotation import get_scores
from ..recognizer.gold import read_gold
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs, write_whole
from . import options
from ._app import epnet_cli, report_errors
from .adapt import read_examples


@epnet_cli.command("recognize")
def recognize_cli(
    model: options.Pipeline,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help="Texts in which to recognize entities", callback=options.decode
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="File with one text a line")
    ] = None,
    marked: Annotated[
        Path | None,
        typer.Option(
            help="File with marked texts: .spacy, or any format that convert reads. "
            "What is recognized is compared with it",
        ),
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(
            "--explain",
            help="Text whose entities are explained: what else they could be, and "
            "which examples they are near to. Can be given several times",
            callback=options.decode,
        ),
    ] = None,
    name: options.ComponentName = None,
    html: Annotated[
        Path | None, typer.Option(help="Page to write, with the entities marked")
    ] = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Show the entities that a pipeline recognizes, with their probabilities.

    Example: spacy epnet recognize training/adapted "Ada Lovelace lived in London."

    Example: spacy epnet recognize training/adapted --explain "Ada lived in London."

    Example: spacy epnet recognize training/adapted --marked examples.jsonl
    """
    import_code(code)
    for path in (file, marked):
        if path is not None and not path.exists():
            msg.fail("There is no such file", str(path), exits=1)
    with report_errors("Can't recognize anything"):
        given = [*(texts or []), *([] if file is None else list_texts(file))]
        if not given and not explain and marked is None:
            msg.fail(
                "There is nothing to recognize",
                "Give texts, a --file, --marked texts, or a text to --explain",
                exits=1,
            )
        check_outputs([html], [locate_pipeline(model), file, marked, code])
        nlp = load_pipeline(model)
        docs = list(nlp.pipe(given))
        for doc in docs:
            print_rows(doc, list(get_rows(doc)))
        if marked is not None:
            docs += print_comparison(nlp, marked)
        for text in explain or []:
            print_explanations(nlp, text, name)
        if html is not None:
            with write_whole(html) as path:
                texts_marked = "".join(map(mark_text, docs))
                page = make_page("Recognized entities", [("Texts", texts_marked)])
                path.write_text(page, encoding="utf8")
            msg.good("Wrote the page", str(html))


def list_texts(file: Path) -> list[str]:
    """List the lines of a file that aren't blank. Only line feeds end a line."""
    lines = read_lines(file, lambda count: None, raise_error)
    return [line for _, line in lines if line and line.strip()]


def print_rows(doc: Doc, rows: list[tuple[str, ...]]) -> None:
    """Print a text and its entities."""
    show(doc.text)
    if rows:
        msg.table(rows)
    else:
        show("\nno entities\n")


def print_comparison(nlp: Language, marked: Path) -> list[Doc]:
    """Recognize marked texts, and print what is right and wrong."""
    examples = list(recognize_marked(nlp, read_examples(marked, nlp)))
    for eg in examples:
        print_rows(eg.predicted, list(compare_rows(eg)))
    scores = get_ner_prf(examples)
    if not any(eg.reference.ents for eg in examples):
        msg.warn("Nothing is marked", str(marked))
    else:
        shares = (f"{100 * scores[f'ents_{key}']:.1f}" for key in "prf")
        msg.info("Precision {}, recall {}, F1 {}".format(*shares))
    return [eg.predicted for eg in examples]


def compare_rows(eg: Example) -> Iterator[tuple[str, str, str, str]]:
    """List the entities of an example: those recognized, each with whether it is
    marked, and those that were missed.
    """
    gold = read_gold(eg)
    marks = {(e.start, e.end): e for e in gold.ents}
    for ent, row in zip(eg.predicted.ents, get_rows(eg.predicted), strict=True):
        mark = marks.pop((ent.start, ent.end), None)
        if mark is None:
            yield *row, "wrong, nothing like this is marked"
        elif mark.label_ != ent.label_:
            yield *row, f"wrong, it is marked as {mark.label_}"
        else:
            yield *row, "right"
    for ent in marks.values():
        yield ent.text, ent.label_, "", "missed"
    for ent in gold.misaligned:
        yield ent.text, ent.label_, "", "missed, it doesn't line up with the tokens"


def get_rows(doc: Doc) -> Iterator[tuple[str, str, str]]:
    """List the entities of a doc: text, type, and probability if it is known."""
    scores = get_scores(doc)
    for ent in doc.ents:
        score = scores.get((ent.start, ent.end, ent.label_))
        yield ent.text, ent.label_, "" if score is None else f"{score:.3f}"


def print_explanations(nlp: Language, text: str, name: str | None) -> None:
    """Print the explanations of the entities in a text."""
    show(text)
    found = explanation.explain(nlp, text, name=name)
    if not found:
        show("\nno entities\n")
    for entity in found:
        others = ", ".join(f"{label} {p:.3f}" for label, p in entity.runners_up)
        rows = [
            (entity.text, f"{entity.label} {entity.probability:.3f}"),
            ("otherwise", others),
            *(
                (f"near, at {near.distance:.2f}", f'{near.label} "{near.text}"')
                for near in entity.neighbors
            ),
        ]
        if not entity.neighbors:
            rows.append(("near", "unknown, the pipeline has kept no examples"))
        msg.table(rows)
