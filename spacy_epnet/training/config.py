"""Write the config of a training, for any recognizer."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import wrap
from typing import Any

import spacy
import srsly

from ..encoder.download import MINILM
from ..errors import SettingError
from ..recognizer.base import FewShotRecognizer
from ..recognizer.settings import Settings

TEMPLATE = Path(__file__).with_name("template.cfg")
WIDTH = 88


def list_recognizers() -> list[str]:
    """RETURNS (List[str]): The factories of the recognizers of this package."""
    return sorted(
        entry.name
        for entry in entry_points(group="spacy_factories")
        if entry.value.startswith("spacy_epnet.")
    )


def make_training_config(recognizer: str, encoder: str = MINILM.name) -> str:
    """Make the config of a training, with the defaults of a recognizer, given by its
    factory, and comments that explain them.
    """
    nlp = spacy.blank("en")
    is_known = nlp.has_factory(recognizer)
    pipe = nlp.add_pipe(recognizer) if is_known else None
    if not isinstance(pipe, FewShotRecognizer):
        raise SettingError(
            f"There is no recognizer called '{recognizer}'. There are: "
            f"{', '.join(list_recognizers())}."
        )
    name = f"components.{recognizer}"
    config = {"factory": recognizer, **nlp.get_pipe_config(recognizer)}
    settings = type(pipe).settings_type
    model = config.pop("model")
    lines = [
        *make_section(name, config, settings),
        *make_section(f"{name}.model", model, settings.Model, component=name),
    ]
    return (
        TEMPLATE.read_text(encoding="utf8")
        .replace("# COMPONENT", "\n".join(lines).strip())
        .replace("RECOGNIZER", recognizer)
        .replace("ENCODER", encoder)
    )


def make_section(
    name: str,
    values: dict[str, Any],
    settings: type[Settings] | None = None,
    *,
    component: str = "",
) -> Iterator[str]:
    """Make the lines of a section of a config, and of the sections in it. Settings
    have their descriptions, and may refer to those of a component.
    """
    yield f"[{name}]"
    fields = settings.model_fields if settings is not None else {}
    inner = {key: value for key, value in values.items() if has_blocks(value)}
    for key, value in values.items():
        if key in inner:
            continue
        shown = srsly.json_dumps(value)
        if key in fields:
            for line in wrap(fields[key].description or "", WIDTH - 2):
                yield f"# {line}"
            extra = fields[key].json_schema_extra
            if isinstance(extra, dict):
                shown = f"${{{component}.{extra['same_as']}}}"
        yield f"{key} = {shown}"
    yield ""
    for key, value in inner.items():
        yield from make_section(f"{name}.{key}", value)


def has_blocks(value: Any) -> bool:
    """Whether a value of a config has blocks in it, so that it needs a section."""
    return isinstance(value, dict) and any(isinstance(v, dict) for v in value.values())
