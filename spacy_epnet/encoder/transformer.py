"""The pipeline's transformer, with what spacy-transformers leaves to the user."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thinc.api import Model

from ..errors import EncoderError

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy_transformers.data_classes import FullTransformerBatch


# Settings that spacy-transformers' own layers don't have.
OWN_SETTINGS = ("max_pieces", "inference", "trained_layers")


def build_transformer_model(
    name: str,
    get_spans: Callable,
    tokenizer_config: dict[str, Any],
    transformer_config: dict[str, Any],
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

    name (str): A folder, or the name of a model on the hub.
    get_spans (Callable[[List[Doc]], List[List[Span]]]): How long docs are cut.
    tokenizer_config (dict): Settings to pass to the tokenizer.
    transformer_config (dict): Settings to pass to the transformer.
    mixed_precision (bool): Whether to train in half precision where it pays.
    grad_scaler_config (dict): Gradient scaling on CUDA, as in spacy-transformers.
    max_pieces (int): Word pieces that are encoded at once, with padding.
    inference (str): What predictions are computed in: "float32", or "bfloat16" on
        machines that have it.
    trained_layers (Optional[int]): How many of the upper layers are trained. All, and
        the embeddings too, if null.
    """
    from .chunks import use_chunks
    from .guard import GuardedTransformer
    from .shim import use_precision_shim

    model = GuardedTransformer(name, get_spans, tokenizer_config, transformer_config)
    use_precision_shim(
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


def init(model: Model, X: Any = None, Y: Any = None) -> None:
    from spacy_transformers.layers.transformer_model import init as load_encoder

    name = model.attrs["name"]
    is_loaded = model.attrs["has_transformer"]
    if not is_loaded and _is_path(name) and not Path(name).expanduser().is_dir():
        raise EncoderError(
            f"There is no encoder at '{name}'. Fetch the default one with: python -m "
            "spacy project run encoder. Or choose another with --paths.encoder, which "
            "takes a folder or the name of a model on the hub, such as "
            "bert-base-cased."
        )
    load_encoder(model, X, Y)  # type: ignore[arg-type]


def replace_listener_cfg(transformer: dict, listener: dict) -> dict:
    from spacy_transformers.layers._util import replace_listener_cfg

    # spaCy passes the config of the whole tok2vec layer, inside which it may be.
    listener = find_listener(listener) or listener
    config = replace_listener_cfg(transformer, listener)
    # The layer that takes the listener's place would train in half precision on CUDA
    # machines only, and would fail on their CPUs.
    config["mixed_precision"] = False
    return {key: value for key, value in config.items() if key not in OWN_SETTINGS}


def find_listener(config: dict) -> dict | None:
    """Find the config of a listener to a transformer inside that of another layer."""
    if "TransformerListener" in config.get("@architectures", ""):
        return config
    inner = (value for value in config.values() if isinstance(value, dict))
    return next(filter(None, map(find_listener, inner)), None)


def _is_path(name: str) -> bool:
    """Whether a name can't be one on the hub, which has one slash at most."""
    return name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name
