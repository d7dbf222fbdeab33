"""EP-Net as a Thinc model.

    EPNet        (docs, spans, rows)   -> (distances, prototypes)
      encoder    docs                  -> token vectors, the docs end to end
        tok2vec  docs                  -> token vectors of each doc
      head       (tokens, spans, rows) -> (distances, prototypes)

The head can be called on its own, so that docs are encoded once and measured
many times.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from spacy.tokens import Doc
from thinc.api import (
    ArgsKwargs,
    Model,
    PyTorchWrapper_v3,
    get_torch_default_device,
    torch2xp,
    xp2torch,
)
from thinc.types import Floats2d

from ..errors import Errors
from ..prototypes import get_initial_scale
from ..types import HeadInput, HeadOutput, ModelInput, TokenVectors


def build_epnet_model(
    tok2vec: Model[list[Doc], list[Floats2d]],
    max_width: int = 10,
    width_size: int = 25,
    prototype_size: int = 512,
    depth: int = 3,
    n_prototypes: int = 101,
    initial_dispersion: float = 2.0,
    similarity: Literal["euclidean", "cosine"] = "euclidean",
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
    """
    sizes = {
        "max_width": max_width,
        "width_size": width_size,
        "prototype_size": prototype_size,
        "depth": depth,
        "n_prototypes": n_prototypes,
        "initial_dispersion": initial_dispersion,
    }
    for setting, value in sizes.items():
        if value <= 0:
            raise ValueError(
                Errors.EP009.format(
                    setting=setting, value=value, expected="a number above 0"
                )
            )
    make_network = partial(
        _make_network,
        max_width=max_width,
        width_size=width_size,
        prototype_size=prototype_size,
        depth=depth,
        initial_scale=get_initial_scale(initial_dispersion, prototype_size),
        normalize=similarity == "cosine",
    )
    encoder = build_encoder(tok2vec)
    head = build_head(make_network, n_prototypes)
    return Model(
        "epnet",
        forward,
        init=init,
        layers=[encoder, head],
        refs={"encoder": encoder, "head": head, "tok2vec": tok2vec},
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
    tokens, backprop_tokens = model.get_ref("encoder")(docs, is_train)
    outputs, backprop_head = model.get_ref("head")((tokens, spans, rows), is_train)

    def backprop(d_outputs: HeadOutput) -> list[Doc]:
        return backprop_tokens(backprop_head(d_outputs))

    return outputs, backprop


def init(model: Model[ModelInput, HeadOutput], X: Any = None, Y: Any = None) -> None:
    docs, spans, rows = X
    encoder = model.get_ref("encoder").initialize(X=docs)
    model.get_ref("head").initialize(X=(encoder.predict(docs), spans, rows))


def grow_prototypes(model: Model, n_prototypes: int) -> Model:
    """Give the table as many rows as asked for, if it has fewer."""
    size = get_table_size(model)
    if size is not None and size < n_prototypes:
        model.get_ref("head").shims[0]._model.grow(n_prototypes)
    return model


def get_table_size(model: Model) -> int | None:
    """How many prototypes there are, or None if the model has no weights yet."""
    network = model.get_ref("head").shims[0]._model
    return None if network is None else len(network.prototypes)


def build_encoder(
    tok2vec: Model[list[Doc], list[Floats2d]],
) -> Model[list[Doc], TokenVectors]:
    """Lay the token vectors of a batch of docs end to end."""
    return Model("flat_tokens", encoder_forward, init=encoder_init, layers=[tok2vec])


def encoder_init(model: Model, X: Any = None, Y: Any = None) -> None:
    model.layers[0].initialize(X=X)


def encoder_forward(
    model: Model[list[Doc], TokenVectors], docs: list[Doc], is_train: bool
) -> tuple[TokenVectors, Callable[[TokenVectors], list[Doc]]]:
    vectors, backprop_vectors = model.layers[0](docs, is_train)
    lengths = model.ops.asarray1i([len(doc_vectors) for doc_vectors in vectors])
    # The vectors of an empty doc may have no width, so they can't be joined in.
    xp: Any = model.ops.xp
    tokens = xp.concatenate([v for v in vectors if len(v)])

    def backprop(d_tokens: TokenVectors) -> list[Doc]:
        return backprop_vectors(model.ops.unflatten(d_tokens, lengths))

    return tokens, backprop


def build_head(
    make_network: Callable, n_prototypes: int
) -> Model[HeadInput, HeadOutput]:
    """Wrap the PyTorch network, which is made when the token width is known."""

    def serialize(network) -> bytes:
        from .serialization import network_to_bytes

        return network_to_bytes(network)

    def deserialize(network, data: bytes, device):
        from .serialization import network_from_bytes

        return network_from_bytes(make_network, data)

    def init(model: Model, X: Any = None, Y: Any = None) -> None:
        tokens, _, _ = X
        model.shims[0]._model = make_network(
            token_width=tokens.shape[1], n_prototypes=n_prototypes
        )

    head: Model[HeadInput, HeadOutput] = PyTorchWrapper_v3(
        None,  # type: ignore[arg-type]
        convert_inputs=convert_inputs,
        convert_outputs=convert_outputs,
        serialize_model=serialize,
        deserialize_model=deserialize,
    )
    head.name = "epnet_head"
    head.init = init
    head.attrs["dropout_rate"] = 0.0
    return head


def convert_inputs(
    model: Model, inputs: HeadInput, is_train: bool
) -> tuple[ArgsKwargs, Callable[[ArgsKwargs], TokenVectors]]:
    tokens, spans, rows = inputs
    shim: Any = model.shims[0]
    shim._model.dropout = model.attrs["dropout_rate"]
    args = (
        xp2torch(tokens, requires_grad=is_train, device=shim.device),
        xp2torch(spans[:, 0], device=shim.device).long(),
        xp2torch(spans[:, 1], device=shim.device).long(),
        xp2torch(rows, device=shim.device).long(),
    )

    def convert_gradient(d_args: ArgsKwargs) -> TokenVectors:
        return torch2xp(d_args.args[0])  # type: ignore[return-value]

    return ArgsKwargs(args=args, kwargs={}), convert_gradient


def convert_outputs(
    model: Model, inputs_outputs: tuple, is_train: bool
) -> tuple[HeadOutput, Callable[[HeadOutput], ArgsKwargs]]:
    _, outputs = inputs_outputs
    device = model.shims[0].device  # type: ignore[attr-defined]

    def convert_gradient(d_outputs: HeadOutput) -> ArgsKwargs:
        gradients = [xp2torch(d_output, device=device) for d_output in d_outputs]
        return ArgsKwargs(args=(outputs,), kwargs={"grad_tensors": gradients})

    distances, prototypes = outputs
    return (torch2xp(distances), torch2xp(prototypes)), convert_gradient  # type: ignore[return-value]
