"""Annotating the records of a shard, in a process that has the pipeline."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc

from .._compat import import_code
from ..recognizer.pipeline import forget_tensors
from ..sources.catalog import load_pipeline
from .records import Item, Record, RecordError, understand
from .shards import Annotated, Layout, Reject, encode

SHOWN = 200  # characters of a record that is rejected


class Recipe(NamedTuple):
    """What a process needs to know to annotate.

    model (str): The pipeline: a folder, a package, or a source that comes with us.
    layout (Layout): How shards are written.
    code (Optional[str]): A file with code to import before.
    threads (int): How many the encoder computes with.
    gpu (int): The GPU, or -1.
    """

    model: str
    layout: Layout
    code: str | None
    threads: int
    gpu: int


class Result(NamedTuple):
    """What has become of the records of a shard."""

    data: bytes
    rejects: list[Reject]
    records: int  # that were annotated
    words: int
    entities: int


# The number of each shard, the bytes of the input that it is made of, and its result.
Results: TypeAlias = Generator[tuple[int, int, Result], None, None]


class Annotator:
    """A pipeline that annotates shards.

    recipe (Recipe): How.
    """

    def __init__(self, recipe: Recipe):
        import torch
        from spacy import require_gpu

        torch.set_num_threads(recipe.threads)
        if recipe.gpu >= 0:
            require_gpu(recipe.gpu)
        if recipe.code is not None:
            import_code(Path(recipe.code))
        self.nlp = load_pipeline(recipe.model)
        self.layout = recipe.layout

    def annotate(self, items: list[Item]) -> Result:
        """Annotate records.

        items (List[Item]): The records as they were read.
        RETURNS (Result): The content of the shard, and what couldn't be annotated.
        """
        # The words of a shard are forgotten after it, so that memory stays flat.
        with self.nlp.memory_zone():
            return self._annotate(items)

    def _annotate(self, items: list[Item]) -> Result:
        problems: dict[str, Exception] = {}
        records: dict[str, Record] = {}
        for item in items:
            try:
                records[item.id] = understand(item, self.layout.text_field)
            except RecordError as err:
                problems[item.id] = err
        docs: dict[str, Doc] = {}
        for id, doc in recognize(self.nlp, list(records.values())):
            if isinstance(doc, Exception):
                problems[id] = doc
            else:
                docs[id] = doc
        for id in records.keys() - docs.keys() - problems.keys():
            problems[id] = RecordError("a component of the pipeline has dropped it")
        rows = [Annotated(records[id], docs[id]) for id in records if id in docs]
        data, unfit = encode_fitting(rows, self.layout)
        problems.update(unfit)
        rows = [row for row in rows if row.record.id not in unfit]
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
    """Make the content of a shard, without records that have values for which there is
    no place in its format, and tell which those are.
    """
    try:
        return encode(rows, layout), {}
    except Exception:
        unfit: dict[str, Exception] = {}
        for row in rows:
            try:
                encode([row], layout)
            except Exception as err:
                unfit[row.record.id] = err
        fitting = [row for row in rows if row.record.id not in unfit]
        return encode(fitting, layout), unfit


def make_reject(item: Item, problem: Exception) -> Reject:
    reason = str(problem) or type(problem).__name__
    return Reject(item.id, reason, show(item.content))


def recognize(
    nlp: Language, records: list[Record]
) -> Iterator[tuple[str, Doc | Exception]]:
    """Run a pipeline over records, those of similar length together.

    nlp (Language): The pipeline.
    records (List[Record]): The records.
    YIELDS (Tuple[str, Union[Doc, Exception]]): The id of each, and its doc, or why
        there is none. In any order.
    """
    docs: list[tuple[Doc, Record]] = []
    for record in records:
        try:
            docs.append((make_doc(nlp, record), record))
        except Exception as err:
            yield record.id, err
    docs.sort(key=lambda pair: len(pair[0]))
    count = 0
    try:
        for doc, record in nlp.pipe(docs, as_tuples=True):
            forget_tensors(doc)
            count += 1
            yield record.id, doc
    except Exception:
        # Of the rest, some fail. What was run over them halfway isn't used again.
        for _, record in docs[count:]:
            try:
                doc = nlp(make_doc(nlp, record))
                forget_tensors(doc)
            except Exception as err:
                yield record.id, err
            else:
                yield record.id, doc


def make_doc(nlp: Language, record: Record) -> Doc:
    """Part a record into tokens, unless it is."""
    if record.words is not None:
        return Doc(nlp.vocab, words=record.words, spaces=record.spaces)
    return nlp.make_doc(record.text)


def show(content: object) -> str:
    """The beginning of a record, as it was read."""
    if isinstance(content, bytes):
        return content[:SHOWN].decode("utf8", "replace").rstrip("\r\n")
    text = "" if content is None else str(content)[:SHOWN]
    return text.encode("utf8", "replace").decode("utf8")
