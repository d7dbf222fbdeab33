"""The PyTorch network as a layer of a Thinc model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thinc.api import ArgsKwargs, Model, torch2xp, xp2torch
from thinc.layers.pytorchwrapper import forward

from .._compat import get_network, set_network
from ..recognizer.network_shim import NetworkShim
from ..types import Points, Spans, TokenVectors
from .types import Distances, HeadInput, HeadOutput, Prototypes, Rows

if TYPE_CHECKING:
    from .network import SpanPrototypeNetwork


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
        forward,
        init=init,
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


def init(model: Model[HeadInput, HeadOutput], X: Any = None, Y: Any = None) -> None:
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
    tokens, spans, rows = inputs
    shim: Any = model.shims[0]
    get_head_network(model).dropout = model.attrs["dropout_rate"]
    trains_tokens = model.attrs["trains_tokens"]
    args = (
        xp2torch(tokens, requires_grad=is_train and trains_tokens, device=shim.device),
        xp2torch(spans[:, 0], device=shim.device).long(),
        xp2torch(spans[:, 1], device=shim.device).long(),
        xp2torch(rows, device=shim.device).long(),
    )

    def convert_gradient(d_args: ArgsKwargs) -> TokenVectors:
        if not trains_tokens:
            return model.ops.alloc2f(0, 0)
        return torch2xp(d_args.args[0])  # type: ignore[return-value]

    return ArgsKwargs(args=args, kwargs={}), convert_gradient


def convert_outputs(
    model: Model[Any, Any], inputs_outputs: tuple[Any, ...], is_train: bool
) -> tuple[HeadOutput, Callable[[HeadOutput], ArgsKwargs]]:
    _, outputs = inputs_outputs
    device = model.shims[0].device  # type: ignore[attr-defined]

    def convert_gradient(d_outputs: HeadOutput) -> ArgsKwargs:
        gradients = [xp2torch(d_output, device=device) for d_output in d_outputs]
        return ArgsKwargs(args=(outputs,), kwargs={"grad_tensors": gradients})

    distances, prototypes = outputs
    return (torch2xp(distances), torch2xp(prototypes)), convert_gradient  # type: ignore[return-value]


def project_spans(head: Model[Any, Any], tokens: TokenVectors, spans: Spans) -> Points:
    """Map spans to the space of the prototypes.

    head (Model): The head.
    tokens (TokenVectors): The batch's tokens.
    spans (Spans): The spans.
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

    head (Model): The head.
    tokens (TokenVectors): The batch's tokens.
    spans (Spans): The spans.
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

    head (Model): The head.
    tokens (TokenVectors): The batch's tokens.
    spans (Spans): The spans.
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


def set_prototype(head: Model[Any, Any], row: int, value: Any) -> None:
    """Put something into a row of the prototype table."""
    import torch

    prototypes = get_head_network(head).prototypes
    with torch.no_grad():
        prototypes[row] = xp2torch(value, device=prototypes.device)
