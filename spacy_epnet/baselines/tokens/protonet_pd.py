"""ProtoNet+P&D: ProtoNet whose tokens see those of the support set, and that minds
which type follows which (Hou et al., 2020)."""

from typing import Any

from thinc.types import Floats2d

from ...recognizer.factory import register_factory
from ...recognizer.gold import UNKNOWN
from ...types import TokenVectors
from ..memory import Memory
from ..settings import ProtoNetPDSettings
from .protonet import ProtoNetRecognizer
from .transitions import SequenceRecognizer


class ProtoNetPDRecognizer(SequenceRecognizer, ProtoNetRecognizer):
    """Pipeline component for few-shot named entity recognition with ProtoNet+P&D."""

    settings_type = ProtoNetPDSettings

    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """Measure distances to the means of types, all tokens seen beside those that
        are remembered. See the base.
        """
        if len(memory.vectors):
            pairs, others = self.model.get_ref("pairs"), memory.vectors
            memory = memory._replace(vectors=pairs.predict((others, others)))
            points = pairs.predict((points, others))
        return super().measure(points, memory, n_columns)

    def get_loss(
        self, tokens: Any, columns: Any, is_support: Any
    ) -> tuple[float, TokenVectors]:
        """Find the loss of an episode in which all tokens see the support set, and its
        gradient with respect to the tokens.
        """
        support = is_support & (columns != UNKNOWN)
        if not support.any():
            return 0.0, tokens * 0
        pairs = self.model.get_ref("pairs")
        seen, backprop = pairs((tokens, tokens[support]), is_train=True)
        loss, d_seen = super().get_loss(seen, columns, is_support)
        d_tokens, d_others = backprop(d_seen)
        d_tokens[support] += d_others
        return loss, d_tokens


make_protonet_pd_ner = register_factory("protonet_pd_ner", ProtoNetPDRecognizer)
