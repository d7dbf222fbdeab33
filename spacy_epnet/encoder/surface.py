"""How words are written, for encoders that don't see it or see little of it."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray
from spacy.attrs import SHAPE
from spacy.strings import StringStore
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

SURFACE = "surface_tok2vec"  # the layer's name
FORMS = ("lower", "title", "upper", "mixed", "letter", "number", "code", "symbol")
# A doc with more capitalized words than this is a heading, or shouts.
MANY_CAPITALS = 0.6

Tok2Vec: TypeAlias = Model[list[Doc], list[Floats2d]]
Backprop: TypeAlias = Callable[[list[Floats2d]], list[Doc]]


def build_surface_tok2vec(tok2vec: Tok2Vec) -> Tok2Vec:
    """Add what a word looks like to its vector.

    An uncased encoder can't tell "May" from "may", and how a name is written says
    much about where it begins and ends. The features are fixed; it is the layer
    above that learns what they mean.

    tok2vec (Model[List[Doc], List[Floats2d]]): The token vectors, usually a
        listener to the pipeline's transformer.
    """
    features: Tok2Vec = Model("surface_features", features_forward, dims={"nO": WIDTH})
    return Model(
        SURFACE,
        forward,
        init=init,
        layers=[tok2vec, features],
        dims={"nO": None},
    )


def init(model: Tok2Vec, X: list[Doc] | None = None, Y: object = None) -> None:
    tok2vec = model.layers[0].initialize(X=X)
    if tok2vec.has_dim("nO"):
        model.set_dim("nO", tok2vec.get_dim("nO") + WIDTH)


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Backprop]:
    xp: Any = model.ops.xp
    vectors, backprop_vectors = model.layers[0](docs, is_train)
    features, _ = model.layers[1](docs, is_train)

    def join(vector: Any, feature: Any) -> Any:
        # Vectors that don't fit the doc are left for the layer above to complain of,
        # and those of an empty doc may have no width.
        is_fit = len(vector) and len(vector) == len(feature)
        return xp.concatenate([vector, feature], axis=1) if is_fit else vector

    def backprop(d_joined: list[Floats2d]) -> list[Doc]:
        parts = zip(d_joined, vectors, strict=True)
        return backprop_vectors([d[:, : v.shape[1]] for d, v in parts])

    return [join(*pair) for pair in zip(vectors, features, strict=True)], backprop


def features_forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Backprop]:
    lengths: Any = numpy.asarray([len(doc) for doc in docs], dtype="i")
    features: Any = get_surface_features(docs).astype("f")
    return model.ops.unflatten(
        model.ops.asarray2f(features), lengths
    ), lambda d_features: []


def get_surface_features(docs: list[Doc]) -> NDArray[numpy.bool_]:
    """Describe how the words of a batch are written.

    RETURNS (numpy.ndarray): (tokens, WIDTH) of bool, the docs end to end.
    """
    lengths = numpy.asarray([len(doc) for doc in docs], dtype="int64")
    owner = numpy.repeat(numpy.arange(len(docs)), lengths)
    form = get_forms(docs)
    is_form = [form == i for i in range(len(FORMS))]
    lower, title, upper, mixed, letter, _, _, symbol = is_form
    capital = title | upper | mixed | letter
    first = numpy.concatenate([[True], owner[1:] != owner[:-1]])[: len(owner)]
    last = numpy.roll(first, -1)
    after_capital = numpy.roll(capital, 1) & ~first
    before_capital = numpy.roll(capital, -1) & ~last
    capitals = numpy.bincount(owner[capital], minlength=len(docs))
    words = numpy.bincount(owner[capital | lower], minlength=len(docs))
    share = (capitals / numpy.maximum(1, words))[owner]
    features = [
        *is_form,
        first,
        first & capital,
        capital & ~after_capital,
        capital & ~before_capital,
        ~capital & after_capital & before_capital,
        numpy.roll(symbol, 1) & ~first,
        numpy.roll(symbol, -1) & ~last,
        share > MANY_CAPITALS,
        share == 0,
    ]
    return numpy.stack(features, axis=1)


WIDTH = len(FORMS) + 9


def get_forms(docs: list[Doc]) -> NDArray[numpy.int64]:
    """Find the position in FORMS of each token of a batch."""
    shapes = [doc.to_array(SHAPE) for doc in docs if len(doc)]
    if not shapes:
        return numpy.zeros(0, dtype="int64")
    different, positions = numpy.unique(numpy.concatenate(shapes), return_inverse=True)
    # Docs may be of several vocabs, some of which don't have a shape.
    stores = list({id(doc.vocab): doc.vocab.strings for doc in docs}.values())
    forms = [
        get_form(next((s for s in stores if shape in s), stores[0]), shape)
        for shape in different
    ]
    return numpy.asarray(forms)[positions]


def get_form(strings: StringStore, shape: int) -> int:
    """Find the position in FORMS of a token's shape."""
    marks = [mark for mark in strings[shape] if mark in "Xxd"] if shape else []
    letters = [mark for mark in marks if mark != "d"]
    if not marks:
        name = "symbol"
    elif not letters:
        name = "number"
    elif len(letters) < len(marks):
        name = "code"
    elif letters == ["X"]:
        name = "letter"
    elif "X" not in letters:
        name = "lower"
    elif "x" not in letters:
        name = "upper"
    elif letters[0] == "X" and "X" not in letters[1:]:
        name = "title"
    else:
        name = "mixed"
    return FORMS.index(name)
