"""The `spacy epnet` commands, also as `python -m spacy_epnet`."""

from spacy.cli import app

# Each registers its command.
from . import (  # noqa: F401
    adapt,
    annotate,
    benchmark,
    clean,
    compare,
    convert,
    corpora,
    encoder,
    episodes,
    init_config,
    mark_missing,
    mistakes,
    pack,
    plot,
    recognize,
    report,
    sample,
    source,
    sweep,
    train,
)
from ._app import epnet_cli

app.add_typer(epnet_cli)

__all__ = ["epnet_cli"]
