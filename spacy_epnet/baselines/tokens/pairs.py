"""Tokens that are seen beside those of a support set: attention between the two.

    seen = tokens + softmax(tokens Q · others K / √k) others V

V begins at zero, so that tokens are what they were before there is something to learn.
"""

from collections.abc import Callable
from typing import Any

from thinc.api import Model

from ...encoder.vectors import Tok2Vec, TokenModel
from ...recognizer.settings import takes
from ...types import TokenVectors
from ..settings import ProtoNetPDSettings
from .token_model import build_trained_model

QUERY, KEY, VALUE = "Q", "K", "V"


@takes(ProtoNetPDSettings.Model)
def build_token_pairs_model(
    tok2vec: Tok2Vec, settings: ProtoNetPDSettings.Model
) -> TokenModel:
    """Build token vectors with a memory, and with attention to what is remembered.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (ProtoNetPDSettings.Model): The settings, in a config each by itself.
    """
    pairs: Model[Any, Any] = Model(
        "pairs",
        forward,
        init=init,
        params=dict.fromkeys((QUERY, KEY, VALUE)),
        dims={"nI": None, "nO": settings.attention_size},
    )
    scale = settings.learn_rate_scale
    return build_trained_model(tok2vec, pairs, learn_rate_scale=scale)


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Make the weights, for vectors of a width."""
    width, size = X.shape[1], model.get_dim("nO")
    model.set_dim("nI", width)
    xp: Any = model.ops.xp
    for name in (QUERY, KEY):
        weights = xp.random.normal(scale=width**-0.5, size=(width, size))
        model.set_param(name, weights.astype("f"))
    model.set_param(VALUE, model.ops.alloc2f(width, width))


def forward(
    model: Model[Any, Any], inputs: tuple[Any, Any], is_train: bool
) -> tuple[TokenVectors, Callable[[Any], tuple[Any, Any]]]:
    """Let tokens see others. The gradient is that of both."""
    tokens, others = inputs
    weights: Any = [model.get_param(name) for name in (QUERY, KEY, VALUE)]
    to_queries, to_keys, to_values = weights
    queries, keys = tokens @ to_queries, others @ to_keys
    scale = to_queries.shape[1] ** -0.5
    attention = model.ops.softmax(scale * (queries @ keys.T), axis=1)
    seen = attention @ others

    def backprop(d_output: Any) -> tuple[Any, Any]:
        d_seen = d_output @ to_values.T
        d_attention = d_seen @ others.T
        inner = (d_attention * attention).sum(axis=1, keepdims=True)
        d_scores = scale * attention * (d_attention - inner)
        d_queries, d_keys = d_scores @ keys, d_scores.T @ queries
        model.inc_grad(VALUE, seen.T @ d_output)
        model.inc_grad(QUERY, tokens.T @ d_queries)
        model.inc_grad(KEY, others.T @ d_keys)
        d_others = attention.T @ d_seen + d_keys @ to_keys.T
        return d_output + d_queries @ to_queries.T, d_others

    return tokens + seen @ to_values, backprop
