"""From published files to spaCy's binary format."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from tqdm import tqdm

from ..errors import CorpusError
from .docs import get_sentences, make_doc, make_tokenizer
from .documents import Reading, Sentence
from .files import list_files, write_whole
from .formats import FORMATS, GOLD_CONLL, detect_format
from .report import Report
from .surgery import TypeSurgery

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
    surgery: TypeSurgery | None = None,
    keep_docs: bool = False,
    lang: str = "en",
    max_width: int = 10,
    on_error: Callable[[CorpusError], None] | None = None,
    hold_out: Path | None = None,
    hold_out_share: float = 0.1,
    shard_size: int = SHARD_SIZE,
    show_progress: bool = False,
) -> Report:
    """Convert files to one corpus, which appears when it is complete.

    inputs (Iterable[Path]): Files, and folders of files.
    output (Path): The corpus. If it has more docs than fit into a shard, it is a
        folder of shards, which spaCy reads like a file.
    format (Optional[str]): A key of `FORMATS`. Found out for each file by default.
    columns (Tuple[int, int]): Where the word and the tag are in a row.
    separator (Optional[str]): What stands between columns. Found out by default.
    surgery (Optional[TypeSurgery]): Which types are kept, and under which names.
    keep_docs (bool): Whether to make one doc of a document, and not of a sentence.
    lang (str): The language, for the tokenization of running text.
    max_width (int): Entities longer than this are counted in the report.
    on_error (Optional[Callable[[CorpusError], None]]): Told of what is wrong with the
        data. It is left out then. By default the error is raised.
    hold_out (Optional[Path]): A second corpus, for a share of the docs.
    hold_out_share (float): The share. 0.1 holds every tenth doc back.
    shard_size (int): How many docs are held in memory.
    show_progress (bool): Whether to show a progress bar.
    RETURNS (Report): What was found.
    """
    surgery = surgery or TypeSurgery()
    report = Report(max_width)
    files = _list_inputs(inputs, format)

    def skip(error: CorpusError) -> None:
        if on_error is None:
            raise error
        report.skipped += 1
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
            notes=report.notes,
        )
        docs = _make_docs(
            files, format, reading, surgery, report, keep_docs=keep_docs, lang=lang
        )
        write = hold_back = stack.enter_context(open_shards(output, shard_size))
        if hold_out is not None:
            hold_back = stack.enter_context(open_shards(hold_out, shard_size))
        interval = round(1 / hold_out_share)
        for i, doc in enumerate(docs, 1):
            (write if i % interval else hold_back)(doc)
        report.dropped = surgery.dropped
        if not report.docs:
            raise CorpusError(files[0], "there are no sentences in it")
    return report


def _list_inputs(inputs: Iterable[Path], format: str | None) -> list[Path]:
    """Files to read. Of OntoNotes' folders only the gold annotation is meant."""
    files: list[Path] = []
    for path in inputs:
        is_ontonotes = (
            path.is_dir()
            and format in (None, "conll2012")
            and next(path.rglob(GOLD_CONLL), None) is not None
        )
        files += list_files([path], GOLD_CONLL if is_ontonotes else "*")
    return files


def _make_docs(
    files: list[Path],
    format: str | None,
    reading: Reading,
    surgery: TypeSurgery,
    report: Report,
    *,
    keep_docs: bool,
    lang: str,
) -> Iterator[Doc]:
    vocab = Vocab()
    nlp = make_tokenizer(lang)
    for file in files:
        report.files += 1
        try:
            read = FORMATS[format or detect_format(file, reading.separator)]
            for document in read(file, reading):
                sentences = [
                    sentence._replace(entities=surgery.apply(sentence.entities))
                    for sentence in get_sentences(document, nlp, report.notes)
                ]
                for group in [sentences] if keep_docs else _one_by_one(sentences):
                    report.add(group)
                    yield make_doc(vocab, group, document.meta)
        except CorpusError as err:
            reading.on_error(err)


def _one_by_one(sentences: list[Sentence]) -> list[list[Sentence]]:
    return [[sentence] for sentence in sentences]


@contextmanager
def open_shards(output: Path, shard_size: int) -> Iterator[Callable[[Doc], None]]:
    """Write docs to a file, or to a folder of files if they don't fit into one.

    output (Path): The file or folder. What was there is replaced when all went well,
        and stays otherwise.
    shard_size (int): Docs in a file, which is as many as are held in memory.
    YIELDS (Callable[[Doc], None]): Writes a doc.
    """
    with write_whole(output) as target:
        folder = target.with_name("shards")
        folder.mkdir()
        shards: list[Path] = []
        shard: DocBin | None = None

        def finish_shard() -> None:
            nonlocal shard
            if shard is not None:
                shards.append(folder / f"{len(shards):05}.spacy")
                shard.to_disk(shards[-1])
                shard = None

        def write(doc: Doc) -> None:
            nonlocal shard
            if shard is None:
                shard = DocBin(attrs=ATTRS, store_user_data=bool(doc.user_data))
            shard.add(doc)
            if len(shard) == shard_size:
                finish_shard()

        yield write
        finish_shard()
        (shards[0] if len(shards) == 1 else folder).rename(target)
