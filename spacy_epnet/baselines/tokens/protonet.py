"""ProtoNet: tokens take the type whose mean is nearest (Snell et al., 2017)."""

from collections.abc import Callable
from typing import Any

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ...recognizer.distances import get_square_distances
from ...recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ...types import TokenVectors
from ..means import get_halves_loss, get_means
from ..memory import Memory
from .token_recognizer import TokenRecognizer

OWN_CONFIG = """
[component]
memory_size = 100

[component.model]
@architectures = "spacy-epnet.TokenMemory.v1"
"""


@Language.factory(
    "protonet_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_protonet_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    memory_size: int,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a token-level prototypical network: a token takes the type whose tokens
    have the nearest mean, by squared Euclidean distance. None is a type like others.

    model (Model[List[Doc], TokenVectors]): The model, see `spacy-epnet.TokenMemory.v1`.
    memory_size (int): Tokens of each type that are remembered from a training.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        ProtoNetRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        memory_size=memory_size,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class ProtoNetRecognizer(TokenRecognizer):
    """Pipeline component for few-shot named entity recognition with ProtoNet."""

    def represent(self, tokens: TokenVectors) -> TokenVectors:
        """Take tokens as they are. See the base."""
        return tokens

    def measure(self, points: TokenVectors, memory: Memory, n_columns: int) -> Floats2d:
        """Measure distances to the means of types. See the base."""
        xp: Any = self.model.ops.xp
        means = get_means(memory.vectors, memory.columns, n_columns)
        distances: Any = get_square_distances(points, means)
        missing = xp.bincount(memory.columns, minlength=n_columns) == 0
        distances[:, missing] = xp.inf
        return distances

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Let one half of the docs be the support set of the other. See the base."""
        return get_halves_loss(tokens, columns, self.number_docs(docs))

    def number_docs(self, docs: list[Doc]) -> Any:
        """(T,) The number of the doc of each token."""
        numbers = numpy.repeat(numpy.arange(len(docs)), [len(doc) for doc in docs])
        return self.model.ops.xp.asarray(numbers)  # type: ignore[attr-defined]
