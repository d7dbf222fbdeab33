from pathlib import Path
from typing import Annotated, Literal

import typer

from ..console import msg
from . import options
from ._app import epnet_cli, report_errors


@epnet_cli.command("annotate")
def annotate_cli(
    model: options.Source,
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Files, folders, or patterns in quotes: text with a record a line, "
            "JSON Lines, CSV, Parquet, .spacy. All but Parquet also as gzip"
        ),
    ],
    output: Annotated[Path, typer.Argument(help="Folder to write")],
    format: Annotated[
        Literal["jsonl", "parquet", "spacy"],
        typer.Option("--format", "-f", help="Format of the output"),
    ] = "jsonl",
    input_format: Annotated[
        Literal["text", "jsonl", "csv", "parquet", "spacy"] | None,
        typer.Option(help="Format of the input. By default detected by file names"),
    ] = None,
    text_field: Annotated[
        str,
        typer.Option(
            help="Field or column with the text. The others are kept",
            callback=options.decode,
        ),
    ] = "text",
    shard_size: Annotated[
        int,
        typer.Option(
            help="Records in a file of the output, fewer if they are long", min=1
        ),
    ] = 1000,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Compute on this machine, or with Ray on one or many"),
    ] = "local",
    processes: Annotated[
        int | None,
        typer.Option(
            help="Number of processes. By default as many as there is room for",
            min=1,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads of each process. By default the cores are distributed", min=1
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="Ray cluster, auto for the one of this machine. By default only this "
            "machine"
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Stop at a record that can't be annotated. By default it is "
            "written to rejects.jsonl",
        ),
    ] = False,
    code: options.CodeFile = None,
    use_gpu: options.GpuId = -1,
) -> None:
    """
    Recognize the entities in a corpus of any size. The output is a folder of files, in
    the order of the input. If the command is interrupted, run it again and it resumes;
    in the end, each record is there exactly once.

    Example: spacy epnet annotate training/mine notes.txt annotated

    Example: spacy epnet annotate training/mine "data/*.jsonl.gz" annotated
    --text-field body --format parquet

    Example: spacy epnet annotate training/mine data annotated --engine ray --address
    auto
    """
    from ..annotating import annotate

    with report_errors("The annotation stopped", output):
        summary = annotate(
            model,
            inputs,
            output,
            format=format,
            input_format=input_format,
            text_field=text_field,
            shard_size=shard_size,
            engine=engine,
            processes=processes,
            threads=threads,
            address=address,
            code=code,
            gpu=use_gpu,
            strict=strict,
            show_progress=True,
        )
    if summary.rejected:
        where = str(output / "rejects.jsonl")
        title = f"{summary.rejected:,} records couldn't be annotated"
        msg.warn(title, where, exits=None if summary.records else 1)
    msg.good(
        f"Found {summary.entities:,} entities in {summary.records:,} records",
        str(output),
    )
