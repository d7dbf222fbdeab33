"""Read column files: one token a line, with its tag in a column."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from ...errors import CorpusError
from ..documents import Reading, Sentence, TokenDocument
from ..files import read_lines
from ..labels import is_label
from ..tags import Entity, Scheme, TagError, detect_scheme, read_tags

DOCSTART = "-DOCSTART-"
SAMPLE_SIZE = 5000  # sentences by which the scheme is detected
SEVERAL = "rows with several annotations, of which the first was taken"
REPAIRED = "sentences in which an I- that continued nothing began an entity"


class Block(NamedTuple):
    """Lines of a sentence."""

    words: list[str]
    tags: list[str]
    first_line: int
    begins_document: bool


def read_columns(
    path: Path, reading: Reading, *, scheme: Scheme | None = None
) -> Iterator[TokenDocument]:
    """Read a column file. If it has no marks of documents, each sentence is one. The
    scheme of the tags is detected by default.
    """
    if scheme is None:
        look = replace(
            reading,
            on_error=lambda error: None,
            progress=lambda count: None,
            notes=Counter(),
        )
        sample = islice(_read_tagged_blocks(path, look), SAMPLE_SIZE)
        scheme = detect_scheme(block.tags for block in sample)
        if scheme is None:
            reason = "the tags have no prefixes and none is O, so the column is no tags"
            raise CorpusError(
                path, f"{reason}. Use --columns or --format of spacy epnet convert"
            )

    def read_entities(tags: list[str]) -> list[Entity]:
        try:
            return read_tags(tags, scheme)
        except TagError:
            if scheme != "bio" or not reading.repair_tags:
                raise
            # IOB1 is just that: an I- that continues nothing begins an entity.
            entities = read_tags(tags, "iob1")
            reading.notes[REPAIRED] += 1
            return entities

    blocks = _read_tagged_blocks(path, reading)
    hint = f" (tags are read as {scheme.upper()})"
    return join_blocks(path, reading, blocks, read_entities, hint=hint)


def read_wnut17(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a file of WNUT-17, in which some entities begin with I-."""
    return read_columns(path, replace(reading, repair_tags=True), scheme="bio")


def _read_tagged_blocks(path: Path, reading: Reading) -> Iterator[Block]:
    word_column, tag_column = reading.columns
    # A word and a tag at least, and as many as the numbers of the columns ask for.
    n_columns = max(2, *(i + 1 if i >= 0 else -i for i in reading.columns))
    separator = reading.separator

    def read_row(line: str) -> tuple[str, str]:
        nonlocal separator
        if separator is None:
            separator = "\t" if "\t" in line else " "
        cells = line.split(separator)
        if separator == " ":
            cells = [cell for cell in cells if cell]
        if len(cells) < n_columns:
            needed = f"{n_columns} are needed"
            raise ValueError(f"the row has {len(cells)} columns, but {needed}")
        word = cells[word_column]
        tag, comma, _ = cells[tag_column].partition(",")
        tag = tag.strip(" \t")
        if not word or not is_label(tag):
            raise ValueError(f"the {'tag' if word else 'word'} is empty")
        reading.notes[SEVERAL] += bool(comma)
        return word, tag

    return read_blocks(path, reading, DOCSTART, read_row)


def read_blocks(
    path: Path,
    reading: Reading,
    boundaries: str | tuple[str, ...],
    read_row: Callable[[str], tuple[str, str]],
) -> Iterator[Block]:
    """Read the sentences of which every row has a word and a tag.

    boundaries (Union[str, Tuple[str, ...]]): Beginnings of lines between documents.
    read_row (Callable[[str], Tuple[str, str]]): Returns the word and the tag of a row,
        or raises a `ValueError`.
    """
    words: list[str] = []
    tags: list[str] = []
    first_line = 1
    is_broken = begins_document = False
    lines = read_lines(path, reading.progress, reading.on_error)
    for number, line in chain(lines, [(0, "")]):  # the last sentence ends, too
        if line is None:
            is_broken = True
            continue
        line = line.rstrip(" \t")
        is_boundary = line.startswith(boundaries)
        if is_boundary or not line:
            if words and not is_broken:
                yield Block(words, tags, first_line, begins_document)
                begins_document = False
            begins_document |= is_boundary
            words, tags, is_broken = [], [], False
            continue
        if reading.comment and line.startswith(reading.comment):
            continue
        if not words:
            first_line = number
        try:
            word, tag = read_row(line)
        except ValueError as err:
            if not is_broken:
                reading.on_error(CorpusError(path, str(err), number))
            is_broken = True
        else:
            words.append(word)
            tags.append(tag)


def join_blocks(
    path: Path,
    reading: Reading,
    blocks: Iterable[Block],
    read_entities: Callable[[list[str]], list[Entity]],
    *,
    hint: str = "",
    has_documents: bool = False,
) -> Iterator[TokenDocument]:
    """Join sentences to documents, and leave out those with broken tags.

    hint (str): Is added to what is wrong with tags.
    has_documents (bool): Whether sentences before the first boundary are one document,
        and not one each.
    """
    sentences: list[Sentence] = []
    for block in blocks:
        has_documents |= block.begins_document
        if sentences and (block.begins_document or not has_documents):
            yield TokenDocument(sentences)
            sentences = []
        try:
            entities = read_entities(block.tags)
        except TagError as err:
            line = block.first_line + err.index
            reading.on_error(CorpusError(path, f"{err}{hint}", line))
        else:
            sentences.append(Sentence(block.words, entities))
    if sentences:
        yield TokenDocument(sentences)
