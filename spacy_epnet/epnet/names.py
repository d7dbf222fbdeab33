"""Names of types: how alike they are, and where prototypes lie by them, which training
teaches a source.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy
from pydantic import PositiveInt
from spacy.language import Language
from thinc.types import Floats2d

from ..corpora.labels import split_type
from ..errors import PipelineError, SettingError
from ..recognizer.pipeline import find_recognizer, get_words

# Names that are encoded at once.
BATCH_SIZE = 256


def get_known_names(
    known: Iterable[str], families: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the names of source types, without the corpora that they are called after.

    known (Iterable[str]): The types.
    families (Mapping[str, str]): The corpora of types that are called after one.
    """
    return tuple(split_type(n)[1] if n in families else n for n in known)


def describe(label: str, texts: Mapping[str, str]) -> str:
    """Return the name of a type, and what it is in words if that is known."""
    return f"{label}: {texts[label]}" if texts.get(label) else label


def list_names(known: tuple[str, ...], labels: list[str]) -> list[tuple[str, ...]]:
    """List the names that are compared, those of a tuple encoded together.

    known (Tuple[str, ...]): Names of source types, which are the same every time.
    labels (List[str]): New types. Each is encoded by itself, so that its vector doesn't
        depend on the others.
    """
    return [known, *((label,) for label in labels)] if known and labels else []


def join_vectors(names: list[str], vectors: Mapping[tuple[str, ...], Floats2d]) -> Any:
    """(names, d2) Join the vectors of names."""
    return numpy.concatenate([vectors[name,] for name in names])


def compare_names(
    labels: list[str],
    known: tuple[str, ...],
    vectors: Mapping[tuple[str, ...], Floats2d],
) -> Any:
    """(labels, known) Find how alike the names of types are to the pipeline's encoder.

    labels (List[str]): New types.
    known (Tuple[str, ...]): Names of source types.
    vectors (Mapping[Tuple[str, ...], Floats2d]): Vectors of what `list_names` gave.
    """
    if not known:
        return numpy.zeros((len(labels), 0))
    others: Any = vectors[known]
    own = join_vectors(labels, vectors)
    # All names have much in common. What sets them apart is what counts.
    common = others.mean(axis=0)
    return get_cosines(own - common, others - common)


def get_cosines(vectors: Any, others: Any) -> Any:
    """Return the cosine of each vector with each of the others."""
    return _normalize(vectors) @ _normalize(others).T


def _normalize(vectors: Any) -> Any:
    norms = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.maximum(norms, 1e-12)


def check_names(name: str, names: Any, *, takes_names: bool) -> None:
    """Raise an error if a recognizer can't be trained on names.

    name (str): The component instance name, for the message.
    names (Any): The names of each label, if any are given.
    takes_names (bool): Whether its model learns from names.
    """
    if names is not None and not takes_names:
        raise SettingError(
            f"'{name}' doesn't learn from names. Set names = true in "
            f"[components.{name}.model], or give it no names."
        )
    if any(isinstance(own, str) for own in (names or {}).values()):
        raise SettingError(
            f"'{name}' takes the names of types as lists: {{'PERSON': ['person']}}."
        )


def make_encode_names(
    frequency: PositiveInt = 200, name: str | None = None
) -> Callable[[Language, Any], None]:
    """Make a callback for `training.before_update` that draws one of the names of each
    type at random and encodes it, as the encoder is by then.

    frequency (int): How many steps later others are drawn.
    name (Optional[str]): The component, if the pipeline has several recognizers.
    """

    def encode_names(nlp: Language, info: Mapping[str, int]) -> None:
        pipeline = find_recognizer(nlp, name)
        recognizer: Any = pipeline.recognizer
        known = recognizer.learned.get("names", {})
        if not recognizer.model.attrs["names"]:
            raise PipelineError(
                f"'{pipeline.name}' doesn't learn from names. Set names = true in "
                f"[components.{pipeline.name}.model], or remove encode_names from "
                "[training.before_update]."
            )
        names = {n: known.get(n, [get_words(n)]) for n in recognizer.labels}
        are_new = recognizer.training_names.keys() != names.keys()
        if info["step"] % frequency and not are_new:
            return
        drawn = [own[numpy.random.randint(len(own))] for own in names.values()]  # noqa: NPY002
        parts: list[Any] = [
            pipeline.encode_names(drawn[i : i + BATCH_SIZE])
            for i in range(0, len(drawn), BATCH_SIZE)
        ]
        vectors: Any = numpy.concatenate(parts)
        recognizer.training_names = dict(zip(names, vectors, strict=True))

    return encode_names
