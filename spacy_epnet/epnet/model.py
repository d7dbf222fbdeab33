"""EP-Net as a Thinc model, whose head is a PyTorch network.

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
from thinc.api import (
    ArgsKwargs,
    Model,
    get_torch_default_device,
    torch2xp,
    xp2torch,
)
from thinc.layers.pytorchwrapper import forward as forward_network
from thinc.types import Floats2d

from .._compat import get_network, set_network
from ..encoder.networks import renew_shim
from ..encoder.vectors import build_flat_tokens
from ..recognizer.network_shim import NetworkShim
from ..recognizer.settings import takes
from ..types import Points, Spans, TokenVectors
from .prototypes import NONE_ROW, get_initial_scale
from .settings import EPNetSettings
from .types import Distances, HeadInput, HeadOutput, ModelInput, Prototypes, Rows

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
        names=settings.names,
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
        attrs={
            "max_width": settings.max_width,
            "names": settings.names,
            "resize_output": grow_prototypes,
        },
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
    docs, *others = inputs
    tokens, backprop_tokens = model.get_ref("flat_tokens")(docs, is_train)
    outputs, backprop_head = model.get_ref("head")((tokens, *others), is_train)

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


def build_head(
    make_network: Callable[..., Any],
    *,
    n_prototypes: int,
    learn_rate_scale: float,
    similarity: str,
) -> Model[HeadInput, HeadOutput]:
    """Wrap a network that is made when the width of the tokens is known.

    make_network (Callable): Makes the network from `token_width` and `n_prototypes`.
    n_prototypes (int): Prototypes to begin with.
    learn_rate_scale (float): Multiple of the optimizer's learning rate.
    similarity (str): What the weights are for.
    """
    return Model(
        "epnet_head",
        forward_network,
        init=init_head,
        attrs={
            "convert_inputs": convert_inputs,
            "convert_outputs": convert_outputs,
            "dropout_rate": 0.0,
            "n_prototypes": n_prototypes,
            "trains_tokens": True,
        },
        shims=[
            NetworkShim(
                make_network, get_sizes, learn_rate_scale, {"similarity": similarity}
            )
        ],
    )


def get_head_network(head: Model[HeadInput, HeadOutput]) -> "SpanPrototypeNetwork":
    """Return the PyTorch network of a head."""
    return get_network(head.shims[0])


def init_head(
    model: Model[HeadInput, HeadOutput], X: Any = None, Y: Any = None
) -> None:
    tokens, _, _ = X
    shim: Any = model.shims[0]
    size = model.attrs["n_prototypes"]
    network = shim.make_network(token_width=tokens.shape[1], n_prototypes=size)
    set_network(shim, network)


def get_sizes(weights: dict[str, Any]) -> dict[str, int]:
    """Return the sizes of a network that aren't settings, from its weights."""
    width_size = weights["width_embeddings.weight"].shape[1]
    return {
        "token_width": weights["projection.0.weight"].shape[1] - width_size,
        "n_prototypes": len(weights["prototypes"]),
    }


def convert_inputs(
    model: Model[Any, Any], inputs: HeadInput, is_train: bool
) -> tuple[ArgsKwargs, Callable[[ArgsKwargs], TokenVectors]]:
    tokens, spans, rows, *names = inputs
    shim: Any = model.shims[0]
    get_head_network(model).dropout = model.attrs["dropout_rate"]
    trains_tokens = model.attrs["trains_tokens"]
    args = [
        xp2torch(tokens, requires_grad=is_train and trains_tokens, device=shim.device),
        xp2torch(spans[:, 0], device=shim.device).long(),
        xp2torch(spans[:, 1], device=shim.device).long(),
        xp2torch(rows, device=shim.device).long(),
    ]
    args += [xp2torch(vectors, device=shim.device) for vectors in names]

    def convert_gradient(d_args: ArgsKwargs) -> TokenVectors:
        if not trains_tokens:
            return model.ops.alloc2f(0, 0)
        return torch2xp(d_args.args[0])  # type: ignore[return-value]

    return ArgsKwargs(args=tuple(args), kwargs={}), convert_gradient


