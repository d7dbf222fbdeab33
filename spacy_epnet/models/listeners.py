"""Layers that are fed by a component earlier in the pipeline.

A listener whose upstream component never ran hands out zeros, or nothing at
all, without a word. These functions find that out beforehand.
"""

from collections.abc import Iterable

from spacy.tokens import Doc
from thinc.api import Model


def get_listeners(model: Model) -> list[Model]:
    """The listeners inside a model, to a transformer or to a tok2vec."""
    return [node for node in model.walk() if hasattr(node, "upstream_name")]


def is_connected(listener: Model) -> bool:
    """Whether a listener knows how wide the vectors are that it will be fed."""
    return bool(listener.has_dim("nO"))


def get_upstream(listener: Model) -> str:
    """What a listener listens to, in words."""
    return "transformer" if _hears_transformer(listener) else "tok2vec"


def count_unfed(listener: Model, docs: Iterable[Doc], *, is_train: bool) -> int:
    """Count the docs that have no vectors for a listener.

    listener (Model): The listener.
    docs (Iterable[Doc]): The docs it will be asked about.
    is_train (bool): Whether that is in an update, where the vectors of a batch may
        also have been handed over directly.
    RETURNS (int): How many of the docs the upstream component hasn't seen.
    """
    if is_train and listener._batch_id is not None:  # type: ignore[attr-defined]
        return 0
    if not _hears_transformer(listener):
        return sum(bool(len(doc)) and doc.tensor.size == 0 for doc in docs)
    if not Doc.has_extension("trf_data"):
        return sum(bool(len(doc)) for doc in docs)
    return sum(bool(len(doc)) and doc._.trf_data is None for doc in docs)


def _hears_transformer(listener: Model) -> bool:
    return listener.name == "transformer-listener"
