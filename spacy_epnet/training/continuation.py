"""Begin a training with what another pipeline has learned."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language

from ..errors import PipelineError, SettingError
from ..recognizer.pipeline import find_recognizer
from ..sources.catalog import load_pipeline


def make_continue_from(source: str | None = None) -> Callable[[Language], Language]:
    """Make a callback for `initialize.after_init` that copies the weights of a source
    pipeline: its encoder, and what its recognizer knows of the types that both have.

    source (Optional[str]): A source that comes with the package, or a pipeline. If
        null, nothing is copied.
    """

    def continue_from(nlp: Language) -> Language:
        if source is not None:
            copy_knowledge(load_pipeline(source), nlp, source)
        return nlp

    return continue_from


def copy_knowledge(source: Language, nlp: Language, name: str) -> None:
    """Copy what a source pipeline has learned to another pipeline.

    name (str): What the source pipeline is called in an error.
    """
    old, new = find_recognizer(source), find_recognizer(nlp)
    encoders: list[Any] = [
        [pipe.model.transformer for pipe in each.encoders.values()]
        for each in (old, new)
    ]
    try:
        for theirs, own in zip(*encoders, strict=True):
            own.load_state_dict(theirs.state_dict())
        new.recognizer.continue_from(old.recognizer)
    except (RuntimeError, ValueError, PipelineError) as err:
        raise SettingError(
            f"Can't continue from '{name}': it has another encoder, recognizer, or "
            f"[components.{new.name}.model]. {err}"
        ) from err
