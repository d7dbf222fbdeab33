"""EP-Net's loss, the sum of two parts, and its gradient."""

import math
from typing import Any

import numpy
from thinc.api import get_array_module
from thinc.types import Floats2d

from ..types import Bools2d
from .prototypes import NONE_ROW, get_dispersion
from .types import Distances, HeadOutput, Prototypes, Targets


def get_loss(
    outputs: HeadOutput,
    targets: Targets,
    *,
    tau: float | None,
    scopes: Bools2d | None = None,
) -> tuple[dict[str, float], HeadOutput]:
    """Find the loss of a batch of spans and its gradient.

    outputs (HeadOutput): The distances of the spans, and the prototypes.
    targets (Targets): The column of each span's own prototype.
    tau (Optional[float]): Mean squared distance wanted between prototypes. If null,
        there is no dispersion loss.
    scopes (Optional[Bools2d]): Which columns count for each span, if not all.
    RETURNS (Tuple[Dict[str, float], HeadOutput]): The parts of the loss, and its
        gradient with respect to the outputs.
    """
    distances, prototypes = outputs
    span_loss, d_distances = get_span_loss(distances, targets, scopes)
    dispersion, d_prototypes = 0.0, prototypes * 0
    if tau is not None and len(targets):
        dispersion, d_prototypes = get_dispersion_loss(prototypes, tau)
    parts = {"L_s": span_loss, "L_d": dispersion}
    return parts, (d_distances, d_prototypes)


def get_span_loss(
    distances: Distances, targets: Targets, scopes: Bools2d | None = None
) -> tuple[float, Floats2d]:
    """Cross-entropy of spans whose logits are negative distances.

    distances (Distances): From each span to each prototype in use.
    targets (Targets): The column of each span's own prototype.
    scopes (Optional[Bools2d]): Which columns count for each span, if not all.
    RETURNS (Tuple[float, Floats2d]): The mean loss and its gradient with respect
        to the distances. Both are zero if there are no spans.
    """
    if not len(targets):
        return 0.0, distances
    xp: Any = get_array_module(distances)
    rows = xp.arange(len(targets))
    if scopes is not None:
        distances = xp.where(scopes, distances, numpy.float32(numpy.inf))
    nearest = xp.min(distances, axis=1, keepdims=True)
    likelihoods = xp.exp(nearest - distances)
    totals = likelihoods.sum(axis=1, keepdims=True)
    surprises = distances[rows, targets] - nearest[:, 0] + xp.log(totals[:, 0])
    gradient = -likelihoods / totals
    gradient[rows, targets] += 1
    share = xp.ones((), dtype=distances.dtype) / len(targets)
    return float((surprises * share).sum()), gradient * share


def get_names_loss(
    distances: Distances,
    targets: Targets,
    scopes: Bools2d | None,
    *,
    weight: float,
    narrow_share: float,
) -> tuple[float, Floats2d]:
    """Find the loss of spans that are measured to where types lie by their names.

    distances (Distances): From each span to None, and to the name of each type.
    weight (float): What the loss counts for.
    narrow_share (float): How probable it is that some types are left out.
    RETURNS (Tuple[float, Floats2d]): The mean loss and its gradient with respect to the
        distances.
    """
    if numpy.random.random() < narrow_share:  # noqa: NPY002
        targets, scopes = narrow(targets, scopes, distances.shape[1])
    loss, gradient = get_span_loss(distances, targets, scopes)
    return weight * loss, weight * gradient


def narrow(
    targets: Targets, scopes: Bools2d | None, n_columns: int
) -> tuple[Targets, Bools2d]:
    """Leave out some types at random, and take their entities for None. Users ask for a
    few types, and most of what is marked in a corpus isn't one of them.

    scopes (Optional[Bools2d]): Which columns count for each span, if not all.
    RETURNS (Tuple[Targets, Bools2d]): The same without these types.
    """
    xp: Any = get_array_module(targets)
    kept = xp.random.random(n_columns) < xp.random.random()
    kept[NONE_ROW] = True
    if scopes is None:
        scopes = xp.ones((len(targets), n_columns), dtype=bool)
    return xp.where(kept[targets], targets, NONE_ROW).astype("i"), scopes & kept


def get_dispersion_loss(prototypes: Prototypes, tau: float) -> tuple[float, Floats2d]:
    """Penalize prototypes whose mean squared distance isn't the one wanted.

    prototypes (Prototypes): All prototypes, assigned or not.
    tau (float): The mean squared distance wanted.
    RETURNS (Tuple[float, Floats2d]): log(|Euc - tau| + 1) and its gradient with
        respect to the prototypes.
    """
    excess = get_dispersion(prototypes) - tau
    loss = math.log(abs(excess) + 1)
    slope = math.copysign(1, excess) / (abs(excess) + 1) if excess else 0.0
    centered = prototypes - prototypes.mean(axis=0)
    return loss, centered * (slope * 4 / len(prototypes))
