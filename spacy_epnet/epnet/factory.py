"""The factory of the `epnet_ner` component."""

from ..recognizer.factory import register_factory
from .component import EPNetRecognizer

make_epnet_ner = register_factory("epnet_ner", EPNetRecognizer)
