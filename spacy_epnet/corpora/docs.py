"""Documents as spaCy's docs."""

from collections import Counter
from itertools import pairwise

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans
from spacy.vocab import Vocab

from .documents import Document, Meta, Sentence, TextDocument, TokenDocument
from .tags import Entity

UNALIGNED = "entities that couldn't be aligned to tokens"
OVERLAPPING = "entities overlapping a longer one, of which the longer was taken"
META_KEY = "epnet_source"


def make_tokenizer(lang: str) -> Language:
    """A pipeline that parts text into sentences and tokens."""
    nlp = spacy.blank(lang)
    nlp.add_pipe("sentencizer")
    return nlp


def get_sentences(
    document: Document, nlp: Language, notes: Counter[str]
) -> list[Sentence]:
    """The sentences of a document, which are found out if it is running text.

    document (Document): The document.
    nlp (Language): Parts text into sentences and tokens.
    notes (Counter[str]): Where entities that are lost are counted.
    RETURNS (List[Sentence]): Its sentences.
    """
    if isinstance(document, TokenDocument):
        return document.sentences
    doc = nlp.make_doc(document.text)
    ents, unknown = _align(doc, document, notes)
    nlp.get_pipe("sentencizer")(doc)
    for previous, token in pairwise(doc):
        if previous.is_space and previous.text.count("\n") > 1:
            token.is_sent_start = True
    for ent in ents:
        for token in ent[1:]:
            token.is_sent_start = False
    sentences = []
    for sent in doc.sents:
        if any(not token.is_space for token in sent):
            inside = [ent for ent in ents if sent.start <= ent.start < sent.end]
            sentences.append(
                Sentence(
                    [token.text for token in sent],
                    [
                        (e.start - sent.start, e.end - sent.start, e.label_)
                        for e in inside
                    ],
                    [bool(token.whitespace_) for token in sent],
                    [i - sent.start for i in unknown if sent.start <= i < sent.end],
                )
            )
    return sentences


def _align(
    doc: Doc, document: TextDocument, notes: Counter[str]
) -> tuple[list[Span], list[int]]:
    """Entities on the tokens of a doc, and tokens on which one couldn't be put."""
    spans: list[Span] = []
    unknown: set[int] = set()
    for start, end, label in document.spans:
        span = around = None
        if 0 <= start < end <= len(document.text):
            quote = document.text[start:end]
            start += len(quote) - len(quote.lstrip())
            end -= len(quote) - len(quote.rstrip())
            span = doc.char_span(start, end, label=label)
            around = doc.char_span(start, end, alignment_mode="expand")
        if span is not None:
            spans.append(span)
        else:
            notes[UNALIGNED] += 1
        if span is None and around is not None:
            unknown.update(range(around.start, around.end))
    kept = filter_spans(spans)
    if len(kept) < len(spans):
        notes[OVERLAPPING] += len(spans) - len(kept)
    taken = {i for span in kept for i in range(span.start, span.end)}
    return kept, sorted(unknown - taken)


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
