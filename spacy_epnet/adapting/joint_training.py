"""Training a recognizer together with its encoder on a support set."""

from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer, set_dropout_rate

from ..errors import PipelineError
from ..recognizer.gold import Gold
from ..recognizer.pipeline import find_encoders, find_recognizer, forget_tensors
from ..recognizer.task import split_evenly
from ..types import TokenVectors


class JointTraining:
    """Trains a recognizer and what encodes for it.

    nlp (Language): The pipeline, whose encoder nobody else has.
    name (str): The recognizer.
    docs (List[Doc]): The support set. Components before the encoder have seen it.
    golds (List[Gold]): The annotation of each doc.
    """

    def __init__(self, nlp: Language, name: str, docs: list[Doc], golds: list[Gold]):
        _, self.pipe = find_recognizer(nlp, name)
        self.encoders: list[Any] = list(find_encoders(nlp, name).values())
        self.docs, self.golds = docs, golds

    def update(self, optimizer: Optimizer, drop: float) -> None:
        """Learn from all docs once, a large support set in parts.

        optimizer (Optimizer): Moves the weights.
        drop (float): The dropout rate. That of the encoder is its own.
        """
        set_dropout_rate(self.pipe.model, drop)
        for part in split_evenly([len(doc) for doc in self.docs]):
            docs = self.docs[part]
            for encoder in self.encoders:
                encoder.update([Example(doc, doc) for doc in docs], drop=drop)
            self.pipe.update_model(docs, self.golds[part])
            for component in (self.pipe, *self.encoders):
                component.finish_update(optimizer)

    def encode(self) -> TokenVectors:
        """RETURNS (TokenVectors): The docs, as the encoder sees them now."""
        for encoder in self.encoders:
            encoder.set_annotations(self.docs, encoder.predict(self.docs))
        tokens = self.pipe.encode(self.docs)
        for doc in self.docs:
            forget_tensors(doc)
        return tokens


def check_alone(nlp: Language, name: str) -> None:
    """Raise an error if others depend on the encoder that is to be trained."""
    for encoder_name, encoder in find_encoders(nlp, name).items():
        others = ", ".join(other for other in encoder.listener_map if other != name)
        if others:
            raise PipelineError(
                f"'{name}' trains its encoder when it is adapted, and {others} "
                "would suffer from that. Give it an encoder of its own before: "
                f"nlp.replace_listeners('{encoder_name}', '{name}', "
                "['model.tok2vec'])"
            )
