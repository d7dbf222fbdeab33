"""Recognize by the nearest prototype, however prototypes come about."""

from itertools import accumulate
from typing import Any

from spacy.tokens import Doc

from ..recognizer.annotation import Prediction, split_by_doc
from ..recognizer.base import Centers, FewShotRecognizer
from ..recognizer.spans import find_docs, get_layout
from ..types import Bools2d, Points, Spans, TokenVectors
from .decoding import Winner, find_winners, keep_best, prefer_near
from .model import (
    copy_weights,
    get_prototypes,
    get_table_size,
    measure_spans,
    project_spans,
)
from .prototypes import (
    NONE_ROW,
    Generation,
    fit_generations,
    get_families,
    get_scopes,
    join,
    list_rows,
)
from .types import Rows


class PrototypeRecognizer(FewShotRecognizer):
    """Recognizes spans by the nearest prototype, however prototypes come about."""

    fixed_when_extending = frozenset({"overlaps"})

    def __init__(self, *args: Any, **kwargs: Any):
        """Initialize the recognizer. See the factories for the settings."""
        super().__init__(*args, **kwargs)
        # The rows of types that there have been, by the type that had each last.
        self.learned |= {"generations": [{}], "ever_assigned": {}}

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest candidate span, in tokens."""
        return self.model.attrs["max_width"]

    # The prototype table

    @property
    def generations(self) -> list[Generation]:
        """RETURNS (List[Generation]): Labels that were learned together."""
        return self.learned["generations"]

    @property
    def prototypes(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The row of the prototype table of each label."""
        return join(self.generations)

    @property
    def rows_in_use(self) -> list[Rows]:
        """RETURNS (List[Rows]): The rows of each generation, None's first."""
        ops = self.model.ops
        return [list_rows(labels, ops=ops) for labels in self.generations]

    def list_centers(self) -> Centers | None:
        """Take the prototypes: None's, those of the labels, and the free ones. See the
        contract.
        """
        points = get_prototypes(self.model.get_ref("head"))
        rows = {NONE_ROW: None, **{row: n for n, row in self.prototypes.items()}}
        free = [row for row in range(len(points)) if row not in rows]
        return Centers([*rows.values(), *("" for _ in free)], points[[*rows, *free]])

    def on_labels(self) -> None:
        """Assign new labels a free prototype, and note who has had which."""
        families = get_families(self.corpora)
        generations = fit_generations(self.generations, self.labels, families)
        rows = join(generations)
        known = self.learned["ever_assigned"].items()
        former = {label: row for label, row in known if row not in rows.values()}
        self.learned["generations"] = generations
        self.learned["ever_assigned"] = {**former, **rows}
        self.set_output(max(rows.values(), default=NONE_ROW) + 1)

    def on_renamed(self, label: str, new: str) -> None:
        """Let a label keep its prototype under another name."""
        names = {label: new}
        self.learned["generations"] = [
            {names.get(old, old): row for old, row in generation.items()}
            for generation in self.generations
        ]
        self.learned["ever_assigned"].pop(label, None)

    def check_learned(self) -> None:
        """Raise an error if labels and prototypes don't fit together."""
        if list(self.prototypes) != list(self.labels):
            raise ValueError("its labels and those of its prototypes differ")
        size = get_table_size(self.model)
        for label, row in self.prototypes.items():
            if size is not None and not 0 < row < size:
                raise ValueError(f"{label} is assigned row {row} of {size} prototypes")

    # Recognition

    def recognize(
        self, docs: list[Doc], tokens: TokenVectors
    ) -> list[list[Prediction]]:
        """Recognize the entities of docs that are encoded already. See the base."""
        ops = self.model.ops
        scopes = get_scopes(docs, self.corpora, self.labels, ops=ops)
        n_older = accumulate(map(len, self.generations), initial=0)
        # Nothing is searched for by generations that are marked in no doc's corpus.
        searched = [
            (offset, rows)
            for offset, rows in zip(n_older, self.rows_in_use, strict=False)
            if scopes is None or scopes[:, offset + 1 : offset + len(rows)].any()
        ]
        found = find_winners(
            self.model.get_ref("head"),
            tokens,
            get_layout(docs, ops=ops),
            [rows for _, rows in searched],
            max_width=self.max_width,
            threshold=self.cfg["threshold"],
        )
        kept: list[Winner] = []
        for (offset, _), winners in zip(searched, found, strict=True):
            winners = [w._replace(column=offset + w.column) for w in winners]
            winners = self._take_in_scope(winners, docs, scopes)
            kept += keep_best(winners, self.cfg["overlaps"])
        labels = ["", *self.labels]  # column 0 is None's
        # Only distances can be compared between generations.
        predictions = [
            Prediction(
                winner.start, winner.end, labels[winner.column], winner.probability
            )
            for winner in keep_best(kept, prefer_near)
        ]
        return split_by_doc(predictions, docs)

    def _take_in_scope(
        self, winners: list[Winner], docs: list[Doc], scopes: Bools2d | None
    ) -> list[Winner]:
        """Drop spans of types that aren't marked in the corpus that a doc is from."""
        ops = self.model.ops
        if scopes is None or not winners:
            return winners
        starts = ops.asarray1i([winner.start for winner in winners])
        columns = ops.asarray1i([winner.column for winner in winners])
        counts = scopes[find_docs(starts, docs, ops=ops), columns].tolist()
        return [winner for winner, c in zip(winners, counts, strict=True) if c]

    def embed(self, docs: list[Doc], tokens: TokenVectors, spans: Spans) -> Points:
        """Project spans to the space of the prototypes. See the base."""
        return project_spans(self.model.get_ref("head"), tokens, spans)

    def rate(
        self, docs: list[Doc], tokens: TokenVectors, spans: Spans
    ) -> list[dict[str | None, float]]:
        """Find how probable each type is for some spans: each label among those of its
        generation, and under None that no generation takes it for an entity. See the
        base.
        """
        head = self.model.get_ref("head")
        found: list[dict[str | None, float]] = [{None: 1.0} for _ in spans]
        measured = measure_spans(head, tokens, spans, self.rows_in_use)
        for labels, distances in zip(self.generations, measured, strict=True):
            likelihoods = self.model.ops.softmax(-distances, axis=1)
            for scores, row in zip(found, likelihoods.tolist(), strict=True):
                scores[None] = min(scores[None], row[0])
                scores.update(zip(labels, row[1:], strict=True))
        return found

    # The weights

    @property
    def is_ready(self) -> bool:
        """RETURNS (bool): Whether there are weights."""
        return get_table_size(self.model) is not None

    def continue_from(self, source: FewShotRecognizer) -> None:
        """Copy another recognizer's projection, and the prototypes of the types that
        both know. See the base.
        """
        if not isinstance(source, PrototypeRecognizer):
            super().continue_from(source)
            return
        known, own = (r.learned["ever_assigned"] for r in (source, self))
        rows = {row: known[label] for label, row in own.items() if label in known}
        head, other = (r.model.get_ref("head") for r in (self, source))
        copy_weights(other, head, rows)

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make the weights. See the base."""
        rows = list_rows(self.prototypes, ops=self.model.ops)
        self.model.initialize(X=(docs, self.model.ops.alloc2i(0, 2), rows))
        self.set_output(int(rows.max()) + 1)
