"""ProtoNet+P&D: ProtoNet whose tokens see those of the support set, and that minds
which type follows which (Hou et al., 2020)."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ...recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ...recognizer.gold import UNKNOWN
from ...types import TokenVectors
from ..means import get_episode_loss, get_halves_loss
from ..memory import Memory
from .protonet import ProtoNetRecognizer
from .sequences import SequenceRecognizer
from .transitions import Transfer

OWN_CONFIG = """
[component]
memory_size = 100
transfer = "copy"
temperature = 1.0

[component.model]
@architectures = "spacy-epnet.TokenPairs.v1"
attention_size = 64
learn_rate_scale = 1.0
"""


@Language.factory(
    "protonet_pd_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_protonet_pd_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    memory_size: int,
    transfer: Transfer,
    temperature: float,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a token-level prototypical network with pair-wise embeddings and label
    dependency: tokens attend to those that are remembered before they are compared with
    the means of types, and the types of a sentence are chosen together.

    model (Model[List[Doc], TokenVectors]): The model, see `spacy-epnet.TokenPairs.v1`.
    memory_size (int): Tokens of each type that are remembered from a training.
    transfer (str): How transitions between types are handed to others: each is a "copy"
        of its abstract one, or those that have the same one share it evenly ("even").
    temperature (float): Power of the transitions. The smaller, the less they count.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        ProtoNetPDRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        memory_size=memory_size,
        transfer=transfer,
        temperature=temperature,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class ProtoNetPDRecognizer(SequenceRecognizer, ProtoNetRecognizer):
    """Pipeline component for few-shot named entity recognition with ProtoNet+P&D."""

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make an empty memory and the attention to it. See the base."""
        super().initialize_model(docs)
        self.model.get_ref("pairs").initialize(X=self.memory.vectors)

    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """Measure distances to the means of types, all tokens seen beside those that
        are remembered. See the base.
        """
        if len(memory.vectors):
            pairs, others = self.model.get_ref("pairs"), memory.vectors
            memory = memory._replace(vectors=pairs.predict((others, others)))
            points = pairs.predict((points, others))
        return super().measure(points, memory, n_columns)

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Let one half of the docs be the support set of the other. See the base."""
        numbers = self.number_docs(docs)
        return get_halves_loss(tokens, columns, numbers, get_loss=self.get_pairs_loss)

    def get_pairs_loss(
        self, tokens: Any, columns: Any, is_support: Any
    ) -> tuple[float, TokenVectors]:
        """The loss of an episode in which all tokens see those of the support set. See
        `get_episode_loss` for the arguments.
        """
        support = is_support & (columns != UNKNOWN)
        if not support.any():
            return 0.0, tokens * 0
        pairs = self.model.get_ref("pairs")
        seen, backprop = pairs((tokens, tokens[support]), is_train=True)
        loss, d_seen = get_episode_loss(seen, columns, is_support)
        d_tokens, d_others = backprop(d_seen)
        d_tokens[support] += d_others
        return loss, d_tokens
