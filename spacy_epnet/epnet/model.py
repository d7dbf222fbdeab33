"""EP-Net as a Thinc model.

    EPNet            (docs, spans, rows)   -> (distances, prototypes)
      flat_tokens    docs                  -> token vectors, the docs end to end
        tok2vec      docs                  -> token vectors of each doc
      head           (tokens, spans, rows) -> (distances, prototypes)

The head can be called on its own, so that docs are encoded once and measured
many times.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from spacy.tokens import Doc
from thinc.api import Model, get_torch_default_device
from thinc.types import Floats2d

from .._compat import get_network
from ..encoder.networks import renew_shim
from ..encoder.vectors import build_flat_tokens
from ..recognizer.settings import takes
from .head import build_head
from .prototypes import get_initial_scale
from .settings import EPNetSettings
from .types import HeadOutput, ModelInput

if TYPE_CHECKING:
    from .network import SpanPrototypeNetwork

# Cosines alone are too close to each other to be sure of one type among many. So a
# right angle is a squared distance of twice the square of this.
COSINE_RADIUS = 3.0


@takes(EPNetSettings.Model)
def build_epnet_model(
    tok2vec: Model[list[Doc], list[Floats2d]], settings: EPNetSettings.Model
) -> Model[ModelInput, HeadOutput]:
    """Build EP-Net over a layer that makes token vectors.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (EPNetSettings.Model): The settings, in a config each by itself.
    """
    make_network = partial(
        _make_network,
        max_width=settings.max_width,
        width_size=settings.width_size,
        prototype_size=settings.prototype_size,
        depth=settings.depth,
        initial_scale=get_initial_scale(
            settings.initial_dispersion, settings.prototype_size
        ),
        radius=COSINE_RADIUS if settings.similarity == "cosine" else None,
        edges=settings.edges,
    )
    flat_tokens = build_flat_tokens(tok2vec)
    head = build_head(
        make_network,
        n_prototypes=settings.n_prototypes,
        learn_rate_scale=settings.learn_rate_scale,
        similarity=settings.similarity,
    )
    return Model(
        "epnet",
        forward,
        init=init,
        layers=[flat_tokens, head],
        refs={"flat_tokens": flat_tokens, "head": head, "tok2vec": tok2vec},
        attrs={"max_width": settings.max_width, "resize_output": grow_prototypes},
    )


def _make_network(
    *, token_width: int, n_prototypes: int, **settings: Any
) -> "SpanPrototypeNetwork":
    from .network import SpanPrototypeNetwork

    network = SpanPrototypeNetwork(
        token_width=token_width, n_prototypes=n_prototypes, **settings
    )
    return network.to(get_torch_default_device())


def forward(
    model: Model[ModelInput, HeadOutput], inputs: ModelInput, is_train: bool
) -> tuple[HeadOutput, Callable[[HeadOutput], list[Doc]]]:
    docs, spans, rows = inputs
    tokens, backprop_tokens = model.get_ref("flat_tokens")(docs, is_train)
    outputs, backprop_head = model.get_ref("head")((tokens, spans, rows), is_train)

    def backprop(d_outputs: HeadOutput) -> list[Doc]:
        return backprop_tokens(backprop_head(d_outputs))

    return outputs, backprop


def init(model: Model[ModelInput, HeadOutput], X: Any = None, Y: Any = None) -> None:
    docs, spans, rows = X
    flat_tokens = model.get_ref("flat_tokens").initialize(X=docs)
    model.get_ref("head").initialize(X=(flat_tokens.predict(docs), spans, rows))


def grow_prototypes(model: Model[Any, Any], n_prototypes: int) -> Model[Any, Any]:
    """Give the table as many rows as asked for, if it has fewer."""
    size = get_table_size(model)
    if size is not None and size < n_prototypes:
        (shim,) = model.get_ref("head").shims
        get_network(shim).grow(n_prototypes)
        renew_shim(shim)
    return model


def get_table_size(model: Model[Any, Any]) -> int | None:
    """Count how many prototypes there are, or None if the model has no weights yet."""
    network = get_network(model.get_ref("head").shims[0])
    return None if network is None else len(network.prototypes)
