"""From published files to spaCy's binary format."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from tqdm import tqdm

from ..errors import CorpusError
from ..writing import check_places, check_replaceable, write_whole
from .docbins import read_docs
from .docs import get_sentences, make_doc, make_tokenizer
from .files import is_sharded, list_files, open_binary
from .formats import FORMATS, GOLD_CONLL, detect_format
from .label_mapping import LabelMapping
from .reading import Reading, Sentence
from .statistics import Statistics

# What the docs of a corpus can have. Fewer columns are written faster.
ATTRS = ["ENT_IOB", "ENT_TYPE", "SENT_START"]
SHARD_SIZE = 20_000


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
    """Convert files to one corpus, which appears when it is complete.

    inputs (Iterable[Path]): Files, and folders of files.
    output (Path): The corpus. If it has more docs than fit into a shard, it is a
        folder of shards, which spaCy reads like a file.
    format (Optional[str]): A key of `FORMATS`. Found out for each file by default.
    columns (Tuple[int, int]): Where the word and the tag are in a row.
    separator (Optional[str]): What stands between columns. Found out by default.
    comment (Optional[str]): What rows that are no tokens begin with.
    repair_tags (bool): Whether an I- that continues nothing begins an entity.
    mapping (Optional[LabelMapping]): Which types are kept, and under which names.
    keep_docs (bool): Whether to make one doc of a document, and not of a sentence.
    lang (str): The language, for the tokenization of running text.
    max_width (int): Entities longer than this are counted in the statistics.
    on_error (Optional[Callable[[CorpusError], None]]): Told of what is wrong with the
        data. It is left out then. By default the error is raised.
    hold_out (Optional[Path]): A second corpus, for a share of the docs.
    hold_out_share (float): The share, taken evenly from the whole corpus.
    shard_size (int): How many docs are held in memory.
    show_progress (bool): Whether to show a progress bar.
    RETURNS (Statistics): What was found.
    """
    mapping = mapping or LabelMapping()
    statistics = Statistics(max_width)
    outputs = [output] if hold_out is None else [output, hold_out]
    files = _list_inputs(inputs, format, outputs)
    for path in outputs:
        if path.suffix != ".spacy":
            raise CorpusError(
                f"Can't write {path}: the name of a corpus ends in .spacy."
            )
        check_replaceable(path, is_sharded)
    check_places(outputs, files)

    def skip(error: CorpusError) -> None:
        if on_error is None:
            raise error
        statistics.skipped += 1
        on_error(error)

    with ExitStack() as stack:
        bar = stack.enter_context(
            tqdm(
                total=sum(file.stat().st_size for file in files),
                unit="B",
                unit_scale=True,
                desc="Converting",
                disable=None if show_progress else True,
            )
        )
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
            Vocab(),
            files,
            format,
            reading,
            mapping,
            statistics,
            keep_docs=keep_docs,
            lang=lang,
        )
        writers = [stack.enter_context(open_shards(p, shard_size)) for p in outputs]
        held_out = 0
        for i, doc in enumerate(docs, 1):
            is_held_out = hold_out is not None and held_out + 1 <= i * hold_out_share
            held_out += is_held_out
            writers[-1 if is_held_out else 0].add(doc)
        # Everything is on the disk before the first corpus is moved to its place.
        for path, writer in zip(outputs, writers, strict=True):
            if not writer.finish():
                raise CorpusError(path, "there are no sentences to write to it")
        statistics.dropped = mapping.dropped
    return statistics


def read_corpus(path: Path, vocab: Vocab, *, lang: str = "en") -> Iterator[Doc]:
    """Read a corpus in any format, without writing it.

    path (Path): A file, or a folder of files.
    vocab (Vocab): The vocabulary of the docs.
    lang (str): The language, for the tokenization of running text.
    YIELDS (Doc): The docs that spaCy has written, as they are, or a doc for each
        sentence.
    """
    for file in _list_inputs([path], None, []):
        if file.stat().st_size and detect_format(file) == "spacy":
            with open_binary(file) as source:
                yield from read_docs(source.read(), file, vocab)
        else:
            yield from _make_docs(
                vocab,
                [file],
                None,
                Reading(),
                LabelMapping(),
                Statistics(max_width=0),
                keep_docs=False,
                lang=lang,
            )


def _list_inputs(
    inputs: Iterable[Path], format: str | None, outputs: list[Path]
) -> list[Path]:
    """Files to read. Of OntoNotes' folders only the gold annotation is meant, and
    nothing that was written by an earlier conversion to the same place.
    """
    files: list[Path] = []
    places = {path.resolve() for path in outputs}
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
                if places.isdisjoint([f.resolve(), *f.resolve().parents])
            ]
        files += found
    return files


def _make_docs(
    vocab: Vocab,
    files: list[Path],
    format: str | None,
    reading: Reading,
    mapping: LabelMapping,
    statistics: Statistics,
    *,
    keep_docs: bool,
    lang: str,
) -> Iterator[Doc]:
    nlp = make_tokenizer(lang)
    for file in files:
        statistics.files += 1
        try:
            if not file.stat().st_size:
                raise CorpusError(file, "the file is empty")
            read = FORMATS[format or detect_format(file, reading.separator)]
            for document in read(file, reading):
                try:
                    sentences = get_sentences(
                        document, nlp, mapping, statistics.notes, statistics.hints
                    )
                    groups = [sentences] if keep_docs else _one_by_one(sentences)
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


def _one_by_one(sentences: list[Sentence]) -> list[list[Sentence]]:
    return [[sentence] for sentence in sentences]


class ShardWriter:
    """Writes docs to files of a size.

    folder (Path): Where the files are made.
    shard_size (int): Docs in a file, which is as many as are held in memory.
    """

    def __init__(self, folder: Path, shard_size: int):
        self.folder = folder
        self.shard_size = shard_size
        self.shards: list[Path] = []
        self._docs = DocBin(attrs=ATTRS)

    def add(self, doc: Doc) -> None:
        """Write a doc."""
        if doc.user_data and not self._docs.store_user_data:
            # Storing it is slow, so it is done from the first doc that has any.
            self.finish()
            self._docs = DocBin(attrs=ATTRS, store_user_data=True)
        self._docs.add(doc)
        if len(self._docs) == self.shard_size:
            self.finish()

    def finish(self) -> list[Path]:
        """Write what is left, and tell which files there are."""
        if len(self._docs):
            self.shards.append(self.folder / f"{len(self.shards):05}.spacy")
            self._docs.to_disk(self.shards[-1])
            self._docs = DocBin(attrs=ATTRS)
        return self.shards


@contextmanager
def open_shards(output: Path, shard_size: int) -> Iterator[ShardWriter]:
    """Write docs to a file, or to a folder of files if they don't fit into one.

    output (Path): The file or folder. What was there is replaced when all went well,
        and stays otherwise.
    shard_size (int): Docs in a file.
    YIELDS (ShardWriter): Writes the docs.
    """
    with write_whole(output, may_replace=is_sharded) as target:
        folder = target.with_name("shards")
        folder.mkdir()
        writer = ShardWriter(folder, shard_size)
        yield writer
        shards = writer.finish()
        (shards[0] if len(shards) == 1 else folder).rename(target)
