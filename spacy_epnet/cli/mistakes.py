from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from tqdm import tqdm

from .._compat import import_code
from ..console import msg
from ..corpora.corpus import Corpus
from ..errors import CorpusError
from ..evaluation.mistakes import KINDS, Analysis, analyze, recognize_marked
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline, locate_pipeline
from ..writing import check_outputs
from . import options
from ._app import epnet_cli, report_errors, write_json


@epnet_cli.command("mistakes")
def mistakes_cli(
    model: options.Source,
    corpus: Annotated[
        Path, typer.Argument(help="Corpus with marked entities, such as test.spacy")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON file for all mistakes"),
    ] = None,
    count: Annotated[
        int, typer.Option(help="How many of the most frequent to show", min=0)
    ] = 10,
    name: options.ComponentName = None,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Tell what goes wrong: which entities are missed, invented, cut short, too long or
    taken for another type, which types are taken for which, and whether it is long
    entities, or texts that aren't in the support set.

    Example: spacy epnet mistakes training/adapted test.spacy --output mistakes.json
    """
    import_code(code)
    with report_errors("Nothing was analyzed"):
        check_outputs([output], [locate_pipeline(model), corpus, code])
        nlp = load_pipeline(model)
        analysis = analyze_corpus(nlp, corpus, name)
        write_json(output, analysis.to_dict())
    print_analysis(analysis, count)
    if output is not None:
        msg.good("Wrote all mistakes", str(output))


def analyze_corpus(nlp: Language, corpus: Path, name: str | None) -> Analysis:
    """Recognize a corpus, and compare with what is marked."""
    pipe = find_recognizer(nlp, name).recognizer
    known = Corpus(corpus, nlp.vocab)
    if not known.totals:
        raise CorpusError(corpus, "nothing is marked in it")
    found = recognize_marked(nlp, known.docs)
    total = len(known.docs)
    return analyze(pipe, tqdm(found, "Recognizing", total, unit="doc", disable=None))


def print_analysis(analysis: Analysis, count: int) -> None:
    """Print the tables of an analysis."""
    msg.divider("What became of the entities of each type")
    rows = [(label, *kinds.values()) for label, kinds in analysis.count_kinds().items()]
    msg.figures(rows, header=("type", *KINDS))
    msg.divider("What is marked (rows), and what is recognized")
    table = analysis.confuse()
    rows = [(label, *others.values()) for label, others in table.items()]
    msg.figures(rows, header=("", *table))
    msg.divider("Entities that are right, by their length in tokens")
    widths = analysis.count_widths().items()
    rows = [(width, format_share(counts)) for width, counts in widths]
    msg.figures(rows, header=("tokens", "right"))
    msg.divider("The same, by whether their text is in the support set")
    rows = [
        (label, own["texts"], format_share(own["known"]), format_share(own["new"]))
        for label, own in analysis.count_forms().items()
    ]
    msg.figures(rows, header=("type", "different texts", "in the support set", "new"))
    msg.divider("The most frequent mistakes")
    keys = ("times", "kind", "text", "gold", "predicted", "predicted_text")
    rows = [[found[key] or "" for key in keys] for found in analysis.list_common(count)]
    header = ("times", "mistake", "text", "marked", "recognized", "as")
    msg.table(rows, header=header, max_col=40, divider=True)


def format_share(counts: dict[str, int]) -> str:
    """Format how many of how many are right."""
    if not counts["marked"]:
        return ""
    percent = 100 * counts["right"] / counts["marked"]
    return f"{counts['right']} of {counts['marked']} ({percent:.0f} %)"
