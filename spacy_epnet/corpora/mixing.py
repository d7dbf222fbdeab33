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
from .docbins import list_docbins, read_docs

Augmenter: TypeAlias = Callable[[Language, Example], Iterable[Example]]
Blocks: TypeAlias = dict[str, dict[str, Any]]  # of a config, by the name of the corpus

CORPUS_KEY = "epnet_corpus"  # of `doc.user_data`
SEPARATOR = ":"  # between a corpus and its types


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


def set_corpus(doc: Doc, corpus: str) -> None:
    """Set the corpus of a doc. Its entities are then of that corpus's types."""
    doc.user_data[CORPUS_KEY] = corpus


def get_corpus(doc: Doc) -> str | None:
    """RETURNS (Optional[str]): The corpus of a doc, if it is known."""
    return doc.user_data.get(CORPUS_KEY)


def name_type(corpus: str, label: str) -> str:
    """Prefix a type with its corpus."""
    return f"{corpus}{SEPARATOR}{label}"


def split_type(name: str) -> tuple[str, str]:
    """Split a type into its corpus and its name there."""
    corpus, _, label = name.partition(SEPARATOR)
    return corpus, label


def make_mixed_corpus(
    parts: Blocks,
    endless: bool = False,
    limit: int = 0,
    seed: int = 0,
    augmenter: Augmenter | None = None,
    without: Sequence[str] = (),
) -> Callable[[Language], Iterator[Example]]:
    """Make a reader of several corpora.

    parts (Blocks): The corpora by name, see `Part`.
    endless (bool): Whether to draw docs at random, by their weight, without an end, for
        `training.max_epochs = -1`. By default each doc is read once, in order.
    limit (int): The most docs of each corpus. 0 for all.
    seed (int): The seed of the random numbers.
    augmenter (Optional[Augmenter]): Changes examples, as in `spacy.Corpus.v1`.
    without (Sequence[str]): Names of corpora to leave out.
    """
    return MixedCorpus(
        read_parts(parts, without),
        endless=endless,
        limit=limit,
        seed=seed,
        augmenter=augmenter,
    )


def make_mixed_labels(
    parts: Blocks, without: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Read the types of several corpora.

    parts (Blocks): The corpora by name, see `Part`.
    without (Sequence[str]): Names of corpora to leave out. Here they must exist, while
        a dev set need not have all of them.
    RETURNS (Dict[str, List[str]]): The types of each corpus.
    """
    unknown = sorted(set(without) - set(parts))
    if unknown:
        reason = f"there is no {', '.join(unknown)} among {', '.join(parts)}"
        raise _make_error("without", reason)
    return MixedCorpus(read_parts(parts, without)).list_types()


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
    """Check the settings of each corpus.

    parts (Blocks): The corpora by name.
    without (Sequence[str]): Names of corpora to leave out.
    RETURNS (Dict[str, Part]): The others, checked.
    """
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


class MixedCorpus:
    """Read several corpora. See `make_mixed_corpus` for the arguments."""

    def __init__(
        self,
        parts: dict[str, Part],
        *,
        endless: bool = False,
        limit: int = 0,
        seed: int = 0,
        augmenter: Augmenter | None = None,
    ):
        self.parts, self.endless, self.limit = parts, endless, limit
        self.seed, self.augmenter = seed, augmenter

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Make examples.

        nlp (Language): The pipeline to train.
        YIELDS (Example): The examples. Both docs of each have the name of its corpus.
        """
        docs = {name: self.read(name, nlp.vocab) for name in self.parts}
        rng = random.Random(self.seed)
        drawn = (
            draw(docs, self.get_weights(docs), rng)
            if self.endless
            else ((name, doc) for name, own in docs.items() for doc in own)
        )
        for name, reference in drawn:
            for eg in Corpus("").make_examples(nlp, [reference]):
                for changed in self.augmenter(nlp, eg) if self.augmenter else [eg]:
                    set_corpus(changed.predicted, name)
                    set_corpus(changed.reference, name)
                    yield changed

    def get_weights(self, docs: dict[str, list[Doc]]) -> dict[str, float]:
        """RETURNS (Dict[str, float]): How often to draw from each corpus."""
        return {name: self.parts[name].weight * len(own) for name, own in docs.items()}

    def read(self, name: str, vocab: Vocab) -> list[Doc]:
        """Read a corpus.

        name (str): Its name.
        vocab (Vocab): The vocabulary of the docs.
        RETURNS (List[Doc]): Its docs. Their types have its name as a prefix.
        """
        part = self.parts[name]
        found = (
            doc
            for file in list_docbins(part.path)
            for doc in read_docs(file, vocab)
            if len(doc)
        )
        docs = list(islice(found, self.limit or None))
        if not docs:
            raise CorpusError(part.path, "the corpus is empty")
        for doc in docs:
            # Tokens that nobody has annotated stay so.
            doc.set_ents(
                [
                    Span(
                        doc,
                        ent.start,
                        ent.end,
                        label=name_type(part.types_of or name, ent.label_),
                    )
                    for ent in doc.ents
                ],
                default="unmodified",
            )
        return docs

    def list_types(self) -> dict[str, list[str]]:
        """RETURNS (Dict[str, List[str]]): The types of each corpus."""
        return {
            name: sorted(
                {ent.label_ for doc in self.read(name, Vocab()) for ent in doc.ents}
            )
            for name in self.parts
        }


def draw(
    docs: dict[str, list[Doc]], weights: dict[str, float], rng: random.Random
) -> Iterator[tuple[str, Doc]]:
    """Draw docs from several corpora, without an end. All docs of a corpus are drawn
    once before one is drawn again.

    docs (Dict[str, List[Doc]]): The docs of each.
    weights (Dict[str, float]): How often to draw from each.
    rng (random.Random): The random numbers.
    YIELDS (Tuple[str, Doc]): A corpus and one of its docs.
    """
    streams = {name: shuffle_again(own, rng) for name, own in docs.items()}
    while True:
        for name in rng.choices(list(weights), list(weights.values()), k=1024):
            yield name, next(streams[name])


def shuffle_again(docs: list[Doc], rng: random.Random) -> Iterator[Doc]:
    """Shuffle docs again and again, without an end."""
    while True:
        yield from rng.sample(docs, len(docs))
