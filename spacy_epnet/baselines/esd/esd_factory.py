"""The factory of ESD."""

from ...recognizer.factory import register_factory
from .esd import ESDRecognizer

make_esd_ner = register_factory("esd_ner", ESDRecognizer)
