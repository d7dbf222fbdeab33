"""What the tests of annotating share: pipelines that load quickly, and files."""

import csv
import gzip
import io
import json
from functools import cache
from itertools import cycle, islice

import spacy
import srsly
from spacy.tokens import DocBin

from spacy_epnet.annotating import run
from spacy_epnet.annotating.annotator import Annotator, Recipe
from spacy_epnet.annotating.output_formats import Layout

# A component that ends its process: always at DEADLY, and once at UNLUCKY.
FATAL = """
import os, pathlib
from spacy.language import Language

@Language.component("fatal")
def fatal(doc):
    mark = pathlib.Path(__file__).with_name("mark")
    if "DEADLY" in doc.text or ("UNLUCKY" in doc.text and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), 9)  # SIGKILL, where signals have names
    if "FAULTY" in doc.text:
        raise ValueError("this one is faulty")
    return doc
"""


def make_ruler(folder, *, fatal=False):
    """Save a pipeline that knows two words."""
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "PERSON", "pattern": "Ada"}, {"label": "PLACE", "pattern": "Ulm"}]
    )
    if fatal:
        nlp.add_pipe("fatal")
    nlp.to_disk(folder)
    return str(folder)


def make_texts(count):
    endings = cycle(["Ada left.", "nobody came.", "Ada lives in Ulm, in Ulm.", ""])
    return [f"{i} {end}" for i, end in enumerate(islice(endings, count))]


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return path


def use_no_processes(monkeypatch):
    """Annotate in this process. Tells which shards were annotated."""
    annotated = []

    def run_here(shards, recipe, processes):
        annotator = load(recipe.model, recipe.code)
        annotator.layout = recipe.layout
        for shard in shards:
            annotated.append(shard.number)
            yield shard.number, shard.size, annotator.annotate(shard.items)

    monkeypatch.setattr(run, "run_local", run_here)
    return annotated


@cache
def load(model, code):
    return Annotator(Recipe(model, Layout("jsonl", "text"), code, 1, -1))


def read_output(folder):
    """All rows of an output, in order, whatever their format."""
    files = sorted((folder / "shards").iterdir())
    return [row for file in files for row in READERS[file.suffix](file)]


def read_rejects(folder):
    path = folder / "rejects.jsonl"
    return list(srsly.read_jsonl(path)) if path.exists() else []


def count_done(folder):
    path = folder / "done.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def read_docs(path):
    docs = (
        DocBin(store_user_data=True).from_disk(path).get_docs(spacy.blank("en").vocab)
    )
    for doc in docs:
        yield {
            **doc.user_data,
            "text": doc.text,
            "entities": [
                {"start": e.start_char, "end": e.end_char, "label": e.label_}
                for e in doc.ents
            ],
        }


def read_parquet(path):
    from pyarrow.parquet import read_table

    return read_table(path).to_pylist()


READERS = {
    ".jsonl": lambda path: map(json.loads, path.read_bytes().splitlines()),
    ".parquet": read_parquet,
    ".spacy": read_docs,
}


def write_input(folder, name, rows):
    """Write rows of text and source in the format that a name stands for."""
    path = folder / name
    kind = name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.Table.from_pylist(rows), path)
        return path
    if kind == "spacy":
        nlp = spacy.blank("en")
        docs = DocBin(store_user_data=True)
        for row in rows:
            doc = nlp(row["text"])
            doc.user_data["source"] = row["source"]
            docs.add(doc)
        data = docs.to_bytes()
    elif kind in ("csv", "tsv"):
        file = io.StringIO(newline="")
        delimiter = "\t" if kind == "tsv" else ","
        writer = csv.DictWriter(file, ["source", "text"], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        data = file.getvalue().encode()
    elif kind == "txt":
        data = "".join(f"{row['text']}\n" for row in rows).encode()
    else:
        data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path
