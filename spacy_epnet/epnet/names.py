"""Where prototypes lie by the names of their types, which training teaches a source."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from thinc.api import Ops
from thinc.types import Floats2d, Ints1d

from ..recognizer.pipeline import find_recognizer

# Names that are encoded at once.
BATCH_SIZE = 256


class Names(NamedTuple):
    """Names that take the place of prototypes in an update."""

    columns: Ints1d  # (K,) the columns of the distances of their types
    vectors: Floats2d  # (K, d2)


def draw_names(
    vectors: Mapping[str, Floats2d],
    columns: Mapping[str, int],
    *,
    share: float,
    ops: Ops,
) -> Names | None:
    """Draw types at random, and one of the names of each.

    vectors (Mapping[str, Floats2d]): The vectors of each type's names.
    columns (Mapping[str, int]): The column of each type.
    share (float): How many of the types to draw.
    RETURNS (Optional[Names]): The names, or None if there are none.
    """
    xp: Any = ops.xp
    chosen = [
        (columns[label], own[int(xp.random.randint(len(own)))])
        for label, own in vectors.items()
        if is_drawn(share, ops=ops)
    ]
    if not chosen:
        return None
    drawn, names = zip(*chosen, strict=True)
    return Names(xp.asarray(drawn, dtype="i"), xp.stack(names))


def is_drawn(share: float, *, ops: Ops) -> bool:
    """Draw a lot. None is drawn where it can't win, so that random numbers stay."""
    xp: Any = ops.xp
    return bool(share and xp.random.random() < share)


def make_encode_names(frequency: int = 200) -> Callable[[Language, Any], None]:
    """Make a callback for `training.before_update` that encodes the names of types, as
    the encoder is by then.

    frequency (int): How many steps later they are encoded anew.
    """

    def encode_names(nlp: Language, info: Mapping[str, int]) -> None:
        pipeline = find_recognizer(nlp)
        recognizer: Any = pipeline.recognizer
        if recognizer.training_names and info["step"] % frequency:
            return
        names: Mapping[str, list[str]] = recognizer.learned["names"]
        every = [name for own in names.values() for name in own]
        parts: list[Any] = [
            pipeline.encode_names(every[i : i + BATCH_SIZE])
            for i in range(0, len(every), BATCH_SIZE)
        ]
        ends = numpy.cumsum([len(own) for own in names.values()])[:-1]
        vectors: list[Any] = (
            numpy.split(numpy.concatenate(parts), ends) if parts else []
        )
        recognizer.training_names = dict(zip(names, vectors, strict=True))

    return encode_names