def convert_outputs(
    model: Model[Any, Any], inputs_outputs: tuple[Any, ...], is_train: bool
) -> tuple[HeadOutput, Callable[[HeadOutput], ArgsKwargs]]:
    _, outputs = inputs_outputs
    device = model.shims[0].device  # type: ignore[attr-defined]

    def convert_gradient(d_outputs: HeadOutput) -> ArgsKwargs:
        gradients = [xp2torch(d_output, device=device) for d_output in d_outputs]
        return ArgsKwargs(args=(outputs,), kwargs={"grad_tensors": gradients})

    return tuple(map(torch2xp, outputs)), convert_gradient


def project_spans(head: Model[Any, Any], tokens: TokenVectors, spans: Spans) -> Points:
    """Map spans to the space of the prototypes.

    tokens (TokenVectors): The batch's tokens.
    RETURNS (Points): (M, d1) A point for each span.
    """
    import torch

    args = convert_inputs(head, (tokens, spans, head.ops.alloc1i(0)), False)[0].args
    network = get_head_network(head)
    network.eval()
    with torch.no_grad():
        return torch2xp(network.project(network.embed(*args[:3])))  # type: ignore[return-value]


def begin_projecting(
    head: Model[Any, Any], tokens: TokenVectors, spans: Spans
) -> tuple[Points, Callable[[Points], TokenVectors]]:
    """Map spans to the space of the prototypes, and prepare to learn from it.

    tokens (TokenVectors): The batch's tokens.
    RETURNS (Tuple[Points, Callable[[Points], TokenVectors]]): (M, d1) A point for each
        span, and what takes their gradient to the weights and gives the tokens' one.
    """
    inputs = (tokens, spans, head.ops.alloc1i(0))
    converted, convert_gradient = convert_inputs(head, inputs, True)
    network = get_head_network(head)
    network.train()
    points = network.project(network.embed(*converted.args[:3]))

    def backprop(d_points: Points) -> TokenVectors:
        points.backward(xp2torch(d_points, device=points.device))
        gradients = tuple(arg.grad for arg in converted.args)
        return convert_gradient(ArgsKwargs(args=gradients, kwargs={}))

    return torch2xp(points.detach()), backprop  # type: ignore[return-value]


def measure_spans(
    head: Model[Any, Any], tokens: TokenVectors, spans: Spans, rows_in_use: list[Rows]
) -> list[Distances]:
    """Measure how far spans are from prototypes, which are projected once for all.

    tokens (TokenVectors): The batch's tokens.
    rows_in_use (List[Rows]): The prototypes of each generation. How a product is
        rounded depends on its shape, so each has one of its own, and the distances to
        the older ones stay the same to the last bit.
    RETURNS (List[Distances]): The distances to those of each generation.
    """
    import torch

    shim: Any = head.shims[0]
    network = get_head_network(head)
    points = xp2torch(project_spans(head, tokens, spans), device=shim.device)
    distances = []
    with torch.no_grad():
        for rows in rows_in_use:
            chosen = xp2torch(rows, device=shim.device).long()
            distances.append(torch2xp(network.measure(points, chosen)[0]))
    return distances  # type: ignore[return-value]


def get_prototypes(head: Model[Any, Any]) -> Prototypes:
    """Return all prototypes, as they are compared with spans."""
    network = get_head_network(head)
    return torch2xp(network.get_prototypes().detach())  # type: ignore[return-value]


def map_names(head: Model[Any, Any], names: Any) -> Any:
    """(K, d1) Return where prototypes lie by the vectors of their names."""
    import torch

    network = get_head_network(head)
    network.eval()
    with torch.no_grad():
        vectors = xp2torch(names, device=network.prototypes.device)
        return network.map_names(vectors).cpu().numpy()


def copy_weights(
    source: Model[Any, Any], head: Model[Any, Any], rows: dict[int, int]
) -> None:
    """Copy the weights of a head to another one.

    rows (Dict[int, int]): The rows of the other's prototypes, and those of the source's
        that they become. None's does anyway. The others stay.
    """
    import torch

    old, new = get_head_network(source), get_head_network(head)
    weights = {**new.state_dict(), **old.state_dict()}
    weights["prototypes"] = new.prototypes.data.clone()
    for row, known in {NONE_ROW: NONE_ROW, **rows}.items():
        weights["prototypes"][row] = old.prototypes[known]
    with torch.no_grad():
        new.load_state_dict(weights)


def set_prototype(head: Model[Any, Any], row: int, value: Any) -> None:
    """Put something into a row of the prototype table."""
    import torch

    prototypes = get_head_network(head).prototypes
    with torch.no_grad():
        prototypes[row] = xp2torch(value, device=prototypes.device)
