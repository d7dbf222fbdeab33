"""The labels and offsets of marks: what can be one, and which corpus a type is from.

A recognizer that is trained on several corpora knows types by the name of the corpus,
too: "recipes:FOOD". Also docs without their labels.
"""

from functools import lru_cache
from numbers import Integral
from typing import TypeGuard
from unicodedata import category

from spacy.tokens import Doc
from spacy.vocab import Vocab

CORPUS_KEY = "epnet_corpus"  # of `doc.user_data`
SEPARATOR = ":"  # between a corpus and its types
# Categories of Unicode: spaces and marks of format, fine only beside other characters.
INVISIBLE = {"Cf", "Zs"}
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # controls, half of a surrogate pair, line ends


def is_label(value: object) -> TypeGuard[str]:
    """Check whether a value can be the name of a type: text that can be seen."""
    return isinstance(value, str) and _is_visible(value)


@lru_cache(maxsize=1 << 16)
def _is_visible(text: str) -> bool:
    kinds = {category(char) for char in text}
    return bool(kinds - INVISIBLE) and not kinds & UNPRINTABLE


def is_offset(value: object) -> TypeGuard[int]:
    """Check whether a value can be an offset: a whole number."""
    return isinstance(value, (int, Integral)) and not isinstance(value, bool)


def set_corpus(doc: Doc, corpus: str) -> None:
    """Set the corpus of a doc. Its entities are then of that corpus's types."""
    doc.user_data[CORPUS_KEY] = corpus


def get_corpus(doc: Doc) -> str | None:
    """Return the corpus of a doc, if it is known."""
    return doc.user_data.get(CORPUS_KEY)


def split_type(name: str) -> tuple[str, str]:
    """Split a type into its corpus and its name there."""
    corpus, _, label = name.partition(SEPARATOR)
    return corpus, label


def copy_tokens(vocab: Vocab, doc: Doc) -> Doc:
    """Copy the tokens of a doc without its labels."""
    spaces = [bool(token.whitespace_) for token in doc]
    return Doc(vocab, words=[token.text for token in doc], spaces=spaces)
