"""Layers that are fed by a component earlier in the pipeline.

A listener whose upstream component never ran returns zeros, or nothing at all, without
a word. This finds it out beforehand for listeners of spaCy (to a tok2vec), of
spacy-transformers and of spacy-curated-transformers.
"""

from collections.abc import Iterable
from typing import Any

from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model

from .._compat import has_batch, is_curated_listener


def get_listeners(model: Model[Any, Any]) -> list[Model[Any, Any]]:
    """Return the listeners inside a model, to a transformer or to a tok2vec."""
    return [
        node
        for node in model.walk()
        if hasattr(node, "upstream_name") or is_curated_listener(node)
    ]


def get_upstream(listener: Model[Any, Any]) -> str:
    """Name what a listener listens to."""
    return "transformer" if _hears_transformer(listener) else "tok2vec"


def count_unfed(
    listener: Model[Any, Any], docs: Iterable[Doc], *, is_train: bool
) -> int:
    """Count the docs that have no vectors for a listener. In an update, those of a
    batch may also have been handed over directly.
    """
    if is_train and has_batch(listener):
        return 0
    hears_transformer = _hears_transformer(listener)

    def is_fed(doc: Doc) -> bool:
        if hears_transformer:
            # Both packages leave it under this name.
            return Doc.has_extension("trf_data") and doc._.trf_data is not None
        return doc.tensor.size > 0

    return sum(bool(len(doc)) and not is_fed(doc) for doc in docs)


def _hears_transformer(listener: Model[Any, Any]) -> bool:
    return is_curated_listener(listener) or not isinstance(listener, Tok2VecListener)
