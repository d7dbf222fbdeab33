"""Convert published files to spaCy's binary format."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab
from tqdm import tqdm

from ..errors import CorpusError
from ..writing import check_places, check_replaceable
from .docbins import SHARD_SIZE, is_sharded, open_shards, read_docs
from .docs import OVERLAPPING, UNALIGNED, get_sentences, make_doc, make_tokenizer
from .documents import Reading, Sentence
from .files import list_files
from .label_mapping import LabelMapping
from .readers import FORMATS, detect_format
from .readers.conll2012 import GOLD_CONLL


@dataclass
class Statistics:
    """Counts of what was converted."""

    max_width: int = 10  # tokens of an entity that isn't too long
    files: int = 0
    docs: int = 0
    sentences: int = 0
    tokens: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    too_long: int = 0
    duplicates: int = 0
    skipped: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    hints: list[str] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set, repr=False)

    def add(self, sentences: Iterable[Sentence]) -> None:
        """Count a doc."""
        self.docs += 1
        words: list[str] = []
        for sentence in sentences:
            self.sentences += 1
            words += sentence.words
            for start, end, label in sentence.entities:
                self.entities[label] += 1
                self.too_long += end - start > self.max_width
        self.tokens += len(words)
        key = hash(tuple(words))
        self.duplicates += key in self._seen
        self._seen.add(key)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, for JSON."""
        total = sum(self.entities.values())
        return {
            "files": self.files,
            "docs": self.docs,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "entities": total,
            "entities_per_type": dict(self.entities.most_common()),
            "max_width": self.max_width,
            "too_long": self.too_long,
            "too_long_percent": round(100 * self.too_long / total, 3) if total else 0.0,
            "unaligned": self.notes[UNALIGNED],
            "overlapping": self.notes[OVERLAPPING],
            "duplicate_docs": self.duplicates,
            "dropped_per_type": dict(self.dropped.most_common()),
            "errors_skipped": self.skipped,
            "notes": {note: count for note, count in self.notes.items() if count},
        }


class Conversion(NamedTuple):
    """Files to convert, and the corpora to write."""

    inputs: list[Path]
    output: Path
    hold_out: Path | None


def plan_conversions(
    inputs: list[Path], output: Path, hold_out: Path | None = None
) -> list[Conversion]:
    """List the conversions to do: one, or one of each file if the output is a folder of
    corpora, whose name has no suffix.
    """
    if output.suffix:
        return [Conversion(inputs, output, hold_out)]
    if hold_out is not None and hold_out.suffix:
        raise CorpusError(
            hold_out,
            f"'{output}' is a folder of corpora, so held-out docs go to a folder, too. "
            "Give one without a suffix",
        )
    plans: dict[Path, Conversion] = {}
    for file in list_files(inputs):
        name = f"{file.stem}.spacy"
        one = Conversion([file], output / name, hold_out and hold_out / name)
        if one.output in plans:
            raise CorpusError(
                one.output,
                f"'{plans[one.output].inputs[0]}' and '{file}' would both be written "
                "to it. Convert them one by one",
            )
        plans[one.output] = one
    return [*plans.values()]


