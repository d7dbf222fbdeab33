"""Few-shot named entity recognition for spaCy with EP-Net."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapting import AdaptReport, adapt
    from .evaluation.explanation import explain
    from .recognizer.base import FewShotRecognizer
    from .sources.catalog import load_source

__version__ = "0.1.0"
__all__ = ["AdaptReport", "FewShotRecognizer", "adapt", "explain", "load_source"]

PLACES = {
    "AdaptReport": ".adapting",
    "FewShotRecognizer": ".recognizer.base",
    "adapt": ".adapting",
    "explain": ".evaluation.explanation",
    "load_source": ".sources.catalog",
}


def __getattr__(name: str) -> Any:
    # spaCy imports this package at every start, so it must not import much itself.
    if name in PLACES:
        return getattr(import_module(PLACES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
