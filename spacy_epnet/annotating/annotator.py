"""Annotate the records of a shard, in a process that has loaded the pipeline."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc

from .._compat import import_code
from ..recognizer.pipeline import forget_tensors
from ..sources.catalog import load_pipeline
from .input_formats import Content, Item, Record, RecordError, parse_item
from .output_formats import Annotated, Layout, Reject, encode

MAX_CONTENT = 200  # characters of a rejected record


class Recipe(NamedTuple):
    """Settings of a process that annotates.

    model (str): The pipeline: a folder, a package, or a source pipeline's name.
    layout (Layout): The layout of shards.
    code (Optional[str]): A Python file to import before loading.
    threads (int): The number of threads to compute with.
    gpu (int): The GPU, or -1.
    """

    model: str
    layout: Layout
    code: str | None
    threads: int
    gpu: int


class Result(NamedTuple):
    """The records of a shard after annotation.

    data (bytes): The content of the shard.
    rejects (List[Reject]): Records that couldn't be annotated.
    records (int): The number of the others.
    words (int): Their tokens.
    entities (int): Their entities.
    """

    data: bytes
    rejects: list[Reject]
    records: int
    words: int
    entities: int


# The number of each shard, its size in bytes of the input, and its result.
Results: TypeAlias = Generator[tuple[int, int, Result], None, None]


class Annotator:
    """Annotate shards with a pipeline."""

    def __init__(self, recipe: Recipe):
        import torch
        from thinc.api import require_gpu

        torch.set_num_threads(recipe.threads)
        if recipe.gpu >= 0:
            require_gpu(recipe.gpu)
        if recipe.code is not None:
            import_code(Path(recipe.code))
        self.nlp = load_pipeline(recipe.model)
        self.layout = recipe.layout

    def annotate(self, items: list[Item]) -> Result:
        """Annotate the records of a shard."""
        # The words of a shard are forgotten after it, so that memory stays flat.
        with self.nlp.memory_zone():
            return self._annotate(items)

    def _annotate(self, items: list[Item]) -> Result:
        problems: dict[str, Exception] = {}
        records: dict[str, Record] = {}
        for item in items:
            try:
                records[item.id] = parse_item(item, self.layout.text_field)
            except RecordError as err:
                problems[item.id] = err
        docs: dict[str, Doc] = {}
        for id, doc in recognize(self.nlp, records):
            if isinstance(doc, Exception):
                problems[id] = doc
            else:
                docs[id] = doc
        for id in records.keys() - docs.keys() - problems.keys():
            problems[id] = RecordError("a component of the pipeline has dropped it")
        rows = [Annotated(id, records[id], docs[id]) for id in records if id in docs]
        data, unfit = encode_fitting(rows, self.layout)
        problems.update(unfit)
        rows = [row for row in rows if row.id not in unfit]
        return Result(
            data,
            [make_reject(i, problems[i.id]) for i in items if i.id in problems],
            len(rows),
            sum(len(row.doc) for row in rows),
            sum(len(row.doc.ents) for row in rows),
        )


def encode_fitting(
    rows: list[Annotated], layout: Layout
) -> tuple[bytes, dict[str, Exception]]:
    """Make the content of a shard of the records that its format can hold, and collect
    the errors of the others.
    """
    try:
        return encode(rows, layout), {}
    except Exception:
        unfit: dict[str, Exception] = {}
        for row in rows:
            try:
                encode([row], layout)
            except Exception as err:
                unfit[row.id] = err
        fitting = [row for row in rows if row.id not in unfit]
        return encode(fitting, layout), unfit


def make_reject(item: Item, problem: Exception) -> Reject:
    reason = str(problem) or type(problem).__name__
    return Reject(item.id, reason, shorten(item.content))


def recognize(
    nlp: Language, records: dict[str, Record]
) -> Iterator[tuple[str, Doc | Exception]]:
    """Run a pipeline over records, those of similar length together.

    YIELDS (Tuple[str, Union[Doc, Exception]]): The id of each, and its doc or error, in
        any order.
    """
    docs: list[tuple[Doc, str]] = []
    for id, record in records.items():
        try:
            docs.append((make_doc(nlp, record), id))
        except Exception as err:
            yield id, err
    docs.sort(key=lambda pair: len(pair[0]))
    count = 0
    try:
        for doc, id in nlp.pipe(docs, as_tuples=True):
            forget_tensors(doc)
            count += 1
            yield id, doc
    except Exception:
        # Some of the others fail. They are made anew, because components changed them.
        for _, id in docs[count:]:
            try:
                doc = nlp(make_doc(nlp, records[id]))
                forget_tensors(doc)
            except Exception as err:
                yield id, err
            else:
                yield id, doc


def make_doc(nlp: Language, record: Record) -> Doc:
    """Tokenize a record, unless it has tokens."""
    if record.words is not None:
        return Doc(nlp.vocab, words=record.words, spaces=record.spaces)
    return nlp.make_doc(record.text)


def shorten(content: Content) -> str:
    """Return the beginning of a record, as it was read."""
    if isinstance(content, bytes):
        return content[:MAX_CONTENT].decode("utf8", "replace").rstrip("\r\n")
    text = "" if content is None else str(content)[:MAX_CONTENT]
    return text.encode("utf8", "replace").decode("utf8")
