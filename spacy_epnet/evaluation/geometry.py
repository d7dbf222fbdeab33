"""Locate types and spans in the space in which they are compared."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..adapting.support import make_bare_example
from ..errors import MissingExtraError, PipelineError, TooFewError
from ..recognizer.distances import get_square_distances
from ..recognizer.gold import read_gold
from ..recognizer.pipeline import find_recognizer

NONE = "None"
BATCH_SIZE = 64
TOO_FEW = (
    "There are too few entities to show in this corpus. Give one whose docs have "
    "entities that line up with the tokens of the pipeline."
)


class HeatMap(NamedTuple):
    """Squared distances between what stands for types."""

    names: list[str]  # empty for what stands for no type
    distances: Any  # (n, n)

    @property
    def n_types(self) -> int:
        """RETURNS (int): How many stand for a type, None too. They come first."""
        return sum(bool(name) for name in self.names)

    def summarize(self) -> dict[str, float | None]:
        """Compute means over pairs: of all, of types, and of None with the others. What
        there are no pairs of is None.
        """
        n, is_none = self.n_types, [name == NONE for name in self.names]
        pairs = numpy.triu(numpy.ones_like(self.distances, dtype=bool), k=1)
        typed = pairs & (numpy.arange(len(self.names)) < n)
        with_none = typed & (numpy.outer(is_none, [True] * len(is_none)))
        others = typed & ~with_none
        chosen = {"all": pairs, "types": others, "None and types": with_none}
        return {
            name: float(self.distances[mask].mean()) if mask.any() else None
            for name, mask in chosen.items()
        }


class SpanMap(NamedTuple):
    """Points on a plane: spans of entities, and what stands for their types."""

    labels: list[str]  # of each span
    spans: Any  # (n, 2)
    center_names: list[str]
    centers: Any  # (m, 2)


def make_heat_map(nlp: Language, name: str | None = None) -> HeatMap:
    """Measure how far types are from each other."""
    names, points = list_centers(nlp, name)
    return HeatMap(names, numpy.asarray(get_square_distances(points, points)))


def list_centers(nlp: Language, name: str | None) -> tuple[list[str], Any]:
    """List the names and points of what stands for types, None's first."""
    pipeline = find_recognizer(nlp, name)
    pipe = pipeline.recognizer
    centers = pipe.list_centers()
    if centers is None or not len(centers.points):
        raise PipelineError(
            f"'{pipeline.name}' has nothing that stands for a type, so that there is "
            "nothing to show. epnet_ner has, and recognizers that remember examples, "
            "after a training or an adaptation."
        )
    names = [NONE if label is None else label for label in centers.names]
    return names, pipe.model.ops.to_numpy(centers.points).astype("float64")


def embed_entities(
    nlp: Language, docs: Iterable[Doc], name: str | None = None
) -> tuple[list[str], Any]:
    """Return the types and points of the entities that are marked."""
    pipeline = find_recognizer(nlp, name)
    pipe = pipeline.recognizer
    ops = pipe.model.ops
    labels: list[str] = []
    parts = []
    examples = (make_bare_example(nlp, doc) for doc in docs)
    for batch in minibatch(examples, BATCH_SIZE):
        predicted = [eg.predicted for eg in batch]
        tokens = pipeline.encode(predicted)
        spans, offset = [], 0
        for eg in batch:
            for ent in read_gold(eg).ents:
                spans.append((offset + ent.start, len(ent)))
                labels.append(ent.label_)
            offset += len(eg.predicted)
        if spans:
            points = pipe.embed(predicted, tokens, ops.asarray2i(spans))
            parts.append(ops.to_numpy(points))
    if not parts:
        raise TooFewError(TOO_FEW)
    return labels, numpy.concatenate(parts).astype("float64")


def make_span_map(
    nlp: Language,
    docs: Iterable[Doc],
    name: str | None = None,
    *,
    per_type: int = 100,
    seed: int = 0,
) -> SpanMap:
    """Project entities and what stands for types onto a plane, by t-SNE. Of each type
    so many entities at most are chosen at random.
    """
    tsne = import_tsne()
    labels, points = embed_entities(nlp, docs, name)
    chosen = choose_evenly(labels, per_type, seed)
    labels, points = [labels[i] for i in chosen], points[chosen]
    names, centers = list_centers(nlp, name)
    shown = [i for i, label in enumerate(names) if label in {*labels}]
    together = numpy.concatenate([points, centers[shown]])
    if len(together) < 3:
        raise TooFewError(TOO_FEW)
    perplexity = min(30.0, (len(together) - 1) / 3)
    layout = tsne(perplexity=perplexity, random_state=seed, init="pca")
    plane = layout.fit_transform(together)
    n = len(labels)
    return SpanMap(labels, plane[:n], [names[i] for i in shown], plane[n:])


def import_tsne() -> Any:
    """Import scikit-learn's t-SNE, or say how to install it."""
    with require_extra():
        from sklearn.manifold import TSNE
    return TSNE


@contextmanager
def require_extra() -> Iterator[None]:
    """Say how to install what plots need, if an import fails."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(
            "Plots need Matplotlib and scikit-learn: pip install 'spacy-epnet[viz]'"
        ) from None


def choose_evenly(labels: list[str], per_type: int, seed: int) -> list[int]:
    """Choose the indices of at most so many of each label, in order."""
    rng, kept = numpy.random.default_rng(seed), []
    for label in sorted({*labels}):
        own = [i for i, other in enumerate(labels) if other == label]
        kept += rng.choice(own, min(per_type, len(own)), replace=False).tolist()
    return sorted(kept)
