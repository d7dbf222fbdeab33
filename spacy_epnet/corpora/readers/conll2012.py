"""Read OntoNotes 5 as CoNLL-2012 column files, with names in brackets."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..documents import Reading, TokenDocument
from ..labels import is_label
from ..tags import Entity, TagError
from .columns import join_blocks, read_blocks

GOLD_CONLL = "*_gold_conll"  # files of OntoNotes' folders
BEGIN, END = "#begin document", "#end document"
WORD_COLUMN, NAME_COLUMN = 3, 10
BRACKETS = re.compile(r"\(([^()*]+)|(\))|(\*)")
CELLS = re.compile(r"[ \t]+")


def read_conll2012(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `*_gold_conll` file. A document with several parts becomes several."""
    blocks = read_blocks(path, reading, (BEGIN, END), _read_row)
    return join_blocks(path, reading, blocks, read_brackets, has_documents=True)


def _read_row(line: str) -> tuple[str, str]:
    cells = CELLS.split(line.strip(" \t"))
    if len(cells) <= NAME_COLUMN + 1:
        raise ValueError(f"the row has {len(cells)} columns, too few for CoNLL-2012")
    return cells[WORD_COLUMN], cells[NAME_COLUMN]


def read_brackets(names: list[str]) -> list[Entity]:
    """Find the entities of a sentence, also those inside others, in its column of
    names: (ORG* * *) is one with three tokens.
    """
    entities: list[Entity] = []
    opened: list[tuple[int, str]] = []
    for i, cell in enumerate(names):
        if "".join(match[0] for match in BRACKETS.finditer(cell)) != cell:
            raise TagError(i, f"{cell!r} isn't a name in brackets")
        for label, closes, _ in BRACKETS.findall(cell):
            if label and not is_label(label):
                raise TagError(i, f"{cell!r} has a name without a type")
            if label:
                opened.append((i, label))
            elif closes:
                if not opened:
                    raise TagError(i, f"{cell!r} closes a name that isn't open")
                start, label = opened.pop()
                entities.append(Entity(start, i + 1, label))
    if opened:
        start, label = opened[0]
        raise TagError(start, f"the name ({label} isn't closed in its sentence")
    return entities
