from pathlib import Path
from typing import Annotated, Literal

import typer

from ..console import msg
from ..corpora.conversion import Statistics, convert, plan_conversions
from ..corpora.docbins import SHARD_SIZE
from ..corpora.docs import UNALIGNED
from ..corpora.label_mapping import make_label_mapping
from ..corpora.readers import FORMATS
from ..errors import CorpusError, EPNetError, InvalidSettingError
from ..writing import check_outputs, check_places
from . import options
from ._app import epnet_cli, report_errors, write_json

SHOWN_ERRORS = 10


@epnet_cli.command("convert")
def convert_cli(
    inputs: Annotated[list[Path], typer.Argument(help="Files or folders to convert")],
    output: Annotated[
        Path,
        typer.Argument(
            help="Corpus to write, such as train.spacy. A name without .spacy is a "
            "folder, to which each input file is converted by itself"
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help=f"One of: {', '.join(FORMATS)}. Detected by default",
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            help="Columns of the word and the tag, from 0, or from -1 at the end"
        ),
    ] = "0,-1",
    separator: Annotated[
        str | None,
        typer.Option(
            help="Between columns: tab, space or a character. Detected by default"
        ),
    ] = None,
    comment: Annotated[
        str | None,
        typer.Option(help="Prefix of rows to ignore", callback=options.decode),
    ] = None,
    repair_tags: Annotated[
        bool,
        typer.Option(
            "--repair-tags",
            help="Let an I- that continues nothing begin an entity, and count it",
        ),
    ] = False,
    docs: Annotated[
        bool,
        typer.Option(
            "--docs", help="Make one doc of each document, not of each sentence"
        ),
    ] = False,
    types: Annotated[
        str | None,
        typer.Option(
            help="Types to keep, with commas between, or @GROUP. Others become None",
            callback=options.decode,
        ),
    ] = None,
    drop_types: Annotated[
        str | None,
        typer.Option(
            help="Types that become None, with commas between, or @GROUP",
            callback=options.decode,
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="OLD=NEW, a new name for a type. Can be given several times",
            callback=options.decode,
        ),
    ] = None,
    cut_types: Annotated[
        str | None,
        typer.Option(
            help="Cut the names of types at this text, which makes narrow types broad: "
            "at -, person-actor becomes person",
            callback=options.decode,
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with named groups of types, such as configs/groups.yml"
        ),
    ] = None,
    lang: Annotated[
        str, typer.Option(help="Language, to tokenize running text")
    ] = "en",
    max_width: Annotated[
        int, typer.Option(help="Count entities with more tokens than this")
    ] = 10,
    on_error: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="Whether to stop at data that can't be read, or to skip it"),
    ] = "stop",
    hold_out: Annotated[
        Path | None,
        typer.Option(help="Second corpus, or folder of corpora, for held-out docs"),
    ] = None,
    hold_out_share: Annotated[
        float,
        typer.Option(help="Share of docs to hold out", min=0.01, max=0.5),
    ] = 0.1,
    report: Annotated[
        Path | None, typer.Option(help="JSON file for the summary")
    ] = None,
    shard_size: Annotated[
        int,
        typer.Option(
            help="Docs in a file. A larger corpus becomes a folder of files", min=1
        ),
    ] = SHARD_SIZE,
) -> None:
    """
    Convert corpora to spaCy's binary format: column files in IOB1, BIO, BIOES or IO,
    CoNLL-2003, WNUT-17, OntoNotes 5 as CoNLL-2012 folders, I2B2-2014 XML, Few-NERD,
    JSON Lines of Prodigy, Doccano or Label Studio, and existing .spacy files, each
    also as gzip.

    Example: spacy epnet convert wnut17train.conll corpus/train.spacy

    Example: spacy epnet convert ontonotes/ train.spacy --groups groups.yml --types @A

    Example: spacy epnet convert dev.txt test.txt corpus
    """
    errors: list[CorpusError] = []
    results: dict[str, Statistics] = {}
    with report_errors("Nothing was converted"):
        if format is not None and format not in FORMATS:
            raise InvalidSettingError("format", format, f"one of {', '.join(FORMATS)}")
        check_outputs([report], [*inputs, groups])
        check_places([output, hold_out, report], [groups])
        mapping = make_label_mapping(types, drop_types, rename or [], cut_types, groups)
        try:
            for plan in plan_conversions(inputs, output, hold_out):
                results[plan.output.stem] = convert(
                    plan.inputs,
                    plan.output,
                    format=format,
                    columns=read_columns_option(columns),
                    separator={"tab": "\t", "space": " "}.get(
                        separator or "", separator or None
                    ),
                    comment=comment,
                    repair_tags=repair_tags,
                    mapping=mapping,
                    keep_docs=docs,
                    lang=lang,
                    max_width=max_width,
                    on_error=errors.append if on_error == "skip" else None,
                    hold_out=plan.hold_out,
                    hold_out_share=hold_out_share,
                    shard_size=shard_size,
                    show_progress=True,
                )
        except EPNetError:
            show_errors(errors)
            raise
    for name, result in results.items():
        if len(results) > 1:
            msg.divider(name)
        show_statistics(result)
    show_errors(errors)
    if mapping.unseen:
        msg.warn("Types that were named but didn't occur", ", ".join(mapping.unseen))
    written = str(output) if hold_out is None else f"{output} and {hold_out}"
    msg.good(f"Wrote {sum(result.docs for result in results.values())} docs", written)
    reports = {name: result.to_dict() for name, result in results.items()}
    is_one = len(reports) == 1
    with report_errors("The report couldn't be written"):
        write_json(report, next(iter(reports.values())) if is_one else reports)


def show_errors(errors: list[CorpusError]) -> None:
    """Print the first errors that were skipped."""
    for error in errors[:SHOWN_ERRORS]:
        msg.warn("Left out", str(error))
    if len(errors) > SHOWN_ERRORS:
        msg.warn(f"And {len(errors) - SHOWN_ERRORS} more were left out")


def read_columns_option(value: str) -> tuple[int, int]:
    """Read the numbers of the columns of the word and the tag."""
    try:
        word, tag = map(int, value.split(","))
    except ValueError:
        expected = "two numbers, such as 0,-1"
        raise InvalidSettingError("columns", value, expected) from None
    return word, tag


def show_statistics(found: Statistics) -> None:
    """Print the statistics of a conversion."""
    facts = found.to_dict()
    share = f"{facts['too_long']} ({facts['too_long_percent']:.2f} %)"
    rows = [
        ("files", facts["files"]),
        ("docs", facts["docs"]),
        ("sentences", facts["sentences"]),
        ("tokens", facts["tokens"]),
        ("entities", facts["entities"]),
        (f"longer than {facts['max_width']} tokens", share),
        ("duplicate docs", facts["duplicate_docs"]),
        ("errors that were skipped", facts["errors_skipped"]),
        *{UNALIGNED: 0, **facts["notes"]}.items(),
    ]
    msg.table(rows, aligns=("l", "r"))
    for hint in found.hints:
        msg.text(hint)
    per_type = facts["entities_per_type"].items()
    if per_type:
        msg.figures(per_type, header=("type", "entities"), divider=False)
    if found.dropped:
        dropped = found.dropped.most_common()
        msg.figures(dropped, header=("made None", "entities"), divider=False)
