"""The `spacy epnet` commands, also as `python -m spacy_epnet`."""

from spacy.cli import app

from ._app import epnet_cli
from .adapt import adapt_cli
from .annotate import annotate_cli
from .benchmark import benchmark_cli
from .clean import clean_cli
from .compare import compare_cli
from .convert import convert_cli
from .corpora import corpora_cli
from .encoder import encoder_cli
from .episodes import episodes_cli
from .init_config import init_config_cli
from .mark_missing import mark_missing_cli
from .mistakes import mistakes_cli
from .pack import pack_cli
from .plot import plot_cli
from .recognize import recognize_cli
from .report import report_cli
from .sample import sample_cli
from .source import source_cli
from .sweep import sweep_cli
from .train import train_cli

app.add_typer(epnet_cli)

__all__ = [
    "adapt_cli",
    "annotate_cli",
    "benchmark_cli",
    "clean_cli",
    "compare_cli",
    "convert_cli",
    "corpora_cli",
    "encoder_cli",
    "episodes_cli",
    "epnet_cli",
    "init_config_cli",
    "mark_missing_cli",
    "mistakes_cli",
    "pack_cli",
    "plot_cli",
    "recognize_cli",
    "report_cli",
    "sample_cli",
    "source_cli",
    "sweep_cli",
    "train_cli",
]
