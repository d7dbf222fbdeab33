"""Measure the package against spaCy's recognizers on the same encoder.

    python -m measurements.speed CORPORA --encoder assets/encoders/all-MiniLM-L6-v2

CORPORA is a folder with fewnerd_inter, wnut17 and crossner_politics, as `spacy project
assets` makes it. All figures are ratios, for which the contestants take turns.
"""

import platform
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import srsly
import torch
import typer
from wasabi import msg

from spacy_epnet.encoder.networks import has_bfloat16

from .adapting import measure_adapting
from .annotating import measure_annotating
from .inference import TARGETS, measure_inference
from .memory import measure_memory
from .recognition import measure_recognition
from .setup import Setup, Table
from .startup import measure_startup
from .training import measure_training

PARTS: dict[str, Callable[[Setup], Iterable[Table]]] = {
    "recognition": measure_recognition,
    "adapting": measure_adapting,
    "training": measure_training,
    "memory": measure_memory,
    "startup": measure_startup,
    "inference": measure_inference,
    "annotating": measure_annotating,
}


def main(
    corpora: Annotated[Path, typer.Argument(help="Folder with the corpora")],
    encoder: Annotated[
        list[Path], typer.Option(help="Folder of an encoder. The first is the main one")
    ] = [Path("assets/encoders/all-MiniLM-L6-v2")],  # noqa: B006
    source: Annotated[
        Path, typer.Option(help="Source pipeline over the main encoder, to be adapted")
    ] = Path("training/small"),
    only: Annotated[
        str, typer.Option(help="What to measure, with commas between")
    ] = ",".join(PARTS),
    quick: Annotated[bool, typer.Option(help="Measure less, in minutes")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="JSON file for the figures. Other tables in it stay"),
    ] = None,
) -> None:
    """Measure the package against spaCy's recognizers on the same encoder."""
    parts = [part.strip() for part in only.split(",")]
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        choice = f"Choose: {', '.join(PARTS)}"
        msg.fail(f"Can't measure {', '.join(unknown)}", choice, exits=1)
    folders = [corpora / "fewnerd_inter", corpora / "wnut17", *encoder]
    folders += [source] if {"adapting", "inference", "annotating"} & {*parts} else []
    folders += [corpora / target for target in TARGETS if "inference" in parts]
    missing = [path for path in folders if not path.is_dir()]
    if missing:
        advice = (
            "Fetch corpora with: python -m spacy project assets. Fetch encoders with: "
            "python -m spacy epnet encoder NAME. Get the source pipeline with: "
            "python -m spacy epnet source small --output training/small"
        )
        msg.fail(f"There is no folder {missing[0]}", advice, exits=1)
    warnings.filterwarnings("ignore")
    for part in parts:
        with TemporaryDirectory() as folder:
            encoders = {path.name: str(path) for path in encoder}
            setup = Setup(corpora, encoders, source, Path(folder), quick)
            for table in PARTS[part](setup):
                table.show()
                if output is not None:
                    save(output, part, table, quick)


def save(path: Path, part: str, table: Table, quick: bool) -> None:
    """Put a table into the file, beside others."""
    figures = srsly.read_json(path) if path.exists() else {}
    machine = {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "bfloat16": has_bfloat16(),
        "torch": torch.__version__,
    }
    tables = figures.get(part, {}).get("tables", {})
    tables[table.title] = {
        "quick": quick,
        "header": table.header,
        "rows": table.rows,
        "results": table.results,
    }
    figures[part] = {"machine": machine, "tables": tables}
    path.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(path, figures)


if __name__ == "__main__":
    typer.run(main)
