"""ESD as a Thinc model.

ESD                docs              -> token vectors, the docs end to end
  flat_tokens      docs              -> the same
    tok2vec        docs              -> token vectors of each doc
  span_attention   (tokens, episode) -> (distances, spans), see `layer.py`
  memory                                spans that are remembered, and their columns
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc
from thinc.api import Model, get_torch_default_device
from thinc.types import Floats2d

from ...encoder.vectors import build_flat_tokens
from ...recognizer.settings import takes
from ...types import TokenVectors
from ..memory import build_memory, make_empty_memory, set_memory
from .esd_layer import build_layer
from .settings import ESDSettings

if TYPE_CHECKING:
    from .esd_network import SpanAttentionNetwork


@takes(ESDSettings.Model)
def build_esd_model(
    tok2vec: Model[list[Doc], list[Floats2d]], settings: ESDSettings.Model
) -> Model[list[Doc], TokenVectors]:
    """Build ESD over a layer that makes token vectors.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (ESDSettings.Model): The settings, in a config each by itself.
    """
    make_network = partial(_make_network, span_size=settings.span_size)
    flat_tokens = build_flat_tokens(tok2vec)
    layer = build_layer(make_network, settings.learn_rate_scale)
    memory = build_memory()
    return Model(
        "esd",
        forward,
        init=init,
        layers=[flat_tokens, layer, memory],
        refs={
            "flat_tokens": flat_tokens,
            "tok2vec": tok2vec,
            "span_attention": layer,
            "memory": memory,
        },
        attrs={"max_width": settings.max_width, "span_size": settings.span_size},
    )


def _make_network(*, token_width: int, span_size: int) -> "SpanAttentionNetwork":
    from .esd_network import SpanAttentionNetwork

    network = SpanAttentionNetwork(token_width=token_width, span_size=span_size)
    return network.to(get_torch_default_device())


def forward(
    model: Model[list[Doc], TokenVectors], docs: list[Doc], is_train: bool
) -> tuple[TokenVectors, Callable[..., Any]]:
    return model.get_ref("flat_tokens")(docs, is_train)


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    flat_tokens = model.get_ref("flat_tokens").initialize(X=X)
    model.get_ref("span_attention").initialize(X=flat_tokens.predict(X))
    set_memory(model, make_empty_memory(model.attrs["span_size"], ops=model.ops))
