"""Mix several corpora, each with types of its own.

Entities of one corpus may be unmarked in another. So every doc has the name of its
corpus, and every type has it as a prefix:

    [corpora.train]
    @readers = "spacy-epnet.MixedCorpus.v1"

    [corpora.train.parts.recipes]
    path = "corpus/recipes.spacy"

    ("2 cups of flour", [(10, 15, "recipes:FOOD")])
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.vocab import Vocab

from ..errors import CorpusError, SettingError
from .docbins import PATTERN, read_docs
from .files import list_files
from .labels import SEPARATOR, set_corpus

Augmenter: TypeAlias = Callable[[Language, Example], Iterable[Example]]
Blocks: TypeAlias = dict[str, dict[str, Any]]  # of a config, by the name of the corpus


class Part(BaseModel):
    """A corpus that is mixed with others.

    path (Path): The corpus, in spaCy's binary format.
    weight (float): How often one of its docs is drawn, relative to one of the others.
    types_of (Optional[str]): The corpus that has the same types, or more.
    title, author, license, url (Optional[str]): Its origin, for the meta data of
        pipelines that are trained on it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    path: Path
    weight: float = Field(1.0, ge=0)
    types_of: str | None = None
    title: str | None = None
    author: str | None = None
    license: str | None = None
    url: str | None = None


def make_mixed_corpus(
    parts: Blocks,
    endless: bool = False,
    limit: int = 0,
    seed: int = 0,
    augmenter: Augmenter | None = None,
    without: Sequence[str] = (),
) -> Callable[[Language], Iterator[Example]]:
    """Make a reader of several corpora. Both docs of each example have the name of
    their corpus.

    parts (Blocks): The corpora by name, see `Part`.
    endless (bool): Whether to draw docs at random, by their weight, without an end, for
        `training.max_epochs = -1`. By default each doc is read once, in order.
    limit (int): The most docs of each corpus. 0 for all.
    seed (int): The seed of the random numbers.
    augmenter (Optional[Augmenter]): Changes examples, as in `spacy.Corpus.v1`.
    without (Sequence[str]): Names of corpora to leave out.
    """
    checked = read_parts(parts, without)

    def read_examples(nlp: Language) -> Iterator[Example]:
        docs = {
            name: _read_docs(name, part, nlp.vocab, limit)
            for name, part in checked.items()
        }
        if endless:
            weights = [checked[name].weight * len(own) for name, own in docs.items()]
            drawn = _draw(docs, weights, random.Random(seed))
        else:
            drawn = ((name, doc) for name, own in docs.items() for doc in own)
        for name, reference in drawn:
            for eg in Corpus("").make_examples(nlp, [reference]):
                for changed in augmenter(nlp, eg) if augmenter else [eg]:
                    set_corpus(changed.predicted, name)
                    set_corpus(changed.reference, name)
                    yield changed

    return read_examples


def make_mixed_labels(
    parts: Blocks, without: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Read the types of several corpora.

    parts (Blocks): The corpora by name, see `Part`.
    without (Sequence[str]): Names of corpora to leave out. Here they must exist, while
        a dev set need not have all of them.
    """
    unknown = sorted(set(without) - set(parts))
    if unknown:
        reason = f"there is no {', '.join(unknown)} among {', '.join(parts)}"
        raise _make_error("without", reason)
    return {
        name: sorted(
            {ent.label_ for doc in _read_docs(name, part, Vocab()) for ent in doc.ents}
        )
        for name, part in read_parts(parts, without).items()
    }


def make_note_sources(
    parts: Blocks, without: Sequence[str] = ()
) -> Callable[[Language], Language]:
    """Make a callback for `training.before_to_disk` that adds the training corpora to
    the meta data of a pipeline, as "sources", which is spaCy's word.

    parts (Blocks): The corpora by name, see `Part`.
    without (Sequence[str]): Names of corpora to leave out.
    """
    sources = [
        {
            "corpus": name,
            "name": part.title or name,
            "author": part.author or "",
            "license": part.license or "",
            "url": part.url or "",
        }
        for name, part in read_parts(parts, without).items()
    ]

    def note_sources(nlp: Language) -> Language:
        nlp.meta["sources"] = sources
        return nlp

    return note_sources


def read_parts(parts: Blocks, without: Sequence[str] = ()) -> dict[str, Part]:
    """Check the settings of each corpus that isn't left out."""
    parts = {name: block for name, block in parts.items() if name not in without}
    if not parts:
        raise _make_error("parts", "there is no corpus")
    checked = {}
    for name, block in parts.items():
        if SEPARATOR in name or not name.strip():
            reason = f"the name of a corpus can't have a {SEPARATOR!r} or be empty"
            raise _make_error(name, reason)
        try:
            checked[name] = Part(**block)
        except ValidationError as err:
            reason = ", ".join(f"{e['loc'][0]}: {e['msg']}" for e in err.errors())
            raise _make_error(name, reason) from None
    return checked


def _make_error(setting: str, reason: str) -> SettingError:
    return SettingError(
        f"Can't mix corpora, because of '{setting}': {reason}. Each corpus has a block "
        "such as [corpora.train.parts.recipes] with its path, and if wanted its weight "
        "and types_of."
    )


def _read_docs(name: str, part: Part, vocab: Vocab, limit: int = 0) -> list[Doc]:
    """Read a corpus, and prefix its types with its name."""
    found = (
        doc
        for file in list_files([part.path], PATTERN)
        for doc in read_docs(file, vocab)
        if len(doc)
    )
    docs = list(islice(found, limit or None))
    if not docs:
        raise CorpusError(part.path, "the corpus is empty")
    prefix = f"{part.types_of or name}{SEPARATOR}"
    for doc in docs:
        spans = [Span(doc, e.start, e.end, label=prefix + e.label_) for e in doc.ents]
        # Tokens that nobody has annotated stay so.
        doc.set_ents(spans, default="unmodified")
    return docs


def _draw(
    docs: dict[str, list[Doc]], weights: list[float], rng: random.Random
) -> Iterator[tuple[str, Doc]]:
    """Draw docs by weight, without an end: all of a corpus before one comes again."""
    streams = {name: _shuffle_again(own, rng) for name, own in docs.items()}
    while True:
        for name in rng.choices(list(docs), weights, k=1024):
            yield name, next(streams[name])


def _shuffle_again(docs: list[Doc], rng: random.Random) -> Iterator[Doc]:
    while True:
        yield from rng.sample(docs, len(docs))
