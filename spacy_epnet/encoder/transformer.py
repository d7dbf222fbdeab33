"""The pipeline's transformer, with what spacy-transformers leaves to the user."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from thinc.api import Model

from .. import _compat
from .._compat import get_init_settings, set_name
from ..errors import EncoderError

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span
    from spacy_transformers.data_classes import FullTransformerBatch
    from spacy_transformers.layers import TransformerModel


# Tokens of a long doc that are encoded together, unless told otherwise.
WINDOW, STRIDE = 128, 96
# Settings that spacy-transformers' own layers don't have.
OWN_SETTINGS = ("max_pieces", "inference", "trained_layers")


def build_transformer_model(
    name: str,
    get_spans: "Callable[[list[Doc]], list[list[Span]]] | None" = None,
    tokenizer_config: dict[str, Any] | None = None,
    transformer_config: dict[str, Any] | None = None,
    mixed_precision: bool = True,
    grad_scaler_config: dict[str, Any] | None = None,
    max_pieces: int = 1024,
    inference: Literal["float32", "bfloat16"] = "float32",
    trained_layers: int | None = None,
) -> Model[list["Doc"], "FullTransformerBatch"]:
    """Build a transformer that trains in half precision where that is faster.

    It is spacy-transformers' own model with five differences: texts of similar length
    are encoded together, so that little is padded; mixed precision is also for CPUs
    that compute in bfloat16, and is left out where the machine has nothing to gain
    from it; the embeddings and lower layers can be left as they are; an encoder that
    isn't there is reported with what to do about it; and one that was damaged, or would
    write files of its own choice, isn't loaded.
    A layer that takes a listener's place computes in full precision.

    name (str): A folder, an encoder that comes in packages, such as all-MiniLM-L6-v2,
        or a model on the hub, tried in this order.
    get_spans (Optional[Callable[[List[Doc]], List[List[Span]]]]): How long docs are
        cut. Windows of 128 tokens, 96 apart, if null.
    tokenizer_config (Optional[dict]): Settings to pass to the tokenizer. A fast one is
        used if null.
    transformer_config (Optional[dict]): Settings to pass to the transformer.
    mixed_precision (bool): Whether to train in half precision where it pays.
    grad_scaler_config (dict): Gradient scaling on CUDA, as in spacy-transformers.
    max_pieces (int): Word pieces that are encoded at once, with padding.
    inference (str): What predictions are computed in: "float32", or "bfloat16" on
        machines that have it.
    trained_layers (Optional[int]): How many of the upper layers are trained. All, and
        the embeddings too, if null.
    """
    from spacy_transformers.span_getters import configure_strided_spans

    from .chunks import use_chunks
    from .loading import CheckedTransformer
    from .shim import use_transformer_shim

    model = CheckedTransformer(
        name,
        get_spans or configure_strided_spans(WINDOW, STRIDE),
        {"use_fast": True} if tokenizer_config is None else tokenizer_config,
        transformer_config or {},
    )
    use_transformer_shim(
        model,
        mixed_precision=mixed_precision,
        grad_scaler_config=grad_scaler_config or {},
        inference=inference,
        trained_layers=trained_layers,
    )
    use_chunks(model.layers[0], max_pieces)
    model.init = init
    model.attrs["replace_listener_cfg"] = replace_listener_cfg
    return model


def init(model: "TransformerModel", X: Any = None, Y: Any = None) -> None:
    from spacy_transformers.layers.transformer_model import (
        huggingface_from_pretrained,
    )

    from .download import ENCODERS, find_encoder
    from .loading import prepare_tokenizer

    if model.attrs["has_transformer"]:
        return
    name = model.attrs["name"]
    found = find_encoder(name)
    try:
        objects = huggingface_from_pretrained(found, *get_init_settings(model))
    except OSError as err:
        reason = " ".join(str(err).split())
        raise EncoderError(
            f"Can't load the encoder '{name}': {reason} Give a folder with an encoder, "
            f"one of {', '.join(ENCODERS)}, or the name of a model on the hub, for "
            "which the network is needed."
        ) from err
    # What is saved doesn't depend on where it was found.
    set_name(objects.transformer, name)
    prepare_tokenizer(objects.tokenizer)
    model.attrs["set_transformer"](model, objects)


def replace_listener_cfg(
    transformer: dict[str, Any], listener: dict[str, Any]
) -> dict[str, Any]:
    # spaCy passes the config of the whole tok2vec layer, inside which it may be.
    listener = find_listener(listener) or listener
    config = _compat.replace_listener_cfg(transformer, listener)
    # The layer that takes the listener's place would train in half precision on CUDA
    # machines only, and would fail on their CPUs.
    config["mixed_precision"] = False
    return {key: value for key, value in config.items() if key not in OWN_SETTINGS}


def find_listener(config: dict[str, Any]) -> dict[str, Any] | None:
    """Find the config of a listener to a transformer inside that of another layer."""
    if "TransformerListener" in config.get("@architectures", ""):
        return config
    inner = (value for value in config.values() if isinstance(value, dict))
    return next(filter(None, map(find_listener, inner)), None)
