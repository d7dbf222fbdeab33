"""Entities in large corpora: one machine or many, interrupted or not."""

from .run import Summary, annotate

__all__ = ["Summary", "annotate"]
