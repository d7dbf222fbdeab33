"""The labels of a recognizer, and the examples of them that are kept."""

from collections.abc import Iterable
from typing import Any

from spacy.tokens import Doc

from ..errors import SettingError
from .gold import Gold
from .saving import SavedRecognizer


class LabeledRecognizer(SavedRecognizer):
    """Owns the labels, the corpora that they are from, and the support set."""

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str, ...]): The labels, in the order they were added."""
        return tuple(self.learned["labels"])

    @property
    def columns(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): The number of each label where None is 0."""
        return {label: i for i, label in enumerate(self.labels, 1)}

    @property
    def label_data(self) -> list[str] | dict[str, list[str]]:
        """RETURNS (Union[List[str], Dict[str, List[str]]]): What `spacy init labels`
        writes for the component: the labels, of each corpus if it learned from several.
        """
        return dict(self.corpora) or list(self.labels)

    @property
    def corpora(self) -> dict[str, list[str]]:
        """RETURNS (Dict[str, List[str]]): The labels of each corpus that it was trained
        on, if there were several with types of their own.
        """
        return self.learned["corpora"]

    def add_label(self, label: str) -> int:
        """Add a label.

        label (str): The label to add.
        RETURNS (int): 0 if the label is there already, otherwise 1.
        """
        self._check_label(label)
        if label in self.labels:
            return 0
        self.set_labels([*self.labels, label])
        return 1

    def remove_label(self, label: str) -> None:
        """Forget a label.

        label (str): The label to remove.
        """
        self._check_has(label)
        for example in self.learned["support"]:
            example["ents"] = [ent for ent in example["ents"] if ent[-1] != label]
        self.set_labels([other for other in self.labels if other != label])

    def rename_label(self, label: str, new: str) -> None:
        """Give a label another name, and leave all else as it is.

        label (str): The label to rename.
        new (str): Its new name.
        """
        self._check_label(new)
        self._check_has(label)
        if new == label:
            return
        if new in self.labels:
            raise SettingError(
                f"'{self.name}' can't rename {label} to {new}, because it has a label "
                "of that name already. Remove or rename that one first."
            )
        names = {label: new}
        for example in self.learned["support"]:
            ents = example["ents"]
            example["ents"] = [[*span, names.get(old, old)] for *span, old in ents]
        for corpus, own in self.corpora.items():
            self.corpora[corpus] = [names.get(old, old) for old in own]
        self.learned["labels"] = [names.get(old, old) for old in self.labels]
        self.on_renamed(label, new)
        self.set_labels(self.labels)

    def set_labels(self, labels: Iterable[str]) -> None:
        """Exchange all labels.

        labels (Iterable[str]): The labels. What was learned of those that aren't among
            them is forgotten.
        """
        self.learned["labels"] = list(labels)
        for label in self.labels:
            self.vocab.strings.add(label)
        self.on_labels()

    def remember(self, docs: list[Doc], golds: list[Gold]) -> None:
        """Keep a support set, beside those that are kept, to explain predictions.

        docs (List[Doc]): The docs.
        golds (List[Gold]): Their annotation.
        """
        self.learned["support"] += [
            {
                "words": [token.text for token in doc],
                "spaces": [bool(token.whitespace_) for token in doc],
                "ents": [[ent.start, ent.end, ent.label_] for ent in gold.ents],
            }
            for doc, gold in zip(docs, golds, strict=True)
        ]

    def forget(self) -> None:
        """Drop all support sets that are kept."""
        self.learned["support"] = []

    # Checks

    def _check_label(self, label: Any) -> None:
        if not isinstance(label, str) or not label.strip():
            raise SettingError(
                f"'{self.name}' can't take {label!r} as a label, or for a list of "
                "labels. A label is a string that isn't empty."
            )

    def _check_has(self, label: str) -> None:
        if label not in self.labels:
            known = ", ".join(self.labels)
            raise SettingError(
                f"'{self.name}' has no label '{label}'. It has: {known}."
            )
