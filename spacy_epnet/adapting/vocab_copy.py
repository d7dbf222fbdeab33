"""Reading examples without leaving their words in a pipeline.

Every text that a pipeline reads adds its words to the vocabulary, and these are saved
with it.
"""

from copy import copy
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.vocab import Vocab


def make_separate_vocab(nlp: Language) -> Language:
    """Make a pipeline that reads texts as another does, and forgets them by itself.

    nlp (Language): The pipeline.
    RETURNS (Language): One of the same components, with a vocabulary of its own.
    """
    copied = copy(nlp)
    copied.vocab = get_copy(nlp)
    copied.tokenizer = LateTokenizer(nlp.tokenizer, copied.vocab)
    return copied


class LateTokenizer:
    """A copy of a tokenizer for another vocabulary, made when the first text comes:
    that takes as long as several steps of an adaptation, and many examples have tokens.
    """

    def __init__(self, original: Any, vocab: Vocab) -> None:
        self.original, self.vocab = original, vocab

    @cached_property
    def tokenizer(self) -> Any:
        return copy_tokenizer(self.original, self.vocab)

    def __call__(self, text: str) -> Doc:
        return self.tokenizer(text)


class Copy(NamedTuple):
    """A copy of a vocabulary, and what it is a copy of."""

    copied: Vocab
    original: Vocab
    size: int  # strings of the original


# A source has many words, and is often adapted many times.
COPIES: WeakKeyDictionary[Language, Copy] = WeakKeyDictionary()


def get_copy(nlp: Language) -> Vocab:
    """Copy the vocabulary of a pipeline, or take the copy of last time. The words of
    other support sets are in that, too, but nobody saves it.
    """
    size = len(nlp.vocab.strings)
    known = COPIES.get(nlp)
    if known is None or (known.original, known.size) != (nlp.vocab, size):
        known = COPIES[nlp] = Copy(copy_vocab(nlp.vocab), nlp.vocab, size)
    return known.copied


def copy_vocab(vocab: Any) -> Vocab:
    """Copy a vocabulary, but for its tables, which both have in common."""
    copied = Vocab(
        lex_attr_getters=vocab.lex_attr_getters,
        lookups=vocab.lookups,
        oov_prob=vocab.cfg["oov_prob"],
        writing_system=vocab.writing_system,
        get_noun_chunks=vocab.get_noun_chunks,
    )
    for string in [*vocab.strings]:
        copied.strings.add(string)
    if len(vocab.vectors):
        vectors = vocab.vectors
        copied.vectors = vectors
        # Who takes vectors over lets them add to its strings.
        vectors.strings = vocab.strings
    return copied


def copy_tokenizer(tokenizer: Any, vocab: Vocab) -> Any:
    """Copy a tokenizer for another vocabulary. One that isn't of spaCy's usual kind
    must have it as an attribute.
    """
    if not isinstance(tokenizer, Tokenizer):
        copied = copy(tokenizer)
        copied.vocab = vocab
        return copied
    return type(tokenizer)(
        vocab,
        rules=tokenizer.rules,
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        token_match=tokenizer.token_match,
        url_match=tokenizer.url_match,
        faster_heuristics=tokenizer.faster_heuristics,
    )
