"""From a few marked examples to a recognizer of their types."""

from .adapt import adapt
from .report import AdaptReport

__all__ = ["AdaptReport", "adapt"]
