"""The PyTorch network as a layer of a Thinc model."""

from collections.abc import Callable
from typing import Any, NamedTuple

from thinc.api import ArgsKwargs, Model, torch2xp, xp2torch
from thinc.layers.pytorchwrapper import forward
from thinc.types import Floats2d

from ..._compat import get_network, set_network
from ...recognizer.network_shim import NetworkShim
from ...types import Bools1d, Ints1d, Points, Spans, TokenVectors
from .contexts import Part


class Episode(NamedTuple):
    """Spans of a batch, each half of which is the support set of the other one."""

    spans: Spans
    contexts: Ints1d  # of each span
    candidates: Spans  # what spans of the same context see
    candidate_contexts: Ints1d  # of each candidate
    columns: Ints1d  # the kind of None, or the type, of each span
    is_first: Bools1d  # which spans are the first half
    n_columns: int


class Recollection(NamedTuple):
    """What is remembered, as spans are compared with it."""

    vectors: Points  # (S, d) the spans as they are remembered
    weights: list[Any]  # tensors, by which they see each other
    seen: Points  # (S, d) the spans when they have seen each other


def build_layer(
    make_network: Callable[..., Any], learn_rate_scale: float
) -> Model[Any, Any]:
    """Wrap a network that is made when the width of the tokens is known.

    make_network (Callable): Makes the network from `token_width`.
    learn_rate_scale (float): Multiple of the optimizer's learning rate.
    """
    return Model(
        "span_attention",
        forward,
        init=init,
        attrs={
            "convert_inputs": convert_inputs,
            "convert_outputs": convert_outputs,
            "dropout_rate": 0.0,
        },
        shims=[NetworkShim(make_network, get_sizes, learn_rate_scale, {})],
    )


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    shim: Any = model.shims[0]
    set_network(shim, shim.make_network(token_width=X.shape[1]))


def get_sizes(weights: dict[str, Any]) -> dict[str, int]:
    """Return the size of a network that isn't a setting, from its weights."""
    return {"token_width": weights["first.weight"].shape[1]}


def has_network(layer: Model[Any, Any]) -> bool:
    """Check whether there are weights."""
    return get_network(layer.shims[0]) is not None


def convert_inputs(
    model: Model[Any, Any], inputs: tuple[TokenVectors, Episode], is_train: bool
) -> tuple[ArgsKwargs, Callable[[ArgsKwargs], TokenVectors]]:
    tokens, episode = inputs
    *arrays, n_columns = episode
    shim: Any = model.shims[0]
    get_network(shim).dropout = model.attrs["dropout_rate"]
    first = xp2torch(tokens, requires_grad=is_train, device=shim.device)
    others = _to_torch(model, *arrays)

    def convert_gradient(d_args: ArgsKwargs) -> TokenVectors:
        return torch2xp(d_args.args[0])  # type: ignore[return-value]

    return ArgsKwargs(args=(first, *others, n_columns), kwargs={}), convert_gradient


def convert_outputs(
    model: Model[Any, Any], inputs_outputs: tuple[Any, ...], is_train: bool
) -> tuple[tuple[Floats2d, Points], Callable[[Floats2d], ArgsKwargs]]:
    """Return the distances and the spans. There is a gradient of the distances only."""
    _, (distances, points) = inputs_outputs
    device = model.shims[0].device  # type: ignore[attr-defined]

    def convert_gradient(d_distances: Floats2d) -> ArgsKwargs:
        gradients = [xp2torch(d_distances, device=device)]
        return ArgsKwargs(args=([distances],), kwargs={"grad_tensors": gradients})

    return (torch2xp(distances), torch2xp(points)), convert_gradient  # type: ignore[return-value]


def represent_spans(layer: Model[Any, Any], part: Part, spans: Spans) -> Points:
    """Describe spans as they see those of their context.

    layer (Model): The layer.
    part (Part): A part of a batch.
    spans (Spans): Spans that begin in it, counted from its first token.
    RETURNS (Points): (M, d) A point for each.
    """
    tokens, candidates, seen_from = _to_torch(
        layer, part.tokens, part.candidates, part.contexts[part.candidates[:, 0]]
    )
    if spans is part.candidates:
        own, contexts = candidates, seen_from
    else:
        own, contexts = _to_torch(layer, spans, part.contexts[spans[:, 0]])
    network = _get_network(layer)
    with _without_gradients():
        points = network.represent(tokens, own, contexts, candidates, seen_from)
        return torch2xp(points)  # type: ignore[return-value]


def recall(
    layer: Model[Any, Any], vectors: Points, last: Recollection | None
) -> Recollection:
    """Let spans that are remembered see each other.

    layer (Model): The layer.
    vectors (Points): (S, d) The spans.
    last (Optional[Recollection]): What was recalled before, which is still right as
        long as neither the spans nor the weights have changed.
    RETURNS (Recollection): What spans are to be compared with.
    """
    import torch

    weights = [w.detach() for w in _get_network(layer).cross.parameters()]
    if last is not None and last.vectors is vectors:
        pairs = zip(weights, last.weights, strict=True)
        if all(torch.equal(now, then) for now, then in pairs):
            return last
    seen = see(layer, vectors, vectors)
    return Recollection(vectors, [weight.clone() for weight in weights], seen)


def see(layer: Model[Any, Any], points: Points, support: Points) -> Points:
    """(M, d) Let spans see those of a support set."""
    own, others = _to_torch(layer, points, support)
    with _without_gradients():
        return torch2xp(_get_network(layer).cross(own, others))  # type: ignore[return-value]


def measure(
    layer: Model[Any, Any],
    points: Points,
    support: Points,
    columns: Any,
    n_columns: int,
) -> Floats2d:
    """Measure how far spans are from None and from the types of others.

    layer (Model): The layer.
    points (Points): (M, d) The spans, which have seen the others.
    support (Points): (S, d) The others, which have seen each other.
    columns (Ints1d): (S,) The kind of None, or the type, of each.
    n_columns (int): How many of these there are.
    RETURNS (Floats2d): (M, 1 + types) Squared distances.
    """
    from .esd_network import measure_columns

    own, others, numbers = _to_torch(layer, points, support, columns)
    with _without_gradients():
        return torch2xp(measure_columns(own, others, numbers, n_columns))  # type: ignore[return-value]


def _get_network(layer: Model[Any, Any]) -> Any:
    return get_network(layer.shims[0]).eval()


def _without_gradients() -> Any:
    import torch

    return torch.no_grad()


def _to_torch(model: Model[Any, Any], *arrays: Any) -> list[Any]:
    shim: Any = model.shims[0]
    tensors = [xp2torch(array, device=shim.device) for array in arrays]
    # PyTorch counts in 64 bits.
    return [
        t.long() if array.dtype.kind == "i" else t
        for t, array in zip(tensors, arrays, strict=True)
    ]
