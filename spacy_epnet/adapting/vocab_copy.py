"""Reading examples without leaving their words in a pipeline.

Every text that a pipeline reads adds its words to the vocabulary, and these are saved
with it.
"""

from copy import copy
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.vocab import Vocab

# Words of support sets after which the copy of a vocabulary is made anew.
MAX_NEW_STRINGS = 10_000


def make_separate_vocab(nlp: Language) -> Language:
    """Make a pipeline that reads texts as another does, and forgets them by itself.

    RETURNS (Language): One of the same components, with a vocabulary of its own.
    """
    tokenizer = COPIES.get(nlp)
    if tokenizer is None or not tokenizer.fits(nlp):
        tokenizer = COPIES[nlp] = SeparateTokenizer(nlp)
    copied = copy(nlp)
    copied.vocab, copied.tokenizer = tokenizer.vocab, tokenizer
    return copied


class SeparateTokenizer:
    """A copy of a pipeline's tokenizer, over a copy of its vocabulary. It is kept for
    the next support set, whose words join the others: nobody saves them.
    """

    def __init__(self, nlp: Language) -> None:
        self.original, self.original_vocab = nlp.tokenizer, nlp.vocab
        self.vocab, self.size = copy_vocab(nlp.vocab), len(nlp.vocab.strings)

    def fits(self, nlp: Language) -> bool:
        """Check whether it is still a copy, and hasn't grown too large."""
        same = (self.original, self.original_vocab) == (nlp.tokenizer, nlp.vocab)
        grown = len(self.vocab.strings) - self.size
        return same and self.size == len(nlp.vocab.strings) and grown < MAX_NEW_STRINGS

    @cached_property
    def tokenizer(self) -> Any:
        """RETURNS (Tokenizer): The copy, made when the first text comes: that takes as
        long as several steps of an adaptation, and many examples have tokens.
        """
        return copy_tokenizer(self.original, self.vocab)

    def __call__(self, text: str) -> Doc:
        doc: Doc = self.tokenizer(text)
        return doc


# A source has many words, and is often adapted many times.
COPIES: WeakKeyDictionary[Language, SeparateTokenizer] = WeakKeyDictionary()


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
