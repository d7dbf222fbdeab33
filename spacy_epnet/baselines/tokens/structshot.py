"""StructShot: NNShot that minds which type follows which (Yang and Katiyar, 2020)."""

from ...recognizer.factory import register_factory
from ..settings import StructShotSettings
from .nnshot import NNShotRecognizer
from .transitions import SequenceRecognizer


class StructShotRecognizer(SequenceRecognizer, NNShotRecognizer):
    """Pipeline component for few-shot named entity recognition with StructShot."""

    settings_type = StructShotSettings


make_structshot_ner = register_factory("structshot_ner", StructShotRecognizer)
