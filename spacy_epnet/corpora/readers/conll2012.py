"""Read OntoNotes 5 as CoNLL-2012 column files, with names in brackets."""

import re
from collections.abc import Iterator
from pathlib import Path

from ...errors import CorpusError
from ..documents import Reading, Sentence, TokenDocument
from ..files import read_lines
from ..tags import Entity, TagError, is_label

GOLD_CONLL = "*_gold_conll"  # files of OntoNotes' folders
BEGIN, END = "#begin document", "#end document"
WORD_COLUMN, NAME_COLUMN = 3, 10
BRACKETS = re.compile(r"\(([^()*]+)|(\))|(\*)")
CELLS = re.compile(r"[ \t]+")


def read_conll2012(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a `*_gold_conll` file. A document with several parts becomes several."""
    sentences: list[Sentence] = []
    words: list[str] = []
    names: list[str] = []
    first_line = 1
    is_broken = False

    def finish_sentence() -> None:
        nonlocal words, names, is_broken
        if words and not is_broken:
            try:
                entities = read_brackets(names)
            except TagError as err:
                line = first_line + err.index
                reading.on_error(CorpusError(path, str(err), line))
            else:
                sentences.append(Sentence(words, entities))
        words, names, is_broken = [], [], False

    for number, line in read_lines(path, reading.progress, reading.on_error):
        if line is None:
            is_broken = True
        elif line.startswith((BEGIN, END)):
            finish_sentence()
            if sentences:
                yield TokenDocument(sentences)
                sentences = []
        elif not line.strip(" \t"):
            finish_sentence()
        else:
            cells = CELLS.split(line.strip(" \t"))
            if len(cells) <= NAME_COLUMN + 1:
                reason = f"the row has {len(cells)} columns, too few for CoNLL-2012"
                if not is_broken:
                    reading.on_error(CorpusError(path, reason, number))
                is_broken = True
                continue
            if not words:
                first_line = number
            words.append(cells[WORD_COLUMN])
            names.append(cells[NAME_COLUMN])
    finish_sentence()
    if sentences:
        yield TokenDocument(sentences)


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
