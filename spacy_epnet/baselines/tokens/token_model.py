"""Token vectors and a memory of them, as a Thinc model, and a classifier that trains
them: tokens -> a score for each column.
"""

from collections.abc import Callable
from typing import Any

from thinc.api import Model
from thinc.types import Floats2d

from ...encoder.networks import renew_node
from ...encoder.optimizer import SCALE
from ...encoder.vectors import Tok2Vec, TokenModel
from ...recognizer.settings import takes
from ...types import TokenVectors
from ..memory import build_memory_model, clear_memory
from ..settings import NNShotSettings


def build_token_memory_model(tok2vec: Tok2Vec) -> TokenModel:
    """Build token vectors with a memory.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    """
    return build_memory_model("token_memory", tok2vec, init=init)


def build_trained_model(
    tok2vec: Tok2Vec,
    layer: Model[Any, Any],
    *,
    learn_rate_scale: float,
) -> TokenModel:
    """Build token vectors with a memory, and with a layer over them to train them."""
    model = build_token_memory_model(tok2vec)
    layer.attrs[SCALE] = learn_rate_scale
    model.layers.append(layer)
    model.set_ref(layer.name, layer)
    return model


@takes(NNShotSettings.Model)
def build_token_classifier_model(
    tok2vec: Tok2Vec, settings: NNShotSettings.Model
) -> TokenModel:
    """Build token vectors with a memory, and with a classifier to train them.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    settings (NNShotSettings.Model): The settings, in a config each by itself.
    """
    classifier: Model[Any, Any] = Model(
        "classifier", classify, params={"W": None, "b": None}
    )
    scale = settings.learn_rate_scale
    return build_trained_model(tok2vec, classifier, learn_rate_scale=scale)


def init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    flat_tokens, *others = model.layers
    tokens = flat_tokens.initialize(X=X).predict(X)
    clear_memory(model, tokens.shape[1])
    for layer in others:
        layer.initialize(X=tokens)


def classify(
    model: Model[Any, Any], tokens: TokenVectors, is_train: bool
) -> tuple[Floats2d, Callable[[Floats2d], TokenVectors]]:
    weight: Any = model.get_param("W")
    scores = tokens @ weight.T + model.get_param("b")

    def backprop(gradient: Floats2d) -> TokenVectors:
        model.inc_grad("W", gradient.T @ tokens)
        model.inc_grad("b", gradient.sum(axis=0))
        return gradient @ weight

    return scores, backprop


def set_classes(
    model: Model[Any, Any], width: int, before: list[str], after: list[str]
) -> None:
    """Give a classifier of vectors of some width a row for None and for each label.
    Rows of labels that it has already stay as they are, others begin at zero.
    """
    count = len(after) + 1
    weight: Any = model.ops.alloc2f(count, width)
    bias: Any = model.ops.alloc1f(count)
    if model.has_param("W"):
        known = {label: i for i, label in enumerate([None, *before])}
        for row, label in enumerate([None, *after]):
            if label in known:
                weight[row] = model.get_param("W")[known[label]]
                bias[row] = model.get_param("b")[known[label]]
    model.set_param("W", weight)
    model.set_param("b", bias)
    # What an optimizer knows of the old rows doesn't fit.
    renew_node(model)
