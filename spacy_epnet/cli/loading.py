"""Pipelines from and to the disk, for the commands."""

from pathlib import Path

from spacy.language import Language

from ..corpora.files import write_whole
from ..errors import Errors


def save_pipeline(nlp: Language, output: Path, *, source: str) -> None:
    """Save a pipeline, whole or not at all.

    nlp (Language): The pipeline.
    output (Path): Its folder. A pipeline that is there is replaced.
    source (str): What it was loaded from, which isn't replaced.
    """
    check_output(output, source)
    with write_whole(output, may_replace=is_pipeline) as path:
        nlp.to_disk(path)


def check_output(output: Path, source: str) -> None:
    """Refuse to replace the pipeline that is read."""
    if Path(source).exists() and Path(source).resolve() == output.resolve():
        raise ValueError(Errors.EP031.format(path=output))


def is_pipeline(folder: Path) -> bool:
    """Whether a folder is empty or has a pipeline."""
    files = {path.name for path in folder.iterdir()}
    return not files or {"config.cfg", "meta.json", "tokenizer"} <= files
