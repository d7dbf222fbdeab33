"""What tokens are trained by."""

from typing import Any

from thinc.api import get_array_module


def get_cross_entropy(scores: Any, targets: Any) -> tuple[float, Any]:
    """Cross-entropy of some tokens.

    scores (Floats2d): (n, columns) A score of each token for each column.
    targets (Ints1d): (n,) The column of each token, of which there is at least one.
    RETURNS (Tuple[float, Floats2d]): The mean loss, and its gradient with respect to
        the scores.
    """
    xp: Any = get_array_module(scores)
    logits = scores - scores.max(axis=1, keepdims=True)
    log_shares = logits - xp.log(xp.exp(logits).sum(axis=1, keepdims=True))
    places = xp.arange(len(targets))
    gradient = xp.exp(log_shares)
    gradient[places, targets] -= 1
    return -float(log_shares[places, targets].mean()), gradient / len(targets)
