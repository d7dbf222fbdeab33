import typer

from ..console import msg, show
from ..corpora.labels import split_type
from ..corpora.type_names import read_type_names
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("corpora")
def corpora_cli(model: options.Source, name: options.ComponentName = None) -> None:
    """
    Show which corpora a pipeline was trained on, with their licenses, and with what
    their types are.

    Example: spacy epnet corpora small
    """
    with report_errors("Can't show any corpora"):
        nlp = load_pipeline(model)
        pipe = find_recognizer(nlp, name).recognizer
    notes = {note.get("corpus", ""): note for note in nlp.meta.get("sources") or []}
    types = read_type_names()
    corpora = {**{corpus: [] for corpus in notes}, **pipe.corpora}
    if not corpora:
        msg.warn(
            "Nothing is known of the corpora that this pipeline was trained on",
            "It was trained on one, or by a config that doesn't note them.",
        )
        raise typer.Exit(0)
    for corpus, labels in corpora.items():
        note = notes.get(corpus, {})
        msg.divider(corpus)
        for key in ("name", "author", "license", "url"):
            if note.get(key):
                show(f"{key:<10}{note[key]}")
        show(f"{'types':<10}{len(labels)}")
        for label in sorted(labels):
            each = types.get(label)
            words = f": {each.name}, {each.description}" if each else ""
            show(f"  {split_type(label)[1]}{words}")
