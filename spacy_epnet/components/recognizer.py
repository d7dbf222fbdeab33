"""What every few-shot recogniser does around its model."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab
from thinc.api import Model

from ..decoding import Entity, split_by_overlap
from ..errors import Errors
from ..models.epnet import get_table_size
from ..models.listeners import count_unfed, get_listeners, get_upstream, is_connected
from ..prototypes import NONE_ROW, get_free_row
from ..types import Rows

BLOCKED_IOB = 3  # ENT_IOB of a token without a type that may not be an entity


class FewShotRecognizer(TrainablePipe):
    """Owns the labels and their prototypes, writes entities, saves and loads."""

    cfg: dict[str, Any]
    model: Model

    def __init__(
        self, vocab: Vocab, model: Model, name: str, *, scorer: Callable | None, **cfg
    ):
        """Initialize the recogniser.

        vocab (Vocab): The shared vocabulary.
        model (thinc.api.Model): The model powering the component.
        name (str): The component instance name.
        scorer (Optional[Callable]): The scoring method.
        **cfg: The settings, which travel with the component.
        """
        super().__init__(vocab, model, name, prototypes={}, ever_assigned=[], **cfg)
        self.scorer = scorer

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The labels, in the order they were added."""
        return tuple(self.cfg["prototypes"])

    @property
    def label_data(self) -> list[str]:
        """RETURNS (List[str]): What `spacy init labels` writes for the component."""
        return list(self.labels)

    @property
    def prototypes(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The row of the prototype table of each label."""
        return dict(self.cfg["prototypes"])

    @property
    def rows(self) -> Rows:
        """RETURNS (Rows): The rows in use: None's, then those of the labels."""
        return self.model.ops.asarray1i([NONE_ROW, *self.cfg["prototypes"].values()])

    @property
    def spans_key(self) -> str:
        """RETURNS (str): Key of `doc.spans` for the predictions with their scores."""
        return self.cfg["spans_key"] or self.name

    def add_label(self, label: str) -> int:
        """Add a label and assign it the first free prototype.

        label (str): The label to add.
        RETURNS (int): 0 if the label is there already, otherwise 1.
        """
        self._check_label(label)
        prototypes = self.cfg["prototypes"]
        if label in prototypes:
            return 0
        row = get_free_row(prototypes.values())
        prototypes[label] = row
        self.cfg["ever_assigned"] = sorted({*self.cfg["ever_assigned"], row})
        self.vocab.strings.add(label)
        self.set_output(row + 1)
        return 1

    def _check_label(self, label: Any) -> None:
        if not isinstance(label, str) or not label:
            raise ValueError(Errors.EP002.format(name=self.name, label=label))

    def _check_connected(self) -> None:
        if not all(is_connected(listener) for listener in get_listeners(self.model)):
            raise ValueError(Errors.EP005.format(name=self.name))

    def _check_fed(self, docs: list[Doc], *, is_train: bool) -> None:
        for listener in get_listeners(self.model):
            count = count_unfed(listener, docs, is_train=is_train)
            if count:
                raise ValueError(
                    Errors.EP004.format(
                        name=self.name,
                        upstream=get_upstream(listener),
                        count=count,
                        total=len(docs),
                    )
                )

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[Entity]]) -> None:
        """Write predicted entities to `doc.ents`, and all of them with their
        probabilities to `doc.spans`.

        Entities that are there already stay, and a prediction that overlaps one is
        in `doc.spans` only. With `overwrite_ents` it is the other way round, and
        what was replaced is in `doc.spans` under the key with "_replaced" added.
        Tokens blocked by an earlier component never become part of an entity.

        docs (Iterable[Doc]): The docs to modify.
        scores (List[List[Entity]]): The entities of each doc, from `predict`.
        """
        for doc, entities in zip(docs, scores, strict=True):
            spans = [Span(doc, e.start, e.end, label=e.label) for e in entities]
            self._write_group(
                doc,
                self.spans_key,
                spans,
                scores=numpy.asarray([e.score for e in entities], dtype="f"),
            )
            self._write_ents(doc, spans)

    def _write_ents(self, doc: Doc, predicted: list[Span]) -> None:
        if not doc.has_annotation("ENT_IOB"):
            doc.set_ents(predicted)
            return
        iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
        blocked = set(numpy.flatnonzero((iob == BLOCKED_IOB) & (types == 0)).tolist())
        predicted, _ = split_by_overlap(predicted, blocked)
        existing = list(doc.ents)
        if self.cfg["overwrite_ents"]:
            confirmed = set(map(_get_key, predicted)) & set(map(_get_key, existing))
            predicted = [span for span in predicted if _get_key(span) not in confirmed]
            existing, replaced = split_by_overlap(existing, _get_tokens(predicted))
            if replaced:
                key = f"{self.spans_key}_replaced"
                self._write_group(doc, key, [*doc.spans.get(key, []), *replaced])
        else:
            predicted, _ = split_by_overlap(predicted, _get_tokens(existing))
        doc.set_ents(
            [*existing, *predicted], blocked=[doc[i : i + 1] for i in sorted(blocked)]
        )

    def _write_group(self, doc: Doc, key: str, spans: list[Span], **attrs) -> None:
        doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()):
        """Load the component from a bytestring.

        bytes_data (bytes): What `to_bytes` gave.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """
        return self._load(partial(super().from_bytes, bytes_data, exclude=exclude))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()):
        """Load the component from disk.

        path (Union[str, Path]): What `to_disk` wrote.
        exclude (Iterable[str]): Names of serialization fields to exclude.
        RETURNS (FewShotRecognizer): The loaded component.
        """
        return self._load(partial(super().from_disk, path, exclude=exclude))

    def _load(self, load: Callable[[], Any]):
        """Load all or nothing."""
        model, cfg = self.model, self.cfg
        self.cfg = dict(cfg)
        try:
            if get_table_size(model) is not None:
                # There are weights to lose, so try it on a copy first.
                self.model = deepcopy(model)
                load()
                self._check_rows()
                self.model = model
            load()
            self._check_rows()
        except Exception as err:
            self.model, self.cfg = model, cfg
            if isinstance(err, OSError):
                raise
            reason = " ".join(str(err).split()) or type(err).__name__
            raise ValueError(
                Errors.EP007.format(name=self.name, reason=reason)
            ) from err
        return self

    def _check_rows(self) -> None:
        size = get_table_size(self.model)
        for label, row in self.cfg["prototypes"].items():
            if size is not None and not 0 < row < size:
                raise ValueError(f"{label} is assigned row {row} of {size} prototypes")


def _get_tokens(spans: list[Span]) -> set[int]:
    return {i for span in spans for i in range(span.start, span.end)}


def _get_key(span: Span) -> tuple[int, int, int]:
    return span.start, span.end, span.label
