"""Where commands may write a pipeline."""

from collections.abc import Iterable
from pathlib import Path

from ..corpora.files import check_places
from ..errors import CorpusError
from ..pipelines import is_pipeline


def check_pipeline_place(
    output: Path, inputs: Iterable[Path], report: Path | None
) -> None:
    """Refuse places where a pipeline would replace something else.

    output (Path): The folder of the pipeline.
    inputs (Iterable[Path]): What is read, as far as it is on the disk.
    report (Optional[Path]): Another file that is written.
    """
    used = [path for path in inputs if path.exists()]
    check_places([output] if report is None else [output, report], used)
    if output.is_file():
        raise CorpusError(output, "there is a file at this place")
    if output.is_dir() and not is_pipeline(output):
        raise CorpusError(output, "there is a folder with other files at this place")
    if report is not None and report.is_dir():
        raise CorpusError(report, "there is a folder at this place")