def convert(
    inputs: Iterable[Path],
    output: Path,
    *,
    format: str | None = None,
    columns: tuple[int, int] = (0, -1),
    separator: str | None = None,
    comment: str | None = None,
    repair_tags: bool = False,
    mapping: LabelMapping | None = None,
    keep_docs: bool = False,
    lang: str = "en",
    max_width: int = 10,
    on_error: Callable[[CorpusError], None] | None = None,
    hold_out: Path | None = None,
    hold_out_share: float = 0.1,
    shard_size: int = SHARD_SIZE,
    show_progress: bool = False,
) -> Statistics:
    """Convert files and folders to one corpus. It is written when all files were read.
    See `Reading` for how columns are read.

    output (Path): The corpus. If it has more docs than fit into a shard, it is a
        folder of shards, which spaCy reads like a file.
    format (Optional[str]): A key of `FORMATS`. Detected for each file by default.
    keep_docs (bool): Whether to make a doc of each document, not of each sentence.
    lang (str): The language, to tokenize running text.
    max_width (int): Entities with more tokens are counted in the statistics.
    on_error (Optional[Callable[[CorpusError], None]]): Called for data that can't be
        read, which is left out. By default the error is raised.
    hold_out (Optional[Path]): A second corpus, for a share of the docs, evenly
        distributed over the first.
    shard_size (int): Docs in a file, which is as many as are held in memory.
    """
    mapping = mapping or LabelMapping()
    statistics = Statistics(max_width)
    mapping.dropped = statistics.dropped  # of this conversion alone
    outputs = [output] if hold_out is None else [output, hold_out]
    files = _list_inputs(inputs, format, outputs)
    for path in outputs:
        if path.suffix != ".spacy":
            raise CorpusError(path, "the name of a corpus ends in .spacy")
        check_replaceable(path, is_sharded)
    check_places(outputs, files)

    def skip(error: CorpusError) -> None:
        if on_error is None:
            raise error
        statistics.skipped += 1
        on_error(error)

    bar = tqdm(
        total=sum(file.stat().st_size for file in files),
        unit="B",
        unit_scale=True,
        desc="Converting",
        disable=None if show_progress else True,
    )
    with bar, ExitStack() as stack:
        reading = Reading(
            on_error=skip,
            progress=bar.update,
            columns=columns,
            separator=separator,
            comment=comment,
            repair_tags=repair_tags,
            notes=statistics.notes,
        )
        docs = _make_docs(
            files,
            reading,
            Vocab(),
            mapping,
            statistics,
            format=format,
            keep_docs=keep_docs,
            lang=lang,
        )
        writers = [stack.enter_context(open_shards(p, shard_size)) for p in outputs]
        held_out = 0
        for i, doc in enumerate(docs, 1):
            is_held_out = hold_out is not None and held_out + 1 <= i * hold_out_share
            held_out += is_held_out
            writers[-1 if is_held_out else 0].add(doc)
        # Both are on the disk before one replaces an earlier corpus.
        for path, writer in zip(outputs, writers, strict=True):
            if not writer.finish():
                raise CorpusError(path, "there are no sentences to write to it")
    return statistics


def read_corpus(path: Path, vocab: Vocab, *, lang: str = "en") -> Iterator[Doc]:
    """Read a corpus in any format: the docs of `.spacy` files, of others their
    sentences.
    """
    mapping = LabelMapping()
    for file in _list_inputs([path], None, []):
        if file.stat().st_size and detect_format(file) == "spacy":
            yield from read_docs(file, vocab)
        else:
            yield from _make_docs(
                [file], Reading(), vocab, mapping, Statistics(), lang=lang
            )


def _list_inputs(
    inputs: Iterable[Path], format: str | None, outputs: list[Path]
) -> list[Path]:
    """List the files to read: only the gold annotation of OntoNotes' folders, and not
    the output of an earlier conversion.
    """
    files: list[Path] = []
    written = {path.resolve() for path in outputs}
    for path in inputs:
        is_ontonotes = (
            path.is_dir()
            and format in (None, "conll2012")
            and next(path.rglob(GOLD_CONLL), None) is not None
        )
        found = list_files([path], GOLD_CONLL if is_ontonotes else "*")
        if path.is_dir():
            found = [
                f
                for f in found
                if written.isdisjoint([f.resolve(), *f.resolve().parents])
            ]
        files += found
    return files


def _make_docs(
    files: list[Path],
    reading: Reading,
    vocab: Vocab,
    mapping: LabelMapping,
    statistics: Statistics,
    *,
    lang: str,
    format: str | None = None,
    keep_docs: bool = False,
) -> Iterator[Doc]:
    nlp = make_tokenizer(lang)
    for file in files:
        statistics.files += 1
        try:
            if not file.stat().st_size:
                raise CorpusError(file, "the file is empty")
            read = FORMATS[format or detect_format(file, reading.separator)].read
            for document in read(file, reading):
                try:
                    sentences = get_sentences(
                        document, nlp, mapping, statistics.notes, statistics.hints
                    )
                    groups = [sentences] if keep_docs else [[s] for s in sentences]
                    made = [make_doc(vocab, group, document.meta) for group in groups]
                except ValueError as err:
                    # Such as a text with half of a surrogate pair
                    reading.on_error(CorpusError(file, str(err), document.line))
                    continue
                for group, doc in zip(groups, made, strict=True):
                    statistics.add(group)
                    yield doc
        except CorpusError as err:
            reading.on_error(err)
