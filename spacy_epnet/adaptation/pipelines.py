"""Pipelines around the recogniser that is adapted."""

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy

from spacy.language import Language
from spacy.tokens import Doc

from ..components.recognizer import FewShotRecognizer
from ..errors import Errors


def find_recognizer(nlp: Language, name: str | None = None) -> str:
    """Find the few-shot recogniser of a pipeline.

    nlp (Language): The pipeline.
    name (Optional[str]): Its name, if there are several.
    RETURNS (str): Its name.
    """
    names = [n for n, pipe in nlp.pipeline if isinstance(pipe, FewShotRecognizer)]
    if not names:
        known = ", ".join(nlp.pipe_names) or "no components"
        raise ValueError(Errors.EP023.format(names=known))
    if name is not None:
        if name not in names:
            known = ", ".join(names)
            raise ValueError(Errors.EP034.format(name=name, names=known))
        return name
    if len(names) > 1:
        raise ValueError(Errors.EP024.format(names=", ".join(names)))
    return names[0]


def share_pipeline(nlp: Language, *, apart: dict[str, object]) -> Language:
    """Make a pipeline of the same components except for some.

    nlp (Language): The pipeline, which isn't changed.
    apart (Dict[str, object]): The components that are the copy's own.
    RETURNS (Language): The copy. All else is shared, above all the encoder.
    """
    twin = copy(nlp)
    # spaCy has no public way to make a pipeline over components that exist.
    twin._components = [(n, apart.get(n, pipe)) for n, pipe in nlp._components]  # type: ignore[misc]
    twin._meta = deepcopy(nlp._meta)
    twin._pipe_meta = dict(nlp._pipe_meta)
    twin._pipe_configs = deepcopy(nlp._pipe_configs)
    twin._config = nlp._config.copy()
    twin._disabled = set(nlp._disabled)
    return twin


def run_upstream(
    nlp: Language, name: str, docs: Iterable[Doc], *, batch_size: int | None = None
) -> Iterator[Doc]:
    """Run what comes before a component.

    nlp (Language): The pipeline.
    name (str): The component.
    docs (Iterable[Doc]): The docs.
    batch_size (Optional[int]): Docs in a batch. The pipeline's own by default.
    YIELDS (Doc): The docs, in order.
    """
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    if not before:
        yield from docs
        return
    with nlp.select_pipes(enable=before):
        yield from nlp.pipe(docs, batch_size=batch_size)


def forget_tensors(doc: Doc) -> None:
    """Drop what the encoder left in a doc, which is large and no longer used."""
    if Doc.has_extension("trf_data"):
        doc._.trf_data = None
