"""Annotate a corpus, and resume where a run was interrupted."""

import hashlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

from spacy.util import get_package_path
from tqdm import tqdm

from ..corpora.files import get_hash
from ..errors import AnnotationError
from ..processes import count_cores
from ..sources.catalog import find_pipeline, list_pipeline_files, locate_pipeline
from ..writing import check_places, find_place
from .annotator import Recipe, Results
from .cluster import run_on_ray
from .folder import OutputFolder
from .inputs import open_input
from .local import run_local
from .output_formats import Layout, Reject, find_schema

SHARD_SIZE = 1000
MOST_PROCESSES = 8  # by default, because each of them loads the pipeline
VERSION = 2  # of the output


@dataclass
class Summary:
    """Counts of an output, including those of earlier runs."""

    output: Path  # the folder
    shards: int
    records: int  # without those that are rejected
    rejected: int
    words: int
    entities: int
    size: int  # bytes of the input


def annotate(
    model: str,
    inputs: Iterable[str | Path],
    output: Path,
    *,
    format: Literal["jsonl", "parquet", "spacy"] = "jsonl",
    input_format: str | None = None,
    text_field: str = "text",
    shard_size: int = SHARD_SIZE,
    engine: Literal["local", "ray"] = "local",
    processes: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    code: Path | None = None,
    gpu: int = -1,
    strict: bool = False,
    show_progress: bool = False,
) -> Summary:
    """Recognize the entities in a corpus of any size. If it is interrupted, call it
    again and it resumes.

    model (str): The pipeline: a folder, a package, or a source pipeline's name.
    inputs (Iterable[Union[str, Path]]): Files, folders and patterns.
    output (Path): The folder for the output.
    format (str): The format of the output.
    input_format (Optional[str]): The format of the input. Detected by default.
    text_field (str): The field or column with the text.
    shard_size (int): The most records in a file of the output.
    engine (str): Whether to compute on this machine ("local") or with Ray ("ray").
    processes (Optional[int]): The number of processes. By default as many as suit the
        machine or the cluster.
    threads (Optional[int]): The number of threads of each.
    address (Optional[str]): The Ray cluster, "auto" for the one of this machine.
    code (Optional[Path]): A Python file to import before the pipeline is loaded.
    gpu (int): The GPU, or -1. Ray uses all that it has.
    strict (bool): Whether to stop at a record that can't be annotated.
    show_progress (bool): Whether to show a progress bar.
    RETURNS (Summary): The counts of the output.
    """
    names = [str(name) for name in inputs]
    records = open_input(
        names,
        format=input_format,
        text_field=text_field,
        shard_size=shard_size,
        output=output,
    )
    found = find_pipeline(model)
    files = [file.path for file in records.files]
    check_places([output], [*names, *files, locate_pipeline(model), code])
    schema = find_schema(records) if format == "parquet" else None
    layout = Layout(format, text_field, schema)
    description = {
        "version": VERSION,
        "model": hash_model(found),
        "code": None if code is None else get_hash(code),
        "inputs": records.describe(),
        "text_field": text_field,
        "format": format,
        "shard_size": shard_size,
    }
    folder = OutputFolder(find_place(output), layout)
    with folder.open(description):
        if strict:
            refuse(folder.read_rejects())
        if not folder.is_finished():
            recipe = Recipe(
                str(found.resolve()) if isinstance(found, Path) else found,
                layout,
                None if code is None else str(code.resolve()),
                threads or 1,
                gpu,
            )
            if engine == "local":
                processes, threads = share_cores(processes, threads)
                recipe = recipe._replace(threads=threads)
                results = run_local(records.read(folder.done), recipe, processes)
            else:
                done = frozenset(folder.done)
                results = run_on_ray(
                    records, done, recipe, processes=processes, address=address
                )
            bar = tqdm(
                total=records.get_size(),
                initial=folder.count()["size"],
                unit="B",
                unit_scale=True,
                desc="Annotating",
                disable=None if show_progress else True,
            )
            with closing(results), bar:
                write(results, folder, bar, strict=strict)
        folder.finish()
        return Summary(output, **folder.count())


def write(
    results: Results, folder: OutputFolder, bar: "tqdm[None]", *, strict: bool
) -> None:
    """Write shards as they are done, and display how fast they are."""
    words = 0
    start = perf_counter()
    for number, size, result in results:
        if strict:
            refuse(result.rejects)
        folder.add(number, size, result)
        words += result.words
        speed = words / (perf_counter() - start)
        bar.set_postfix_str(f"{speed:,.0f} words/s", refresh=False)
        bar.update(size)


def refuse(rejects: Iterable[Reject]) -> None:
    """Raise an error if a record couldn't be annotated."""
    for reject in rejects:
        raise AnnotationError(
            f"The record {reject.record} can't be annotated: {reject.reason}. Without "
            "--strict such records are written to rejects.jsonl, and the others are "
            "annotated."
        )


def share_cores(processes: int | None, threads: int | None) -> tuple[int, int]:
    """Choose the number of processes, and of the threads of each."""
    cores = count_cores()
    if processes is None:
        processes = min(MOST_PROCESSES, max(1, cores // (threads or 1)))
    return processes, threads or max(1, cores // processes)


def hash_model(model: Path | str) -> str:
    """Hash the files of a pipeline, which is a folder or a package."""
    folder = model if isinstance(model, Path) else get_package_path(model)
    digest = hashlib.sha256()
    for path in list_pipeline_files(folder):
        if "__pycache__" not in path.parts:
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name} {get_hash(path)}\n".encode())
    return digest.hexdigest()
