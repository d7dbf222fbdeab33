"""From a few marked examples to a recogniser of their types."""

from .adapt import adapt
from .report import AdaptReport
from .settings import AdaptSettings, make_settings

__all__ = ["AdaptReport", "AdaptSettings", "adapt", "make_settings"]
