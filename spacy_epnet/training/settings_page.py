"""Write the page of all settings.

python -m spacy_epnet.training.settings_page docs/settings.md
"""

import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import get_args

import spacy
import srsly
from pydantic.fields import FieldInfo

from ..recognizer.base import FewShotRecognizer
from ..recognizer.settings import RecognizerSettings, Settings
from .config import list_recognizers

BEGIN = """# Settings

The settings of each recognizer, with their defaults. In a config, those of the component
are under `[components.NAME]`, those of its model under `[components.NAME.model]`, and those
of an adaptation under `[adapt]`. Values are checked wherever they are set:

    python -m spacy train configs/source.cfg --components.epnet_ner.tau 2
    python -m spacy epnet adapt small assets/demo/dev.jsonl training/mine --adapt.lr 0.001

The page is written by `python -m spacy_epnet.training.settings_page docs/settings.md`.
"""  # noqa: E501
HEADER = "| setting | default | values | description |\n| --- | --- | --- | --- |"


def make_settings_page() -> str:
    """RETURNS (str): The page, in Markdown."""
    parts = [BEGIN, "## All recognizers", "### Component", describe(RecognizerSettings)]
    parts += ["### Adaptation", describe(RecognizerSettings.Adapt)]
    for name in sorted(list_recognizers(), key=lambda name: name != "epnet_ner"):
        pipe = spacy.blank("en").add_pipe(name)
        assert isinstance(pipe, FewShotRecognizer), "listed as one"
        settings = type(pipe).settings_type
        parts += [f"## {name}", " ".join((settings.__doc__ or "").split())]
        sections: dict[str, tuple[type[Settings], type[Settings]]] = {
            "Component": (settings, RecognizerSettings),
            f"Model: `{settings.Model.architecture}`": (settings.Model, Settings),
            "Adaptation": (settings.Adapt, RecognizerSettings.Adapt),
        }
        for title, (own, shared) in sections.items():
            table = describe(own, without={*shared.model_fields})
            parts += [f"### {title}", table] if table else []
        parts += describe_profiles(settings)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def describe(settings: type[Settings], without: Collection[str] = ()) -> str:
    """Make the table of some settings, or nothing if there are none."""
    rows = [
        f"| `{name}` | {show(field.default)} | {get_values(field)} | "
        f"{field.description} |"
        for name, field in settings.model_fields.items()
        if name not in without
    ]
    return "\n".join([HEADER, *rows]) if rows else ""


def describe_profiles(settings: type[RecognizerSettings]) -> Iterator[str]:
    """Make the table of the values that differ in each way to adapt."""
    columns = {
        (name, case): values
        for name, profile in settings.Adapt.profiles.items()
        for case, values in profile._asdict().items()
        if values
    }
    if not columns:
        return
    cases = {"changes": "", "one_shot": ", 1 or 2 shots", "extend": ", extending"}
    titles = [f"{name}{cases[case]}" for name, case in columns]
    yield "### Profiles\n\nThe values that differ from the defaults:"
    lines = [f"| setting | {' | '.join(titles)} |", "| --- " * (len(titles) + 1) + "|"]
    for name in settings.Adapt.model_fields:
        cells = [show(v[name]) if name in v else "" for v in columns.values()]
        if any(cells):
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    yield "\n".join(lines)


def show(value: object) -> str:
    """Show a value as it stands in a config."""
    if isinstance(value, float):
        return f"`{value:.5f}`" if 0 < value < 0.0001 else f"`{value}`"
    return f"`{srsly.json_dumps(value)}`"


def get_values(field: FieldInfo) -> str:
    """Say which values a setting can have."""
    kinds = get_args(field.annotation) or (field.annotation,)
    names = [
        f'`"{kind}"`' if isinstance(kind, str) else getattr(kind, "__name__", "")
        for kind in kinds
    ]
    if isinstance(field.default, dict):
        return "registered function"
    shown = " or ".join("null" if name == "NoneType" else name for name in names)
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [
        f"{sign} {getattr(bound, key)}"
        for bound in field.metadata
        for key, sign in signs.items()
        if hasattr(bound, key)
    ]
    return ", ".join([shown, *bounds])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(make_settings_page(), encoding="utf8")
