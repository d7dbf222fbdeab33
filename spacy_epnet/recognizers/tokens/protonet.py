"""ProtoNet: tokens take the type whose mean is nearest (Snell et al., 2017)."""

from collections.abc import Callable
from typing import Any

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config, Model, get_array_module
from thinc.types import Floats2d

from ...types import TokenVectors
from ..factories import SCORE_WEIGHTS, WRITES
from .component import TokenRecognizer
from .distances import get_means, get_membership, get_square_distances
from .losses import get_cross_entropy
from .memory import UNKNOWN, TokenMemory

DEFAULT_CONFIG = """
[protonet_ner]
memory_size = 100
threshold = 0.0
overwrite_ents = false
spans_key = null
scorer = {"@scorers": "spacy.ner_scorer.v1"}

[protonet_ner.model]
@architectures = "spacy-epnet.TokenMemory.v1"

[protonet_ner.model.tok2vec]
@architectures = "spacy-transformers.TransformerListener.v1"
grad_factor = 1.0
upstream = "*"
pooling = {"@layers": "reduce_mean.v1"}
"""


@Language.factory(
    "protonet_ner",
    assigns=WRITES,
    default_config=Config().from_str(DEFAULT_CONFIG)["protonet_ner"],
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
    pipe = ProtoNetRecognizer(
        nlp.vocab,
        model,
        name,
        scorer=scorer,
        memory_size=memory_size,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )
    pipe.cfg.follow(nlp, name)
    return pipe


class ProtoNetRecognizer(TokenRecognizer):
    """Pipeline component for few-shot named entity recognition with ProtoNet."""

    def represent(self, tokens: TokenVectors) -> TokenVectors:
        """Take tokens as they are. See the base."""
        return tokens

    def measure(
        self, points: TokenVectors, memory: TokenMemory, n_columns: int
    ) -> Floats2d:
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
        """Let one half of the docs be the support set of the other, and the other way
        round. See the base.
        """
        xp: Any = self.model.ops.xp
        order = xp.random.permutation(len(docs))
        lengths = numpy.asarray([len(doc) for doc in docs])
        is_first = xp.repeat(order < len(docs) / 2, lengths)
        total, d_total = 0.0, xp.zeros_like(tokens)
        for is_support in (is_first, ~is_first):
            loss, d_tokens = get_episode_loss(tokens, columns, is_support)
            total += loss / 2
            d_total += d_tokens / 2
        return total, d_total


def get_episode_loss(
    tokens: Any, columns: Any, is_support: Any
) -> tuple[float, TokenVectors]:
    """Cross-entropy of tokens whose logits are negative squared distances to the means
    of the support set's types.

    tokens (TokenVectors): The batch.
    columns (Ints1d): The type of each token.
    is_support (Bools1d): Which tokens are the support set. Of the others, those are
        classified whose type is in it.
    RETURNS (Tuple[float, TokenVectors]): The mean loss, and its gradient with respect
        to the tokens. Both are zero if there is nothing to classify.
    """
    xp: Any = get_array_module(tokens)
    support = is_support & (columns != UNKNOWN)
    types = xp.unique(columns[support])
    query = ~is_support & xp.isin(columns, types)
    gradient = xp.zeros_like(tokens)
    if not query.any():
        return 0.0, gradient
    membership: Any = get_membership(
        xp.searchsorted(types, columns[support]), len(types), like=tokens
    )
    means, points = membership @ tokens[support], tokens[query]
    targets = xp.searchsorted(types, columns[query])
    distances: Any = get_square_distances(points, means)
    loss, d_logits = get_cross_entropy(-distances, targets)
    # Each logit is -(x - m)², so that x gets -2 (x - m) of it, and m the opposite.
    d_points, d_means = d_logits.sum(axis=1)[:, None], d_logits.sum(axis=0)[:, None]
    gradient[query] = 2 * (d_logits @ means - d_points * points)
    gradient[support] = membership.T @ (2 * (d_logits.T @ points - d_means * means))
    return loss, gradient
