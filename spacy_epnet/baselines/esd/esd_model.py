"""ESD as a Thinc model.

ESD                docs              -> token vectors, the docs end to end
  flat_tokens      docs              -> the same
    tok2vec        docs              -> token vectors of each doc
  span_attention   (tokens, episode) -> (distances, spans), the PyTorch network
  memory                                spans that are remembered, and their columns
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from thinc.api import ArgsKwargs, Model, get_torch_default_device, torch2xp, xp2torch
from thinc.layers.pytorchwrapper import forward
from thinc.types import Floats2d

from ..._compat import get_network, set_network
from ...encoder.vectors import Tok2Vec, TokenModel
from ...recognizer.network_shim import NetworkShim
from ...recognizer.settings import takes
from ...types import Bools1d, Ints1d, Points, Spans, TokenVectors
from ..memory import build_memory_model, clear_memory
from ..settings import ESDSettings
from .contexts import Part

if TYPE_CHECKING:
    from .esd_network import SpanAttentionNetwork


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


@takes(ESDSettings.Model)
def build_esd_model(tok2vec: Tok2Vec, settings: ESDSettings.Model) -> TokenModel:
    """Build ESD over a layer that makes token vectors.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (ESDSettings.Model): The settings, in a config each by itself.
    """
    make_network = partial(_make_network, span_size=settings.span_size)
    layer: Model[Any, Any] = Model(
        "span_attention",
        forward,
        init=init_attention,
        attrs={
            "convert_inputs": convert_inputs,
            "convert_outputs": convert_outputs,
            "dropout_rate": 0.0,
        },
        shims=[NetworkShim(make_network, get_sizes, settings.learn_rate_scale, {})],
    )
    attrs = {"max_width": settings.max_width, "span_size": settings.span_size}
    return build_memory_model("esd", tok2vec, layer, init=init, attrs=attrs)


def _make_network(**sizes: int) -> "SpanAttentionNetwork":
    from .esd_network import SpanAttentionNetwork

    return SpanAttentionNetwork(**sizes).to(get_torch_default_device())


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    flat_tokens = model.get_ref("flat_tokens").initialize(X=X)
    model.get_ref("span_attention").initialize(X=flat_tokens.predict(X))
    clear_memory(model, model.attrs["span_size"])


def init_attention(layer: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    shim: Any = layer.shims[0]
    set_network(shim, shim.make_network(token_width=X.shape[1]))


def get_sizes(weights: dict[str, Any]) -> dict[str, int]:
    """Return the size of a network that isn't a setting, from its weights."""
    return {"token_width": weights["first.weight"].shape[1]}


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
    """(M, d) Describe spans that begin in a part of a batch, and are counted from its
    first token, as they see those of their context.
    """
    tokens, candidates, seen_from = _to_torch(
        layer, part.tokens, part.candidates, part.contexts[part.candidates[:, 0]]
    )
    if spans is part.candidates:
        own, contexts = candidates, seen_from
    else:
        own, contexts = _to_torch(layer, spans, part.contexts[spans[:, 0]])
    represent = _get_network(layer).represent
    return _compute(represent, tokens, own, contexts, candidates, seen_from)


def recall(
    layer: Model[Any, Any], vectors: Points, last: Recollection | None
) -> Recollection:
    """Let spans that are remembered see each other. What was recalled the last time is
    still right as long as neither the spans nor the weights have changed.
    """
    weights = [w.detach() for w in _get_network(layer).cross.parameters()]
    if last is not None and last.vectors is vectors:
        pairs = zip(weights, last.weights, strict=True)
        if all(now.equal(then) for now, then in pairs):
            return last
    seen = see(layer, vectors, vectors)
    return Recollection(vectors, [weight.clone() for weight in weights], seen)


def see(layer: Model[Any, Any], points: Points, support: Points) -> Points:
    """(M, d) Let spans see those of a support set."""
    return _compute(_get_network(layer).cross, *_to_torch(layer, points, support))


def measure(
    layer: Model[Any, Any],
    points: Points,
    support: Points,
    columns: Any,
    n_columns: int,
) -> Floats2d:
    """(M, 1 + types) Measure squared distances of spans to None and to the types of a
    support set. The spans have seen it, and its spans each other.
    """
    from .esd_network import measure_columns

    tensors = _to_torch(layer, points, support, columns)
    return _compute(measure_columns, *tensors, n_columns)


def _get_network(layer: Model[Any, Any]) -> Any:
    return get_network(layer.shims[0]).eval()


def _compute(run: Callable[..., Any], *args: Any) -> Any:
    import torch

    with torch.no_grad():
        return torch2xp(run(*args))


def _to_torch(model: Model[Any, Any], *arrays: Any) -> list[Any]:
    shim: Any = model.shims[0]
    tensors = [xp2torch(array, device=shim.device) for array in arrays]
    # PyTorch counts in 64 bits.
    return [
        t.long() if array.dtype.kind == "i" else t
        for t, array in zip(tensors, arrays, strict=True)
    ]
