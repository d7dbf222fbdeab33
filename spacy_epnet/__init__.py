"""Few-shot named entity recognition for spaCy with EP-Net."""

__version__ = "0.1.0"
