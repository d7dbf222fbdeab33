"""Token vectors of a batch, its docs end to end.

In training they are a layer's output. In prediction they are made when they are asked
for, because those of all tokens of a long doc at once would take much memory:

    tokens = open_tokens(tok2vec, docs)
    tokens[1000:2000]

A listener whose upstream component never ran returns zeros, or nothing at all, without
a word. `count_unfed` finds it out beforehand for listeners of spaCy (to a tok2vec), of
spacy-transformers and of spacy-curated-transformers.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from numpy.typing import NDArray
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d, Ragged

from .._compat import has_batch, is_curated_listener
from ..errors import PipelineError
from ..types import TokenVectors
from .surface import SURFACE, get_surface_features
from .surface import Tok2Vec as Tok2Vec

if TYPE_CHECKING:
    from spacy_transformers.data_classes import TransformerData

TokenModel: TypeAlias = Model[list[Doc], TokenVectors]


def build_flat_tokens(tok2vec: Tok2Vec) -> TokenModel:
    """Build a layer that lays the token vectors of a batch of docs end to end."""
    return Model("flat_tokens", forward, init=init, layers=[tok2vec])


def init(model: TokenModel, X: list[Doc] | None = None, Y: object = None) -> None:
    model.layers[0].initialize(X=X)


def forward(
    model: TokenModel, docs: list[Doc], is_train: bool
) -> tuple[TokenVectors, Callable[[TokenVectors], list[Doc]]]:
    vectors, backprop_vectors = model.layers[0](docs, is_train)
    tokens = lay_end_to_end(docs, vectors, model.ops.xp)
    lengths: Any = numpy.asarray([len(doc) for doc in docs], dtype="i")

    def backprop(d_tokens: TokenVectors) -> list[Doc]:
        return backprop_vectors(model.ops.unflatten(d_tokens, lengths))

    return tokens, backprop


def open_tokens(tok2vec: Tok2Vec, docs: list[Doc]) -> Any:
    """Prepare the token vectors of a batch, the docs end to end: an array, or an object
    that returns them for any slice.
    """
    if tok2vec.name == SURFACE:
        inner = open_tokens(tok2vec.layers[0], docs)
        return SurfaceTokens(inner, get_surface_features(docs), tok2vec.ops.xp)
    if tok2vec.has_ref("listener"):
        listener, pool = tok2vec.layers
        return ListenedTokens(listener.predict(docs), docs, pool.layers[0])
    return lay_end_to_end(docs, tok2vec.predict(docs), tok2vec.ops.xp)


class SurfaceTokens:
    """Token vectors with how the tokens are written."""

    def __init__(self, tokens: TokenVectors, features: NDArray[numpy.bool_], xp: Any):
        self.tokens, self.features, self.xp = tokens, features, xp

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, window: slice) -> TokenVectors:
        features = self.xp.asarray(self.features[window], dtype="f")
        return self.xp.concatenate([self.tokens[window], features], axis=1)


class ListenedTokens:
    """Token vectors pooled from what a transformer has left in docs."""

    def __init__(
        self,
        data: "list[TransformerData]",
        docs: list[Doc],
        pooling: Model[Ragged, Floats2d],
    ):
        lengths = [len(part.align.lengths) for part in data]
        check_lengths(docs, lengths)
        self.ends = numpy.cumsum(lengths)
        self.data, self.pooling = data, pooling

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, window: slice) -> TokenVectors:
        joined, counts = self._gather(window)
        xp: Any = self.pooling.ops.xp
        if not len(joined):
            start, stop, _ = window.indices(len(self))
            return xp.zeros((stop - start, joined.shape[1]), dtype="f")
        return self.pooling.predict(Ragged(joined, xp.asarray(counts)))

    def _gather(self, window: slice) -> tuple[Floats2d, NDArray[numpy.int32]]:
        """Gather the word pieces of tokens, and how many each token has."""
        xp: Any = self.pooling.ops.xp
        start, stop, _ = window.indices(len(self))
        first = int(numpy.searchsorted(self.ends, start, side="right"))
        last = int(numpy.searchsorted(self.ends, stop, side="left"))
        pieces: list[Floats2d] = []
        counts: list[NDArray[numpy.int32]] = []
        for i in range(first, last + 1):
            data = self.data[i]
            lengths = data.align.lengths
            if not len(lengths):
                continue
            begin = int(self.ends[i]) - len(lengths)
            inside = slice(max(0, start - begin), stop - begin)
            states: Any = data.model_output["last_hidden_state"]
            if not lengths.any():
                # Nothing is aligned, which some kinds of pooling can't take.
                counts.append(numpy.ones_like(lengths[inside]))
                pieces.append(xp.zeros((len(counts[-1]), states.shape[-1]), dtype="f"))
                continue
            before = int(lengths[: inside.start].sum())
            counts.append(lengths[inside])
            rows = data.align.dataXd[before : before + int(counts[-1].sum())]
            pieces.append(states.reshape(-1, states.shape[-1])[rows])
        return xp.concatenate(pieces), numpy.concatenate(counts)


def lay_end_to_end(docs: list[Doc], vectors: list[Floats2d], xp: Any) -> TokenVectors:
    """Join the token vectors of docs."""
    check_lengths(docs, [len(doc_vectors) for doc_vectors in vectors])
    # The vectors of an empty doc may have no width, so they can't be joined in.
    return xp.concatenate([part for part in vectors if len(part)])


def check_lengths(docs: list[Doc], lengths: list[int]) -> None:
    """Raise an error if there isn't a vector for each token."""
    for doc, length in zip(docs, lengths, strict=True):
        if len(doc) != length:
            raise PipelineError(
                f"The token vectors don't fit the docs: one has {len(doc)} tokens, but "
                f"vectors for {length}. A component after the transformer has merged "
                "or split tokens. Put it before the transformer."
            )


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
