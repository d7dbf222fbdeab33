"""Tokens as Gaussians: each has a mean and a variance in every dimension.

    mean = relu(token) M + m        variance = elu(relu(token) V + v) + 1

Tokens of one type are taught to have like Gaussians, and others not (contrastive loss).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from thinc.api import Model, get_array_module
from thinc.types import Floats2d

from ...encoder.vectors import Tok2Vec, TokenModel
from ...recognizer.gold import UNKNOWN
from ...recognizer.settings import takes
from ...types import TokenVectors
from ..settings import ContainerSettings, Distance
from .token_model import build_trained_model

MEAN, VARIANCE = ("mean_W", "mean_b"), ("variance_W", "variance_b")
LEAST_VARIANCE = 1e-6
# If Gaussians begin far apart, only the nearest counts in the loss. Chosen on types
# that were held out from a source. That of PyTorch's layers is 0.58.
INITIAL_SCALE = 0.3


class Gaussians(NamedTuple):
    """The Gaussian of each token, or a gradient with respect to them."""

    means: Any  # (T, d)
    variances: Any  # (T, d)


@takes(ContainerSettings.Model)
def build_token_gaussians_model(
    tok2vec: Tok2Vec, settings: ContainerSettings.Model
) -> TokenModel:
    """Build token vectors with a memory, and with Gaussians to train them.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (ContainerSettings.Model): The settings, in a config each by itself.
    """
    gaussians: Model[Any, Any] = Model(
        "gaussians",
        forward,
        init=init,
        params=dict.fromkeys((*MEAN, *VARIANCE)),
        dims={"nI": None, "nO": settings.embedding_size},
    )
    scale = settings.learn_rate_scale
    return build_trained_model(tok2vec, gaussians, learn_rate_scale=scale)


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    """Make the weights, for vectors of a width."""
    width, size = X.shape[1], model.get_dim("nO")
    model.set_dim("nI", width)
    xp: Any = model.ops.xp
    scale = INITIAL_SCALE * width**-0.5
    for weight, bias in (MEAN, VARIANCE):
        values = xp.random.normal(scale=scale, size=(width, size))
        model.set_param(weight, values.astype("f"))
        model.set_param(bias, model.ops.alloc1f(size))


def forward(
    model: Model[Any, Any], tokens: TokenVectors, is_train: bool
) -> tuple[Gaussians, Callable[[Gaussians], TokenVectors]]:
    """Find the Gaussian of each token."""
    xp: Any = model.ops.xp
    weights: Any = [model.get_param(name) for name in (*MEAN, *VARIANCE)]
    mean_weight, mean_bias, variance_weight, variance_bias = weights
    seen: Any = xp.maximum(tokens, 0)
    means = seen @ mean_weight + mean_bias
    raw = seen @ variance_weight + variance_bias
    # elu + 1
    variances = xp.where(raw > 0, raw + 1, xp.exp(xp.minimum(raw, 0))) + LEAST_VARIANCE

    def backprop(gradient: Gaussians) -> TokenVectors:
        d_means = gradient.means
        d_raw = gradient.variances * xp.where(raw > 0, 1, xp.exp(xp.minimum(raw, 0)))
        for names, d_part in ((MEAN, d_means), (VARIANCE, d_raw)):
            weight, bias = names
            model.inc_grad(weight, seen.T @ d_part)
            model.inc_grad(bias, d_part.sum(axis=0))
        d_seen = d_means @ mean_weight.T + d_raw @ variance_weight.T
        return d_seen * (tokens > 0)

    return Gaussians(means, variances), backprop


def get_divergences(gaussians: Gaussians) -> Floats2d:
    """(T, T) Kullback-Leibler divergences of all pairs, the mean of both directions."""
    xp: Any = get_array_module(gaussians.means)
    means, variances = gaussians
    inverse = 1 / variances
    # Of the variances, and of the means relative to the variance of the second.
    ratios = variances @ inverse.T
    shifts = (
        (means * means) @ inverse.T
        - 2 * (means @ (means * inverse).T)
        + (means * means * inverse).sum(axis=1)
    )
    one_way = ratios + shifts
    size = means.shape[1]
    return xp.maximum((one_way + one_way.T - 2 * size) / 4, 0)


def get_d_divergences(gaussians: Gaussians, gradient: Any) -> Gaussians:
    """Take a gradient with respect to the divergences to the Gaussians."""
    means, variances = gaussians
    inverse = 1 / variances
    both = gradient + gradient.T
    total = both.sum(axis=1, keepdims=True)
    of_means, of_inverse = both @ means, both @ inverse
    d_means = (
        means * (inverse * total + of_inverse)
        - inverse * of_means
        - both @ (means * inverse)
    ) / 2
    spread = means * means * total - 2 * means * of_means + both @ (means * means)
    d_variances = of_inverse - inverse * inverse * (both @ variances + spread)
    return Gaussians(d_means, d_variances / 4)


def get_mean_distances(gaussians: Gaussians) -> Floats2d:
    """(T, T) Return squared Euclidean distances of the means of all pairs."""
    xp: Any = get_array_module(gaussians.means)
    means = gaussians.means
    norms = (means * means).sum(axis=1)
    return xp.maximum(norms[:, None] + norms - 2 * (means @ means.T), 0)


def get_d_mean_distances(gaussians: Gaussians, gradient: Any) -> Gaussians:
    """Take a gradient with respect to these distances to the Gaussians."""
    both = gradient + gradient.T
    means, variances = gaussians
    d_means = 2 * (means * both.sum(axis=1, keepdims=True) - both @ means)
    return Gaussians(d_means, variances * 0)


DISTANCES: dict[Distance, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "divergence": (get_divergences, get_d_divergences),
    "means": (get_mean_distances, get_d_mean_distances),
}


def get_contrastive_loss(
    gaussians: Gaussians, columns: Any, distance: Distance
) -> tuple[float, Gaussians]:
    """Let tokens of the same type be near to each other, among all tokens of known
    type: the mean loss of those that aren't the only one of their type, and its
    gradient. Both are zero if there is none.
    """
    xp: Any = get_array_module(gaussians.means)
    known = columns != UNKNOWN
    others = known[:, None] & known & ~xp.eye(len(columns), dtype=bool)
    alike = others & (columns[:, None] == columns)
    counted = alike.any(axis=1)
    zero = Gaussians(gaussians.means * 0, gaussians.variances * 0)
    if not counted.any():
        return 0.0, zero
    measure, take_back = DISTANCES[distance]
    logits = -measure(gaussians)
    log_alike, share_alike = get_log_sums(logits[counted], alike[counted])
    log_others, share_others = get_log_sums(logits[counted], others[counted])
    counts = alike[counted].sum(axis=1)
    losses = log_others - log_alike + xp.log(counts)
    gradient = xp.zeros_like(logits)
    gradient[counted] = (share_alike - share_others) / len(losses)
    return float(losses.mean()), take_back(gaussians, gradient)


def get_log_sums(logits: Any, mask: Any) -> tuple[Any, Any]:
    """Add up exponentials over a part of each row, which isn't empty: logarithms of the
    sums, and the share of each exponential.
    """
    xp: Any = get_array_module(logits)
    inside = xp.where(mask, logits, -xp.inf)
    highest = inside.max(axis=1, keepdims=True)
    shares = xp.exp(inside - highest)
    sums = shares.sum(axis=1, keepdims=True)
    return (xp.log(sums) + highest)[:, 0], shares / sums
