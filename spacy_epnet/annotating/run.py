"""Annotating a corpus, from the beginning or from where it was interrupted."""

import hashlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from spacy.util import get_package_path
from tqdm import tqdm

from ..corpora.files import get_hash
from ..errors import AnnotationError
from ..processes import count_cores
from ..sources.catalog import find_pipeline, list_pipeline_files, locate_pipeline
from ..writing import check_places, find_place
from .annotator import Recipe, Results
from .cluster import run_on_ray
from .folder import Folder
from .inputs import Source, open_source
from .local import run_local
from .shards import Layout, find_schema

SHARD_SIZE = 1000
MOST_PROCESSES = 8  # if it isn't said, because each of them holds the pipeline
VERSION = 1  # of what is written


@dataclass
class Summary:
    """What has become of an input.

    output (Path): The folder.
    shards (int): Files that were made of it, also by earlier runs.
    records (int): Records that were annotated.
    rejected (int): Records that couldn't be.
    words (int): Tokens of the records that were annotated.
    entities (int): What was found in them.
    size (int): Bytes of the input.
    """

    output: Path
    shards: int
    records: int
    rejected: int
    words: int
    entities: int
    size: int


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
    """Recognize the entities in a corpus of any size. What was interrupted, in whatever
    way, goes on from where it was when it is called again.

    model (str): The pipeline: a folder, a package, or a source that comes with us.
    inputs (Iterable[Union[str, Path]]): Files, folders and patterns.
    output (Path): The folder for the output.
    format (str): The format of the output.
    input_format (Optional[str]): That of the input. Told by names of files by default.
    text_field (str): The field or column with the text.
    shard_size (int): Records in a file of the output, at most.
    engine (str): Whether to compute on this machine ("local") or with Ray ("ray").
    processes (Optional[int]): How many annotate. By default what suits the machine, or
        the cluster.
    threads (Optional[int]): How many each of them computes with.
    address (Optional[str]): The Ray cluster, "auto" for the one of this machine.
    code (Optional[Path]): A Python file to import before the pipeline is loaded.
    gpu (int): The GPU, or -1. Ray takes those that there are.
    strict (bool): Whether to stop at a record that can't be annotated.
    show_progress (bool): Whether to show a progress bar.
    RETURNS (Summary): What has become of the input.
    """
    names = [str(name) for name in inputs]
    source = open_source(
        names,
        format=input_format,
        text_field=text_field,
        shard_size=shard_size,
        output=output,
    )
    found = find_pipeline(model)
    files = [file.path for file in source.files]
    check_places([output], [*names, *files, locate_pipeline(model), code])
    schema = find_schema(source) if format == "parquet" else None
    layout = Layout(format, text_field, schema)
    description = {
        "version": VERSION,
        "model": hash_model(found),
        "code": None if code is None else get_hash(code),
        "inputs": source.describe(),
        "text_field": text_field,
        "format": format,
        "shard_size": shard_size,
    }
    folder = Folder(find_place(output), layout)
    with folder.open(description):
        if strict:
            for reject in folder.read_rejects():
                raise AnnotationError(
                    f"The record {reject['record']} can't be annotated: "
                    f"{reject['reason']}. Without --strict such records are put into "
                    "rejects.jsonl, and the others are annotated."
                )
        if not folder.is_finished():
            processes, threads = share_cores(engine, processes, threads)
            recipe = Recipe(
                str(found.resolve()) if isinstance(found, Path) else found,
                layout,
                None if code is None else str(code.resolve()),
                threads,
                gpu,
            )
            if engine == "local":
                shards = source.read(folder.done.__contains__)
                results = run_local(shards, recipe, processes or 1)
            else:
                done = frozenset(folder.done)
                results = run_on_ray(
                    source, done, recipe, processes=processes, address=address
                )
            with (
                closing(results),
                Progress(source, folder, show=show_progress) as progress,
            ):
                write(results, folder, progress, strict=strict)
        folder.finish(description)
        return Summary(output, len(folder.done), **folder.count())


def write(
    results: Results,
    folder: Folder,
    progress: "Progress",
    *,
    strict: bool,
) -> None:
    """Write shards as they are done."""
    for number, size, result in results:
        if strict and result.rejects:
            reject = result.rejects[0]._asdict()
            raise AnnotationError(
                f"The record {reject['record']} can't be annotated: "
                f"{reject['reason']}. Without --strict such records are put into "
                "rejects.jsonl, and the others are annotated."
            )
        folder.add(number, size, result)
        progress.add(size, result.words)


def share_cores(
    engine: str, processes: int | None, threads: int | None
) -> tuple[int | None, int]:
    """Choose how many processes annotate, and how many threads each has.

    engine (str): Where they are.
    processes (Optional[int]): How many are wanted.
    threads (Optional[int]): How many are wanted.
    RETURNS (Tuple[Optional[int], int]): Both. Ray chooses its processes itself.
    """
    if engine == "ray":
        return processes, threads or 1
    cores = count_cores()
    if processes is None:
        processes = min(MOST_PROCESSES, max(1, cores // (threads or 1)))
    return processes, threads or max(1, cores // processes)


def hash_model(model: Path | str) -> str:
    """Tell pipelines apart by their files.

    model (Union[Path, str]): The folder of a pipeline, or the name of a package.
    RETURNS (str): A hash of the files.
    """
    folder = model if isinstance(model, Path) else get_package_path(model)
    digest = hashlib.sha256()
    for path in list_pipeline_files(folder):
        if "__pycache__" not in path.parts:
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name} {get_hash(path)}\n".encode())
    return digest.hexdigest()


class Progress:
    """A bar that shows how much of the input is done, and how fast.

    source (Source): The input.
    folder (Folder): The output, of which a part may be done.
    show (bool): Whether to show it.
    """

    def __init__(self, source: Source, folder: Folder, *, show: bool):
        self.bar = tqdm(
            total=source.get_size(),
            initial=folder.count()["size"],
            unit="B",
            unit_scale=True,
            desc="Annotating",
            disable=None if show else True,
        )
        self.words = 0
        self.start = perf_counter()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.close()

    def add(self, size: int, words: int) -> None:
        """Count a shard that is done."""
        self.words += words
        speed = self.words / (perf_counter() - self.start)
        self.bar.set_postfix_str(f"{speed:,.0f} words/s", refresh=False)
        self.bar.update(size)
