"""What the types of known corpora are called in words: one list of all of them.

{"corpus": "recipes", "type": "FOOD", "name": "food", "description": "...",
 "synonyms": ["ingredient"]}
"""

from pathlib import Path
from typing import NamedTuple

import srsly

from ..errors import CorpusError, InvalidSettingError
from .labels import SEPARATOR

TYPES = Path(__file__).with_name("types.jsonl")


class TypeName(NamedTuple):
    """A type of a corpus, in words."""

    corpus: str
    type: str
    name: str
    description: str
    synonyms: list[str]

    @property
    def label(self) -> str:
        """RETURNS (str): What a recognizer of several corpora calls it."""
        return f"{self.corpus}{SEPARATOR}{self.type}"

    def list_texts(self, *, descriptions: bool = True) -> list[str]:
        """List every way to say it, the name first."""
        whole = f"{self.name}: {self.description}"
        described = [self.description, whole] if descriptions else []
        return [self.name, *self.synonyms, *described]


def read_type_names(path: Path = TYPES) -> dict[str, TypeName]:
    """Read a list of types, by their labels."""
    try:
        found = [TypeName(**line) for line in srsly.read_jsonl(path)]
    except (OSError, TypeError, ValueError) as err:
        raise CorpusError(path, f"it is no list of types: {err}") from err
    return {each.label: each for each in found}


def make_type_names(
    path: Path | None = None, corpus: str | None = None, descriptions: bool = True
) -> dict[str, list[str]]:
    """Read names and descriptions of the types of known corpora, to train on.

    path (Optional[Path]): A list of types, in JSON Lines. By default the one that
        comes with the package.
    corpus (Optional[str]): The corpus, if it is the only one that is trained on, so
        that labels aren't called after it.
    descriptions (bool): Whether to train on descriptions, too.
    """
    types = read_type_names(TYPES if path is None else path)
    corpora = dict.fromkeys(each.corpus for each in types.values())
    if corpus is not None and corpus not in corpora:
        raise InvalidSettingError("corpus", corpus, f"one of {', '.join(corpora)}")
    return {
        label if corpus is None else each.type: each.list_texts(
            descriptions=descriptions
        )
        for label, each in types.items()
        if corpus in (None, each.corpus)
    }
