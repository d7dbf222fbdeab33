"""Documents as spaCy's docs."""

import sys
from bisect import bisect_left
from collections import Counter, deque
from itertools import accumulate, pairwise
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from .label_mapping import LabelMapping
from .reading import META_KEY, Document, Meta, Sentence, TokenDocument
from .tags import Entity

UNALIGNED = "entities that couldn't be aligned to tokens"
MAX_HINTS = 5
OVERLAPPING = "entities overlapping a longer one, of which the longer was taken"


def make_tokenizer(lang: str) -> Language:
    """A pipeline that parts text of any length into sentences and tokens."""
    nlp = spacy.blank(lang)
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
    """The sentences of a document, with the entities that are wanted.

    document (Document): The document. If it is running text, its sentences are found
        out.
    nlp (Language): Parts text into sentences and tokens.
    mapping (LabelMapping): Which types are kept, and under which names.
    notes (Counter[str]): Where entities that are lost are counted.
    hints (List[str]): Where it is told what to mark instead of the first of them.
    RETURNS (List[Sentence]): Its sentences.
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
    starts = _find_sentences(doc, nlp, entities)
    rest = deque(entities)
    sentences = []
    for first, last in pairwise([*starts, len(doc)]):
        tokens = doc[first:last]
        own = []
        while rest and rest[0][0] < last:
            start, end, label = rest.popleft()
            own.append((start - first, end - first, label))
        if any(not token.is_space for token in tokens):
            sentences.append(
                Sentence(
                    [token.text for token in tokens],
                    own,
                    [bool(token.whitespace_) for token in tokens],
                    [i - first for i in range(first, last) if unknown[i]],
                )
            )
    return sentences


def _find_sentences(doc: Doc, nlp: Language, entities: list[Entity]) -> list[int]:
    """Where sentences begin: after full stops and empty lines, but never inside an
    entity.
    """
    inside = {i for start, end, _ in entities for i in range(start + 1, end)}
    (is_start,) = nlp.get_pipe("sentencizer").predict([doc])  # type: ignore[attr-defined]
    for previous, token in pairwise(doc):
        if previous.is_space and previous.text.count("\n") > 1:
            is_start[token.i] = True
    return [i for i, starts in enumerate(is_start) if starts and i not in inside]


def _align(
    doc: Doc, spans: list[Entity], notes: Counter[str], hints: list[str]
) -> tuple[list[Entity], list[bool]]:
    """Entities on the tokens of a doc, and whether one couldn't be put on a token."""
    entities: list[Entity] = []
    solid = [i for i, char in enumerate(doc.text) if not char.isspace()]
    # How many such entities begin at a token, less those that have ended.
    changes = [0] * (len(doc) + 1)
    for start, end, label in spans:
        # Spaces at the edges don't count.
        inside = range(bisect_left(solid, start), bisect_left(solid, end))
        if inside:
            start, end = solid[inside[0]], solid[inside[-1]] + 1
            span = doc.char_span(start, end)
            if span is not None:
                entities.append((span.start, span.end, label))
                continue
            around: Any = doc.char_span(start, end, alignment_mode="expand")
            changes[around.start] += 1
            changes[around.end] -= 1
            if len(hints) < MAX_HINTS:
                place = f"from {around.start_char} to {around.end_char}"
                quoted = f'{label} "{shorten(doc.text[start:end])}" ends inside a token'
                hints.append(f'{quoted}. Mark "{shorten(around.text)}", {place}')
        notes[UNALIGNED] += 1
    return entities, [count > 0 for count in accumulate(changes)]


def drop_overlapping(entities: list[Entity], notes: Counter[str]) -> list[Entity]:
    """Keep the longest of entities that overlap, then the first.

    entities (List[Entity]): The entities.
    notes (Counter[str]): Where those that are dropped are counted.
    RETURNS (List[Entity]): Entities that don't overlap, in the order of the text.
    """
    kept: list[Entity] = []
    for start, end, label in sorted(entities, key=lambda e: (e[0] - e[1], e[0])):
        place = bisect_left(kept, (start,))
        is_free = place == 0 or kept[place - 1][1] <= start
        if is_free and (place == len(kept) or end <= kept[place][0]):
            kept.insert(place, (start, end, label))
        else:
            notes[OVERLAPPING] += 1
    return kept


def shorten(text: str, length: int = 60) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def make_doc(vocab: Vocab, sentences: list[Sentence], meta: Meta | None = None) -> Doc:
    """One doc of one or several sentences.

    vocab (Vocab): The vocabulary of the doc.
    sentences (List[Sentence]): The sentences.
    meta (Optional[Meta]): What else is known, for `doc.user_data`.
    RETURNS (Doc): The doc. Its spaces are unknown if those of a sentence are.
    """
    words, entities, spaces, unknown = _join(sentences)
    starts: list[bool | int | None]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence.words))]
    doc = Doc(vocab, words=words, spaces=spaces, sent_starts=starts)
    spans = [Span(doc, start, end, label=label) for start, end, label in entities]
    doc.set_ents(spans, missing=[doc[i : i + 1] for i in unknown])
    if meta:
        doc.user_data[META_KEY] = dict(meta)
    return doc


def copy_tokens(vocab: Vocab, doc: Doc) -> Doc:
    """The same tokens without annotation."""
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(vocab, words=[token.text for token in doc], spaces=spaces)


def _join(sentences: list[Sentence]) -> Sentence:
    """Several sentences as if they were one."""
    if len(sentences) == 1:
        return sentences[0]
    words: list[str] = []
    entities: list[Entity] = []
    spaces: list[bool] = []
    unknown: list[int] = []
    for sentence in sentences:
        offset = len(words)
        words += sentence.words
        entities += [(s + offset, e + offset, t) for s, e, t in sentence.entities]
        spaces += sentence.spaces or []
        unknown += [i + offset for i in sentence.unknown]
    return Sentence(
        words, entities, spaces if len(spaces) == len(words) else None, unknown
    )
