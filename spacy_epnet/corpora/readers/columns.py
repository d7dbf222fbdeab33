"""Read column files: one token a line, with its tag in a column."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ...errors import CorpusError
from ..documents import Reading, Sentence, TokenDocument
from ..files import read_lines
from ..tags import Entity, Scheme, TagError, detect_scheme, is_label, read_tags

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
    """Read a column file. If it has no marks of documents, each sentence is one.

    scheme (Optional[Scheme]): The scheme of the tags. Detected by default.
    """
    if scheme is None:
        look = replace(
            reading,
            on_error=lambda error: None,
            progress=lambda count: None,
            notes=Counter(),
        )
        sample = islice(_read_blocks(path, look), SAMPLE_SIZE)
        scheme = detect_scheme(block.tags for block in sample)
        if scheme is None:
            reason = "the tags have no prefixes and none is O, so the column is no tags"
            raise CorpusError(
                path, f"{reason}. Use --columns or --format of spacy epnet convert"
            )
    sentences: list[Sentence] = []
    has_documents = False
    for block in _read_blocks(path, reading):
        has_documents |= block.begins_document
        if sentences and (block.begins_document or not has_documents):
            yield TokenDocument(sentences)
            sentences = []
        try:
            entities = _read_entities(block, scheme, reading)
        except TagError as err:
            reason = f"{err} (tags are read as {scheme.upper()})"
            line = block.first_line + err.index
            reading.on_error(CorpusError(path, reason, line))
        else:
            sentences.append(Sentence(block.words, entities))
    if sentences:
        yield TokenDocument(sentences)


def read_wnut17(path: Path, reading: Reading) -> Iterator[TokenDocument]:
    """Read a file of WNUT-17, in which some entities begin with I-."""
    return read_columns(path, replace(reading, repair_tags=True), scheme="bio")


def _read_entities(block: Block, scheme: Scheme, reading: Reading) -> list[Entity]:
    try:
        return read_tags(block.tags, scheme)
    except TagError:
        if scheme != "bio" or not reading.repair_tags:
            raise
        # IOB1 is just that: an I- that continues nothing begins an entity.
        entities = read_tags(block.tags, "iob1")
        reading.notes[REPAIRED] += 1
        return entities


def _read_blocks(path: Path, reading: Reading) -> Iterator[Block]:
    """Read the sentences of which every row has a word and a tag."""
    word_column, tag_column = reading.columns
    # A word and a tag at least, and as many as the numbers of the columns ask for.
    n_columns = max(2, *(i + 1 if i >= 0 else -i for i in reading.columns))
    separator = reading.separator
    words: list[str] = []
    tags: list[str] = []
    first_line = 1
    is_broken = begins_document = False

    def report(reason: str, line: int) -> None:
        nonlocal is_broken
        if not is_broken:
            reading.on_error(CorpusError(path, reason, line))
        is_broken = True

    for number, line in read_lines(path, reading.progress, reading.on_error):
        if line is None:
            is_broken = True
            continue
        line = line.rstrip(" \t")
        is_document = line.startswith(DOCSTART)
        if is_document or not line:
            if words and not is_broken:
                yield Block(words, tags, first_line, begins_document)
                begins_document = False
            begins_document |= is_document
            words, tags, is_broken = [], [], False
            continue
        if reading.comment and line.startswith(reading.comment):
            continue
        if separator is None:
            separator = "\t" if "\t" in line else " "
        cells = line.split(separator)
        if separator == " ":
            cells = [cell for cell in cells if cell]
        if not words:
            first_line = number
        if len(cells) < n_columns:
            needed = f"{n_columns} are needed"
            report(f"the row has {len(cells)} columns, but {needed}", number)
            continue
        word = cells[word_column]
        tag, comma, _ = cells[tag_column].partition(",")
        tag = tag.strip(" \t")
        if not word or not is_label(tag):
            report(f"the {'tag' if word else 'word'} is empty", number)
            continue
        reading.notes[SEVERAL] += bool(comma)
        words.append(word)
        tags.append(tag)
    if words and not is_broken:
        yield Block(words, tags, first_line, begins_document)
