"""Checks that every recognizer makes, with the messages that users read."""

from collections.abc import Collection, Iterable
from typing import Any

from spacy.tokens import Doc
from thinc.api import Model

from ..corpora.labels import get_corpus, is_label
from ..encoder.vectors import count_unfed, get_listeners, get_upstream
from ..errors import PipelineError, SettingError


def check_label(name: str, label: object) -> None:
    """Raise an error if something can't be a label.

    name (str): The component instance name, for the message.
    """
    if not is_label(label):
        raise make_label_error(name, label)


def make_label_error(name: str, value: object) -> SettingError:
    """Make the error that something is no label, or no list of labels."""
    return SettingError(
        f"'{name}' can't take {value!r} as a label, or for a list of labels. A label "
        "is a string that can be seen: not blank, and without control characters."
    )


def check_labels(name: str, labels: Iterable[str]) -> list[str]:
    """Raise an error if something isn't a list of labels.

    name (str): The component instance name, for the message.
    RETURNS (List[str]): The labels.
    """
    if isinstance(labels, str):
        raise make_label_error(name, labels)
    labels = [*labels]
    for label in labels:
        check_label(name, label)
    return labels


def check_has_label(name: str, label: str, labels: Collection[str]) -> None:
    """Raise an error if a recognizer doesn't have a label."""
    if label not in labels:
        raise SettingError(
            f"'{name}' has no label '{label}'. It has: {', '.join(labels)}."
        )


def check_known(name: str, labels: Iterable[str], known: Iterable[str]) -> None:
    """Raise an error if training data has labels that a recognizer doesn't have."""
    unknown = {*labels} - {*known}
    if unknown:
        raise PipelineError(
            f"Can't train '{name}' on entities with labels it doesn't have: "
            f"{', '.join(sorted(unknown))}. It has: {', '.join(known)}. Add the "
            "missing ones with add_label(), initialize the component with examples "
            "that have them, or remove them from the data."
        )


def check_corpora(name: str, docs: list[Doc], known: Collection[str]) -> None:
    """Raise an error if docs are from a corpus whose types aren't known."""
    for corpus in {*map(get_corpus, docs)} - {None, *known}:
        raise PipelineError(
            f"Can't train '{name}' on docs from the corpus '{corpus}', because it "
            "doesn't know which types are marked in it. It knows: "
            f"{', '.join(known) or 'no corpora'}. Give the labels of all corpora under "
            f"[initialize.components.{name}.labels], as configs/mixed.cfg does."
        )


def check_connected(name: str, model: Model[Any, Any]) -> None:
    """Raise an error if no component feeds the listeners of a model."""
    if not all(listener.has_dim("nO") for listener in get_listeners(model)):
        raise PipelineError(
            f"Can't initialize '{name}': the width of the token vectors is unknown, "
            "because no component feeds its listener. Add a transformer before it with "
            f"nlp.add_pipe('transformer', before='{name}'), or give the model a "
            "tok2vec layer of its own."
        )


def check_fed(
    name: str, model: Model[Any, Any], docs: list[Doc], *, is_train: bool
) -> None:
    """Raise an error if docs have no token vectors, which would be taken for zeros."""
    for listener in get_listeners(model):
        count = count_unfed(listener, docs, is_train=is_train)
        if count:
            upstream = get_upstream(listener)
            raise PipelineError(
                f"'{name}' has no token vectors to work on, because '{upstream}' "
                f"hasn't run on {count} of the {len(docs)} docs. Put the {upstream} "
                f"before '{name}' in the pipeline and don't disable it. If it is "
                "frozen during training, list it under [training] "
                "annotating_components as well."
            )
