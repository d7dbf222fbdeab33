"""Read docstrings of spaCy's form as documentation of parameters and results."""

import re
from typing import Any

from griffe import Extension, Object

# "nlp (Language): The pipeline." or "**changes: Settings", with all of its lines.
FIELD = re.compile(
    r"^(?P<name>\*{0,2}\w+)(?: \((?P<type>.+?)\))?:\s+(?P<text>\S.*(?:\n[ ]{4}.*)*)",
    re.MULTILINE,
)
SECTIONS = {"RETURNS": "Returns", "YIELDS": "Yields"}


class SpacyDocstrings(Extension):
    """Turn spaCy's form into Google's, which the documentation tools know."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring and (obj.is_function or obj.is_class):
            names = {parameter.name for parameter in obj.parameters}
            obj.docstring.value = to_google_form(obj.docstring.value, names)


def to_google_form(text: str, names: set[str]) -> str:
    """Rewrite the fields of a docstring.

    text (str): The docstring.
    names (set[str]): The parameters of what it documents.
    RETURNS (str): The docstring in Google's form. Types are left to the annotations.
    """
    text = re.sub(r"[ \n]*\b(RETURNS|YIELDS) \(", r"\n\1 (", text)
    text = text.replace("\nEXAMPLE:\n", "\nExamples:\n")
    has_fields = False

    def rewrite(field: re.Match[str]) -> str:
        nonlocal has_fields
        name = field["name"]
        lines = field["text"].replace("\n    ", "\n        ")
        if name in SECTIONS:
            return f"\n{SECTIONS[name]}:\n    {lines}"
        if name.lstrip("*") not in names:
            return field[0]
        heading = "" if has_fields else "Args:\n"
        has_fields = True
        return f"{heading}    {name}: {lines}"

    return FIELD.sub(rewrite, text)
