"""The corpora that the shipped source pipelines are trained on: one list of them all.

{"corpus": "recipes", "title": "TASTEset", "about": "ingredients", "author": "...",
 "license": "MIT", "url": "...", "weight": 1.0}
"""

from pathlib import Path
from typing import Any, NamedTuple

import srsly

from ..errors import CorpusError
from .mixing import Blocks

LIST = Path(__file__).with_name("corpora.jsonl")


class ListedCorpus(NamedTuple):
    """A corpus of the list. See `Part` for what else its line says."""

    corpus: str
    title: str
    about: str
    author: str
    license: str
    url: str
    weight: float
    types_of: str | None = None


def read_listed_corpora(path: Path = LIST) -> list[ListedCorpus]:
    """Read a list of corpora."""
    try:
        return [ListedCorpus(**line) for line in srsly.read_jsonl(path)]
    except (OSError, TypeError, ValueError) as err:
        raise CorpusError(path, f"it is no list of corpora: {err}") from err


def make_listed_corpora(
    folder: Path, partial: bool = True, path: Path | None = None
) -> Blocks:
    """List corpora to mix, see `spacy-epnet.MixedCorpus.v1`.

    folder (Path): Where each of them is, as NAME.spacy.
    partial (bool): Whether to list those that have types of another corpus, too, which
        they don't all mark.
    path (Optional[Path]): A list in JSON Lines. By default the one that comes with the
        package.
    """
    blocks: Blocks = {}
    for each in read_listed_corpora(LIST if path is None else path):
        block: dict[str, Any] = each._asdict()
        name = block.pop("corpus")
        del block["about"]
        if partial or each.types_of is None:
            blocks[name] = {**block, "path": str(Path(folder) / f"{name}.spacy")}
    return blocks
