"""Few-shot named entity recognition for spaCy with EP-Net."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adaptation import AdaptReport, AdaptSettings, adapt, make_settings

__version__ = "0.1.0"
__all__ = ["AdaptReport", "AdaptSettings", "adapt", "make_settings"]


def __getattr__(name: str) -> Any:
    # spaCy imports this package at every start, so it must not import much itself.
    if name in __all__:
        from . import adaptation

        return getattr(adaptation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
