"""Read a corpus in any format for `spacy train`.

[corpora.train]
@readers = "spacy-epnet.Corpus.v1"
path = ${paths.train}
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.training import Corpus, Example

from ..errors import SettingError
from .conversion import read_corpus


def make_training_corpus(
    path: Path | None,
    limit: int = 0,
    augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Make a reader of a corpus.

    path (Optional[Path]): A file, or a folder of files, in any format that
        `spacy epnet convert` reads.
    limit (int): The most docs. 0 for all.
    augmenter (Optional[Callable]): Changes examples, as in `spacy.Corpus.v1`.
    """
    if path is None:
        raise SettingError(
            "There is no corpus to train on. Give the training set with --paths.train "
            "and the dev set with --paths.dev: files or folders in any format that "
            "`spacy epnet convert` reads."
        )
    corpus = Corpus(path, augmenter=augmenter)

    def read_examples(nlp: Language) -> Iterator[Example]:
        # A path from a config is a string.
        docs = read_corpus(Path(path), nlp.vocab, lang=nlp.lang or "xx")
        for eg in corpus.make_examples(nlp, islice(docs, limit or None)):
            yield from corpus.augmenter(nlp, eg)

    return read_examples
