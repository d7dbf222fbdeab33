"""What every few-shot recogniser does around its model."""

from collections.abc import Callable, Iterable
from copy import copy, deepcopy
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
from ..gold import Gold
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
        super().__init__(
            vocab, model, name, generations=[{}], ever_assigned={}, support=[], **cfg
        )
        self.scorer = scorer

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The labels, in the order they were added."""
        return tuple(self.prototypes)

    @property
    def label_data(self) -> list[str]:
        """RETURNS (List[str]): What `spacy init labels` writes for the component."""
        return list(self.labels)

    @property
    def prototypes(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The row of the prototype table of each label."""
        return {
            label: row
            for generation in self.generations
            for label, row in generation.items()
        }

    @property
    def generations(self) -> list[dict[str, int]]:
        """RETURNS (List[Dict[str, int]]): Labels that were learned together, and the
        row of each. Every generation is decided as if it were alone, so that what
        an older one recognises doesn't depend on the younger ones.
        """
        return self.cfg["generations"]

    @property
    def rows(self) -> list[Rows]:
        """RETURNS (List[Rows]): The rows in use of each generation: None's, then
        those of the labels."""
        ops = self.model.ops
        return [
            ops.asarray1i([NONE_ROW, *labels.values()]) for labels in self.generations
        ]

    @property
    def all_rows(self) -> Rows:
        """RETURNS (Rows): None's row and those of all labels, which are trained
        together."""
        return self.model.ops.asarray1i([NONE_ROW, *self.prototypes.values()])

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
        if label in self.prototypes:
            return 0
        self.generations[-1][label] = get_free_row(self.prototypes.values())
        self._take_rows()
        return 1

    def set_generations(self, generations: Iterable[dict[str, int]]) -> None:
        """Exchange all labels.

        generations (Iterable[Dict[str, int]]): The row of each label. There is room
            made in the prototype table for rows that it doesn't have.
        """
        self.cfg["generations"] = [dict(labels) for labels in generations] or [{}]
        self._take_rows()

    def remove_label(self, label: str) -> None:
        """Forget a label. Its prototype is free for another.

        label (str): The label to remove.
        """
        del self._get_generation(label)[label]
        kept = [labels for labels in self.generations if labels]
        self.cfg["generations"] = kept or [{}]
        for example in self.cfg["support"]:
            example["ents"] = [ent for ent in example["ents"] if ent[-1] != label]

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name, and leave all else as it is.

        label (str): The label to rename.
        new (str): Its new name.
        """
        self._check_label(new)
        generation = self._get_generation(label)
        if new != label and new in self.prototypes:
            raise ValueError(Errors.EP018.format(name=self.name, label=label, new=new))
        names = {label: new}
        renamed = {names.get(old, old): row for old, row in generation.items()}
        generation.clear()
        generation.update(renamed)
        for example in self.cfg["support"]:
            ents = example["ents"]
            example["ents"] = [[*span, names.get(old, old)] for *span, old in ents]
        self.cfg["ever_assigned"].pop(label, None)
        self._take_rows()

    def _get_generation(self, label: str) -> dict[str, int]:
        for generation in self.generations:
            if label in generation:
                return generation
        known = ", ".join(self.labels)
        raise ValueError(Errors.EP019.format(name=self.name, label=label, labels=known))

    def _take_rows(self) -> None:
        rows = self.prototypes.values()
        # A row is known by the type that had it last.
        known = self.cfg["ever_assigned"].items()
        former = {label: row for label, row in known if row not in rows}
        self.cfg["ever_assigned"] = {**former, **self.prototypes}
        for label in self.labels:
            self.vocab.strings.add(label)
        self.set_output(max(rows, default=NONE_ROW) + 1)

    def _check_label(self, label: Any) -> None:
        if not isinstance(label, str) or not label.strip():
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
        blocked = get_blocked(doc)
        predicted, _ = split_by_overlap(predicted, _get_tokens(blocked))
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
        doc.set_ents([*existing, *predicted], blocked=blocked)

    def _write_group(self, doc: Doc, key: str, spans: list[Span], **attrs) -> None:
        doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)

    def copy_sharing_encoder(self) -> "FewShotRecognizer":
        """RETURNS (FewShotRecognizer): A copy with weights and settings of its own.
        Only the encoder, or the listener to it, is the same.
        """
        twin = copy(self)
        shared = self.model.get_ref("tok2vec")
        twin.cfg = deepcopy(self.cfg)
        twin.model = deepcopy(self.model, {id(shared): shared})
        return twin

    def take_over(self, other: "FewShotRecognizer") -> None:
        """Become what a copy of this recogniser has become.

        other (FewShotRecognizer): The copy.
        """
        network: Any = other.model.get_ref("head").shims[0]
        shim: Any = self.model.get_ref("head").shims[0]
        shim.set_network(network._model)
        self.cfg = other.cfg

    def remember(self, docs: list[Doc], golds: list[Gold]) -> None:
        """Keep a support set, beside those that are kept, to explain predictions.

        docs (List[Doc]): The docs.
        golds (List[Gold]): Their annotation.
        """
        self.cfg["support"] += [
            {
                "words": [token.text for token in doc],
                "spaces": [bool(token.whitespace_) for token in doc],
                "ents": [[ent.start, ent.end, ent.label_] for ent in gold.ents],
            }
            for doc, gold in zip(docs, golds, strict=True)
        ]

    def forget(self) -> None:
        """Drop all support sets that are kept."""
        self.cfg["support"] = []

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
        for label, row in self.prototypes.items():
            if size is not None and not 0 < row < size:
                raise ValueError(f"{label} is assigned row {row} of {size} prototypes")


def get_blocked(doc: Doc) -> list[Span]:
    """The tokens that an earlier component has kept from being entities."""
    iob, types = doc.to_array([ENT_IOB, ENT_TYPE]).T
    blocked = numpy.flatnonzero((iob == BLOCKED_IOB) & (types == 0))
    return [doc[i : i + 1] for i in blocked.tolist()]


def _get_tokens(spans: list[Span]) -> set[int]:
    return {i for span in spans for i in range(span.start, span.end)}


def _get_key(span: Span) -> tuple[int, int, int]:
    return span.start, span.end, span.label
