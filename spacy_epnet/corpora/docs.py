"""Documents as spaCy's docs."""

import sys
from collections import Counter
from itertools import pairwise

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from .reading import META_KEY, Document, Meta, Sentence, TokenDocument
from .surgery import TypeSurgery
from .tags import Entity

UNALIGNED = "entities that couldn't be aligned to tokens"
OVERLAPPING = "entities overlapping a longer one, of which the longer was taken"


def make_tokenizer(lang: str) -> Language:
    """A pipeline that parts text of any length into sentences and tokens."""
    nlp = spacy.blank(lang)
    nlp.max_length = sys.maxsize
    nlp.add_pipe("sentencizer")
    return nlp


def get_sentences(
    document: Document, nlp: Language, surgery: TypeSurgery, notes: Counter[str]
) -> list[Sentence]:
    """The sentences of a document, with the entities that are wanted.

    document (Document): The document. If it is running text, its sentences are found
        out.
    nlp (Language): Parts text into sentences and tokens.
    surgery (TypeSurgery): Which types are kept, and under which names.
    notes (Counter[str]): Where entities that are lost are counted.
    RETURNS (List[Sentence]): Its sentences.
    """
    if isinstance(document, TokenDocument):
        return [
            sentence._replace(
                entities=drop_overlapping(surgery.apply(sentence.entities), notes)
            )
            for sentence in document.sentences
        ]
    doc = nlp.make_doc(document.text)
    aligned, unknown = _align(doc, surgery.apply(document.spans), notes)
    entities = drop_overlapping(aligned, notes)
    taken = {i for start, end, _ in entities for i in range(start, end)}
    _find_sentences(doc, nlp, entities)
    sentences = []
    for sent in doc.sents:
        if any(not token.is_space for token in sent):
            inside = range(sent.start, sent.end)
            sentences.append(
                Sentence(
                    [token.text for token in sent],
                    [
                        (start - sent.start, end - sent.start, label)
                        for start, end, label in entities
                        if start in inside
                    ],
                    [bool(token.whitespace_) for token in sent],
                    [i - sent.start for i in inside if i in unknown - taken],
                )
            )
    return sentences


def _find_sentences(doc: Doc, nlp: Language, entities: list[Entity]) -> None:
    """Mark where sentences begin: after full stops and empty lines, but never inside
    an entity.
    """
    nlp.get_pipe("sentencizer")(doc)
    for previous, token in pairwise(doc):
        if previous.is_space and previous.text.count("\n") > 1:
            token.is_sent_start = True
    for start, end, _ in entities:
        for token in doc[start + 1 : end]:
            token.is_sent_start = False


def _align(
    doc: Doc, spans: list[Entity], notes: Counter[str]
) -> tuple[list[Entity], set[int]]:
    """Entities on the tokens of a doc, and tokens on which one couldn't be put."""
    entities: list[Entity] = []
    unknown: set[int] = set()
    for start, end, label in spans:
        quote = doc.text[start:end] if 0 <= start < end <= len(doc.text) else ""
        start += len(quote) - len(quote.lstrip())
        end = start + len(quote.strip())
        span = doc.char_span(start, end) if quote.strip() else None
        if span is not None:
            entities.append((span.start, span.end, label))
            continue
        notes[UNALIGNED] += 1
        if quote.strip():
            around = doc.char_span(start, end, alignment_mode="expand")
            unknown.update(range(around.start, around.end) if around else ())
    return entities, unknown


def drop_overlapping(entities: list[Entity], notes: Counter[str]) -> list[Entity]:
    """Keep the longest of entities that overlap, then the first.

    entities (List[Entity]): The entities.
    notes (Counter[str]): Where those that are dropped are counted.
    RETURNS (List[Entity]): Entities that don't overlap, in the order of the text.
    """
    kept: list[Entity] = []
    taken: set[int] = set()
    for start, end, label in sorted(entities, key=lambda e: (e[0] - e[1], e[0])):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kept.append((start, end, label))
        else:
            notes[OVERLAPPING] += 1
    return sorted(kept)


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
