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
from typing import Any, Literal

from spacy.tokens import Doc
from thinc.api import Model, get_torch_default_device
from thinc.types import Floats2d

from .._compat import get_network
from ..encoder.vectors import build_flat_tokens
from ..encoder.weights import renew_shim
from ..errors import InvalidSettingError
from .head import build_head
from .prototypes import get_initial_scale
from .types import HeadOutput, ModelInput

# Cosines alone are too close to each other to be sure of one type among many. So a
# right angle is a squared distance of twice the square of this.
COSINE_RADIUS = 3.0


def build_epnet_model(
    tok2vec: Model[list[Doc], list[Floats2d]],
    max_width: int = 10,
    width_size: int = 25,
    prototype_size: int = 512,
    depth: int = 3,
    n_prototypes: int = 101,
    initial_dispersion: float = 2.0,
    similarity: Literal["euclidean", "cosine"] = "euclidean",
    learn_rate_scale: float = 1.0,
    edges: bool = True,
) -> Model[ModelInput, HeadOutput]:
    """Build EP-Net over a layer that makes token vectors.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    max_width (int): Longest candidate span, in tokens (the paper's epsilon).
    width_size (int): Size of a width embedding (d3).
    prototype_size (int): Size of a prototype and of the projection's layers (d1).
    depth (int): Layers of the projection.
    n_prototypes (int): Prototypes to begin with, None's included. The table grows
        when there are more types.
    initial_dispersion (float): Mean squared distance between the initial
        prototypes. Should be the component's tau.
    similarity (str): "euclidean" for squared distances, "cosine" to compare
        directions only.
    learn_rate_scale (float): Learning rate of the model's own weights, which begin
        at random, as a multiple of the pipeline's. For the Adam optimizer.
    edges (bool): Whether a span is described by its first and last tokens, beside the
        maximum over all of them, which is all that the paper has.
    """
    sizes = {
        "max_width": max_width,
        "width_size": width_size,
        "prototype_size": prototype_size,
        "depth": depth,
        "n_prototypes": n_prototypes,
        "initial_dispersion": initial_dispersion,
        "learn_rate_scale": learn_rate_scale,
    }
    for setting, value in sizes.items():
        if value <= 0:
            raise InvalidSettingError(setting, value, "a number above 0")
    make_network = partial(
        _make_network,
        max_width=max_width,
        width_size=width_size,
        prototype_size=prototype_size,
        depth=depth,
        initial_scale=get_initial_scale(initial_dispersion, prototype_size),
        radius=COSINE_RADIUS if similarity == "cosine" else None,
        edges=edges,
    )
    flat_tokens = build_flat_tokens(tok2vec)
    head = build_head(
        make_network,
        n_prototypes=n_prototypes,
        learn_rate_scale=learn_rate_scale,
        similarity=similarity,
    )
    return Model(
        "epnet",
        forward,
        init=init,
        layers=[flat_tokens, head],
        refs={"flat_tokens": flat_tokens, "head": head, "tok2vec": tok2vec},
        attrs={"max_width": max_width, "resize_output": grow_prototypes},
    )


def _make_network(*, token_width: int, n_prototypes: int, **settings):
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


def grow_prototypes(model: Model, n_prototypes: int) -> Model:
    """Give the table as many rows as asked for, if it has fewer."""
    size = get_table_size(model)
    if size is not None and size < n_prototypes:
        (shim,) = model.get_ref("head").shims
        get_network(shim).grow(n_prototypes)
        renew_shim(shim)
    return model


def get_table_size(model: Model) -> int | None:
    """How many prototypes there are, or None if the model has no weights yet."""
    network = get_network(model.get_ref("head").shims[0])
    return None if network is None else len(network.prototypes)
