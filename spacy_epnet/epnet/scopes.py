"""Which types a span is judged among: those that are marked in its corpus."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from spacy.tokens import Doc
from thinc.api import Ops

from ..corpora.mixing import get_corpus, split_type
from ..types import Bools2d


def get_families(corpora: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the corpus that each label is called after.

    corpora (Mapping[str, Sequence[str]]): The labels of each corpus. One corpus may
        have some of another one's.
    """
    every = (label for labels in corpora.values() for label in labels)
    return {label: split_type(label)[0] for label in every}


def get_scopes(
    docs: list[Doc],
    corpora: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    *,
    ops: Ops,
) -> Bools2d | None:
    """Find which columns of the distances count for each doc.

    docs (List[Doc]): The docs.
    corpora (Mapping[str, Sequence[str]]): The labels of each corpus.
    labels (Sequence[str]): The labels, in the order of the columns after None's.
    ops (Ops): Where the array is made.
    RETURNS (Optional[Bools2d]): (docs, columns) Whether a column counts, or None if all
        do. They do for a doc that isn't from a corpus with labels among these.
    """
    scopes = numpy.ones((len(docs), len(labels) + 1), dtype=bool)
    rows: dict[str | None, Any] = {}
    for scope, doc in zip(scopes, docs, strict=True):
        corpus = get_corpus(doc)
        if corpus not in rows:
            own = set(corpora.get(corpus or "", ()))
            rows[corpus] = [label in own for label in labels]
        if any(rows[corpus]):
            scope[1:] = rows[corpus]
    xp: Any = ops.xp
    return None if scopes.all() else xp.asarray(scopes)
