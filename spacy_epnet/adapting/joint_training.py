"""Training a recognizer together with its encoder on a support set."""

from typing import Any

from spacy.training import Example
from thinc.api import Optimizer, set_dropout_rate

from ..errors import PipelineError
from ..recognizer.pipeline import RecognizerPipeline, forget_tensors
from ..recognizer.task import split_evenly
from ..types import TokenVectors
from .support import Support


class JointTraining:
    """Trains a recognizer and its encoder.

    pipeline (RecognizerPipeline): The pipeline, which shares its encoder with no other.
    support (Support): The support set. Components before the encoder have seen it.
    """

    def __init__(self, pipeline: RecognizerPipeline, support: Support):
        self.recognizer = pipeline.recognizer
        self.encoders: list[Any] = [*pipeline.encoders.values()]
        self.docs, self.golds = support.docs, support.golds

    def update(self, optimizer: Optimizer, drop: float) -> None:
        """Learn from all docs once, a large support set in parts.

        optimizer (Optimizer): Moves the weights.
        drop (float): The dropout rate. That of the encoder is its own.
        """
        set_dropout_rate(self.recognizer.model, drop)
        for part in split_evenly([len(doc) for doc in self.docs]):
            docs = self.docs[part]
            for encoder in self.encoders:
                encoder.update([Example(doc, doc) for doc in docs], drop=drop)
            self.recognizer.update_model(docs, self.golds[part])
            for component in (self.recognizer, *self.encoders):
                component.finish_update(optimizer)

    def encode(self) -> TokenVectors:
        """RETURNS (TokenVectors): The docs, as the encoder sees them now."""
        for encoder in self.encoders:
            encoder.set_annotations(self.docs, encoder.predict(self.docs))
        tokens = self.recognizer.encode(self.docs)
        for doc in self.docs:
            forget_tensors(doc)
        return tokens


def check_alone(pipeline: RecognizerPipeline) -> None:
    """Raise an error if others depend on the encoder that is to be trained."""
    name = pipeline.name
    for encoder_name, encoder in pipeline.encoders.items():
        others = ", ".join(other for other in encoder.listener_map if other != name)
        if others:
            raise PipelineError(
                f"'{name}' trains its encoder when it is adapted, and {others} "
                "would suffer from that. Give it an encoder of its own before: "
                f"nlp.replace_listeners('{encoder_name}', '{name}', "
                "['model.tok2vec'])"
            )
