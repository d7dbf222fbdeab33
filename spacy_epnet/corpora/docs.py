"""Make spaCy's docs of documents."""

import sys
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import cast

import spacy
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.tokens import Doc, Span
from spacy.util import filter_spans
from spacy.vocab import Vocab

from ..errors import InvalidSettingError, shorten
from .documents import Document, Meta, Sentence, TokenDocument
from .label_mapping import LabelMapping
from .tags import Entity

META_KEY = "epnet_origin"  # of `doc.user_data`, for the meta data of a document
UNALIGNED = "entities that couldn't be aligned to tokens"
MAX_HINTS = 5
OVERLAPPING = "entities overlapping a longer one, of which the longer was taken"


def make_tokenizer(lang: str) -> Language:
    """Make a pipeline that splits text of any length into sentences and tokens."""
    try:
        nlp = spacy.blank(lang)
    except ImportError:
        expected = "a language that spaCy has, such as en"
        raise InvalidSettingError("lang", lang, expected) from None
    nlp.max_length = sys.maxsize
    nlp.add_pipe("sentencizer")
    return nlp


def get_sentences(
    document: Document,
    nlp: Language,
    mapping: LabelMapping,
    notes: Counter[str],
    hints: list[str],
) -> list[Sentence]:
    """Split a document into sentences, and map the labels of its entities. Those that
    are lost are noted, with hints on what to mark instead of the first of them.
    """
    if isinstance(document, TokenDocument):
        return [
            sentence._replace(
                entities=drop_overlapping(mapping.apply(sentence.entities), notes)
            )
            for sentence in document.sentences
        ]
    doc = nlp.make_doc(document.text)
    aligned, unknown = _align(doc, mapping.apply(document.spans), notes, hints)
    entities = drop_overlapping(aligned, notes)
    for start, end, _ in entities:
        unknown[start:end] = [False] * (end - start)
    starts = _find_starts(doc, nlp)
    return [
        sentence
        for sentence in cut_doc(doc, starts, entities, unknown)
        if not all(map(str.isspace, sentence.words))
    ]


def cut_doc(
    doc: Doc, starts: Sequence[bool], entities: list[Entity], unknown: Sequence[bool]
) -> Iterator[Sentence]:
    """Cut a doc into sentences where tokens start one, but never inside an entity.
    Entities are in the order of the text, and unknown tokens may or may not be in one.
    """
    inside = {i for start, end, _ in entities for i in range(start + 1, end)}
    cuts = [i for i, is_start in enumerate(starts) if i and is_start]
    rest = deque(entities)
    for first, last in pairwise([0, *(i for i in cuts if i not in inside), len(doc)]):
        tokens = doc[first:last]
        own = []
        while rest and rest[0].start < last:
            start, end, label = rest.popleft()
            own.append(Entity(start - first, end - first, label))
        yield Sentence(
            [token.text for token in tokens],
            own,
            None if doc.has_unknown_spaces else [bool(t.whitespace_) for t in tokens],
            [i - first for i in range(first, last) if unknown[i]],
        )


def _find_starts(doc: Doc, nlp: Language) -> list[bool]:
    """Find the tokens that begin sentences: after full stops and empty lines."""
    sentencizer = cast(Sentencizer, nlp.get_pipe("sentencizer"))
    (is_start,) = sentencizer.predict([doc])
    for previous, token in pairwise(doc):
        if previous.is_space and previous.text.count("\n") > 1:
            is_start[token.i] = True
    return cast("list[bool]", is_start)


def _align(
    doc: Doc, spans: list[Entity], notes: Counter[str], hints: list[str]
) -> tuple[list[Entity], list[bool]]:
    """Align entities to tokens, and tell which tokens have a part of one that can't
    be.
    """
    entities: list[Entity] = []
    solid = [i for i, char in enumerate(doc.text) if not char.isspace()]
    # Entities without alignment that begin at a token, less those that have ended.
    changes = [0] * (len(doc) + 1)
    for start, end, label in spans:
        # Spaces at the edges don't count.
        inside = range(bisect_left(solid, start), bisect_left(solid, end))
        if inside:
            start, end = solid[inside[0]], solid[inside[-1]] + 1
            span = doc.char_span(start, end)
            if span is not None:
                entities.append(Entity(span.start, span.end, label))
                continue
            around = doc.char_span(start, end, alignment_mode="expand")
            assert around is not None
            changes[around.start] += 1
            changes[around.end] -= 1
            if len(hints) < MAX_HINTS:
                hints.append(
                    f'{label} "{shorten(doc.text[start:end])}" ends inside a token. '
                    f'Mark "{shorten(around.text)}", from {around.start_char} to '
                    f"{around.end_char}"
                )
        notes[UNALIGNED] += 1
    return entities, [count > 0 for count in accumulate(changes)]


def drop_overlapping(entities: Sequence[Entity], notes: Counter[str]) -> list[Entity]:
    """Keep the longest of entities that overlap, then the first, in the order of the
    text, and note how many are dropped.
    """
    # It needs nothing of spans but their start and end.
    kept = cast("list[Entity]", filter_spans(cast("Sequence[Span]", entities)))
    notes[OVERLAPPING] += len(entities) - len(kept)
    return kept


def make_doc(vocab: Vocab, sentences: list[Sentence], meta: Meta | None = None) -> Doc:
    """Make one doc of one or several sentences. Its spaces are unknown if those of a
    sentence are.
    """
    words = [word for sentence in sentences for word in sentence.words]
    spaces = [space for sentence in sentences for space in sentence.spaces or ()]
    is_spaced = all(sentence.spaces is not None for sentence in sentences)
    starts: list[bool | int | None]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence.words))]
    known = spaces if is_spaced else None
    doc = Doc(vocab, words=words, spaces=known, sent_starts=starts)
    entities: list[Span] = []
    missing: list[Span] = []
    first = 0
    for sentence in sentences:
        entities += [
            Span(doc, first + start, first + end, label=label)
            for start, end, label in sentence.entities
        ]
        missing += [doc[first + i : first + i + 1] for i in sentence.unknown]
        first += len(sentence.words)
    doc.set_ents(entities, missing=missing)
    if meta:
        doc.user_data[META_KEY] = dict(meta)
    return doc
