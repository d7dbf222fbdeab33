"""Annotate the records of a shard, in a process that has loaded the pipeline."""

from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc

from .._compat import import_code
from ..recognizer.pipeline import forget_tensors
from ..sources.catalog import load_pipeline
from .input_formats import Item, Record, RecordError, parse_item
from .output_formats import Annotated, Layout, Reject, encode

MAX_CONTENT = 200  # characters of a rejected record


class Recipe(NamedTuple):
    """Settings of a process that annotates."""

    model: str  # a folder, a package, or a source pipeline's name
    layout: Layout
    code: str | None  # a Python file to import before loading
    threads: int
    gpu: int  # -1 for none


class Result(NamedTuple):
    """The records of a shard after annotation, and their counts."""

    data: bytes  # the content of the shard
    rejects: list[Reject]
    records: int  # without those that are rejected
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
        # The words of a shard are forgotten after it, so that memory stays flat. The
        # docs, which point to them, are gone by then with the call that made them.
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
        docs = recognize(self.nlp, records, problems)
        for id in records.keys() - docs.keys() - problems.keys():
            problems[id] = RecordError("a component of the pipeline has dropped it")
        rows = [Annotated(id, records[id], docs[id]) for id in records if id in docs]
        data, rows = encode_fitting(rows, self.layout, problems)
        return Result(
            data,
            [make_reject(i, problems[i.id]) for i in items if i.id in problems],
            len(rows),
            sum(len(row.doc) for row in rows),
            sum(len(row.doc.ents) for row in rows),
        )


def encode_fitting(
    rows: list[Annotated], layout: Layout, problems: dict[str, Exception]
) -> tuple[bytes, list[Annotated]]:
    """Make the content of a shard of the records that its format can hold, return them,
    too, and add what is wrong with the others to the problems.
    """
    try:
        return encode(rows, layout), rows
    except Exception:
        fitting: list[Annotated] = []
        for row in rows:
            try:
                encode([row], layout)
            except Exception as err:
                problems[row.id] = err
            else:
                fitting.append(row)
        return encode(fitting, layout), fitting


def make_reject(item: Item, problem: Exception) -> Reject:
    """Say why a record can't be annotated, and how it begins."""
    reason = str(problem) or type(problem).__name__
    if isinstance(item.content, bytes):
        content = item.content[:MAX_CONTENT].decode("utf8", "replace").rstrip("\r\n")
    else:
        content = "" if item.content is None else str(item.content)[:MAX_CONTENT]
    return Reject(item.id, reason, content.encode("utf8", "replace").decode("utf8"))


def recognize(
    nlp: Language, records: dict[str, Record], problems: dict[str, Exception]
) -> dict[str, Doc]:
    """Run a pipeline over records, those of similar length together, and add what is
    wrong with any to the problems.
    """
    waiting: list[tuple[Doc, str]] = []
    for id, record in records.items():
        try:
            waiting.append((make_doc(nlp, record), id))
        except Exception as err:
            problems[id] = err
    waiting.sort(key=lambda pair: len(pair[0]))
    docs: dict[str, Doc] = {}
    try:
        for doc, id in nlp.pipe(waiting, as_tuples=True):
            forget_tensors(doc)
            docs[id] = doc
    except Exception:
        # Some of the others fail. They are made anew, because components changed them.
        for _, id in waiting[len(docs) :]:
            try:
                doc = nlp(make_doc(nlp, records[id]))
                forget_tensors(doc)
            except Exception as err:
                problems[id] = err
            else:
                docs[id] = doc
    return docs


def make_doc(nlp: Language, record: Record) -> Doc:
    """Tokenize a record, unless it has tokens."""
    if record.words is not None:
        return Doc(nlp.vocab, words=record.words, spaces=record.spaces)
    return nlp.make_doc(record.text)
