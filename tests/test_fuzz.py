"""Every reader with files that were changed at random: only the documented error, and
never a hang, a crash, another exception or half of an output.

    pytest -m fuzz

makes 10,000 files of each kind, or as many as FUZZ_CASES says. Each is made from the
name of its kind and its number alone, and a test that fails tells both.
"""

import faulthandler
import gzip
import json
import os
import random
import shutil
import signal
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
import srsly
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_epnet.annotating.input_formats import (
    RecordError,
    detect_format,
    parse_item,
    read_items,
)
from spacy_epnet.cli.recognize import list_texts
from spacy_epnet.corpora import conversion, files
from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.docs import make_tokenizer
from spacy_epnet.corpora.episodes import read_episodes
from spacy_epnet.corpora.label_mapping import read_groups
from spacy_epnet.errors import CorpusError, EPNetError
from spacy_epnet.evaluation.comparison import read_comparison
from spacy_epnet.evaluation.episode_benchmark import EpisodeResults
from spacy_epnet.evaluation.results import Results

from .conftest import ROOT
from .util.corpus_tools import BIO, CONLL2012, I2B2, JSON
from .util.mutating import mutate

FEW, MANY = 100, int(os.environ.get("FUZZ_CASES", 10_000))
SECONDS = 10  # of the processor, for one file

IOBES = "Ada\tB-PER\nKing\tE-PER\nleft\tO\nRio\tS-LOC\n\nAcme\tS-ORG\n"
IO = "Ada person-other\nKing person-other\nleft O\nRio place\n\nAcme org\n"
CONLL2003 = (
    "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nRio N N I-LOC\n"
)
LINES = "\n".join(map(json.dumps, JSON.values()))
RECORDS = "".join(f'{{"text": "Ada", "n": [{n}, null, 1.5e3]}}\n' for n in range(9))
EMOJI = {"start": 3, "end": 6, "text": "Ada", "labels": ["PER"]}
STUDIO = {
    "data": {"text": "\U0001f389 Ada left"},
    "annotations": [{"result": [{"value": EMOJI}]}],
}
PART = {"word": [["Ada", "left"], ["x"]], "label": [["person-other", "O"], ["O"]]}
EPISODES = "\n".join([json.dumps({"support": PART, "query": PART})] * 2)
GROUPS = "A: [ORG, QUANTITY]\nB:\n  - GPE\n  - 'CARDINAL'\n# C\nC: [\"PERSON\"]\n"
RUN = {
    **{"target": "a", "profile": "default", "shots": 1, "support": 0},
    **{"sentences": [3, 1], "p": 50.0, "r": 25.0, "f": 33.3},
    "per_type": {"PER": {"p": 50.0, "r": 25.0, "f": 33.3}},
    "seconds": {"encode_query": 1.5, "recognize": 0.5, "adapt": 2.0},
}
HEADER = {
    "targets": [{"name": "a", "dev_sha256": "1", "test_sha256": "2"}],
    "profiles": {"default": {"one_shot": {}}},
    "shots": [1],
}
FAILED = {**RUN, "support": 1, "failed": "unlucky", "f": None}
RESULTS = {"benchmark": HEADER, "summary": [], "runs": {"1": RUN, "2": FAILED}}
COUNTS = {"types": ["PER"], "counts": {"PER": [1, 2, 3]}, "seconds": 0.5}
BY_EPISODE = {"benchmark": HEADER, "summary": {}, "runs": {"0": COUNTS, "1": COUNTS}}


@cache
def make_docs():
    docs = []
    for words in (["Ada", "King", "left", "."], ["In", "Rio"], ["Nobody"]):
        doc = Doc(Vocab(), words=words, sent_starts=[True, *[False] * (len(words) - 1)])
        doc.set_ents([Span(doc, 0, 1, "PER")])
        doc.spans["x"] = [doc[:1]]
        doc.user_data["epnet_origin"] = {"part": "query", "episode": 1}
        docs.append(doc)
    return docs


def make_docbin() -> bytes:
    return DocBin(docs=make_docs(), store_user_data=True).to_bytes()


def unpack_all(data: bytes) -> bytes:
    return zlib.decompress(gzip.decompress(data))


def pack_all(data: bytes) -> bytes:
    return gzip.compress(zlib.compress(data))


class Kind(NamedTuple):
    """A kind of file."""

    name: str  # of the file
    whole: bytes
    read: Callable[[Path], object] | None = None  # or convert it
    format: str | None = None
    unpack: Callable[[bytes], bytes] | None = None
    pack: Callable[[bytes], bytes] | None = None


def read_results(path: Path) -> None:
    Results(path, HEADER).get_overview()


def read_episode_results(path: Path) -> None:
    EpisodeResults(path, HEADER).summarize()


def compare(path: Path) -> None:
    comparison = read_comparison(
        [("a", path), ("b", ROOT / "measurements/results/benchmark-small.json")]
    )
    comparison.get_table()
    srsly.json_dumps(comparison.to_dict())


@cache
def get_corpus() -> Corpus:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "dev.spacy"
        path.write_bytes(make_docbin())
        return Corpus(path)


def read_records(path: Path) -> None:
    """Read what is annotated. Each record is understood, or rejected for a reason."""
    items = list(read_items(path, detect_format(path), lambda count: None))
    rejected = 0
    for item in items:
        try:
            parse_item(item, "text")
        except RecordError:
            rejected += 1
    if rejected:
        raise CorpusError(path, "something is rejected")


def make_parquet() -> bytes:
    from pyarrow import BufferOutputStream, Table
    from pyarrow.parquet import write_table

    output = BufferOutputStream()
    write_table(Table.from_pylist([{"text": "Ada", "n": n} for n in range(9)]), output)
    return output.getvalue().to_pybytes()


def read_manifest(path: Path) -> None:
    get_corpus().read_indices(path)


KINDS = {
    "bio": Kind("a.txt", BIO.encode()),
    "iob1": Kind("a.txt", CONLL2003.encode(), format="iob1"),
    "bioes": Kind("a.txt", IOBES.encode()),
    "io": Kind("a.txt", IO.encode()),
    "conll2003": Kind("a.txt", CONLL2003.encode()),
    "wnut17": Kind("a.txt", BIO.encode(), format="wnut17"),
    "conll2012": Kind("a_gold_conll", CONLL2012.encode()),
    "i2b2": Kind("a.xml", I2B2.encode()),
    "jsonl": Kind("a.jsonl", LINES.encode()),
    "json": Kind("a.json", json.dumps([STUDIO, *JSON.values()]).encode()),
    "fewnerd-episodes": Kind("a.jsonl", EPISODES.encode()),
    "unnamed": Kind("a", LINES.encode()),
    "docbin": Kind("a.spacy", make_docbin()),
    "docbin inside": Kind(
        "a.spacy", make_docbin(), unpack=zlib.decompress, pack=zlib.compress
    ),
    "gzip": Kind("a.txt.gz", gzip.compress(BIO.encode() * 20, mtime=0)),
    "gzip inside": Kind(
        "a.jsonl.gz",
        gzip.compress(LINES.encode()),
        unpack=gzip.decompress,
        pack=gzip.compress,
    ),
    "packed docbin": Kind(
        "a.spacy", gzip.compress(make_docbin()), unpack=unpack_all, pack=pack_all
    ),
    "episodes": Kind("a.jsonl", EPISODES.encode(), read_episodes),
    "groups": Kind("a.yml", GROUPS.encode(), read_groups),
    "texts": Kind("a.txt", b"Ada left.\n\nRio!\r\n", list_texts),
    "results": Kind("a.json", json.dumps(RESULTS).encode(), read_results),
    "episode results": Kind(
        "a.json", json.dumps(BY_EPISODE).encode(), read_episode_results
    ),
    "compared": Kind("a.json", json.dumps(RESULTS).encode(), compare),
    "manifest": Kind(
        "a.json",
        json.dumps(get_corpus().describe([2, 0])).encode(),
        read_manifest,
    ),
    "indices": Kind("a.txt", b"0\n2\n", read_manifest),
    "records of lines": Kind("a.txt", b"Ada left.\n\nRio!\r\n", read_records),
    "records of JSON": Kind("a.jsonl", RECORDS.encode(), read_records),
    "records of CSV": Kind(
        "a.csv", b'n,text\n1,"Ada, or ""A"""\n2,Rio\n', read_records
    ),
    "records of Parquet": Kind("a.parquet", make_parquet(), read_records),
    "records of docs": Kind("a.spacy", make_docbin(), read_records),
}


class Hang(BaseException):
    """A file took too long."""


@contextmanager
def limit_time(seconds: int):
    """Stop what takes too long."""

    def stop(*args):
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def make_case(kind: Kind, name: str, number: int) -> tuple[bytes, random.Random]:
    """The changed file of a number, and what decides how it is read."""
    rng = random.Random(f"{name}/{number}")
    if kind.unpack is None or kind.pack is None:
        return mutate(kind.whole, rng), rng
    return kind.pack(mutate(kind.unpack(kind.whole), rng)), rng


def read_case(kind: Kind, path: Path, output: Path, rng: random.Random) -> None:
    if kind.read is not None:
        kind.read(path)
        return
    skip = rng.choice((None, lambda error: None))
    keep_docs = rng.random() < 0.3
    convert([path], output, format=kind.format, keep_docs=keep_docs, on_error=skip)
    # What was made of it can be read.
    assert Corpus(output).docs


def check_case(name: str, number: int, folder: Path) -> bool:
    """Read a changed file, and tell whether it was refused."""
    kind = KINDS[name]
    data, rng = make_case(kind, name, number)
    path, output = folder / kind.name, folder / "out.spacy"
    path.write_bytes(data)
    if output.is_dir():  # shards
        shutil.rmtree(output)
    output.unlink(missing_ok=True)
    try:
        with limit_time(SECONDS):
            read_case(kind, path, output, rng)
    except CorpusError as err:
        assert err.path in (path, output)  # noqa: PT017
        assert os.listdir(folder) == [path.name]
        return True
    except EPNetError:
        assert os.listdir(folder) == [path.name]
        return True
    expected = {path.name, output.name} if output.exists() else {path.name}
    assert set(os.listdir(folder)) == expected
    return False


def check_cases(name: str, count: int, folder: Path) -> None:
    refused = 0
    try:
        for number in range(count):
            if not number % FEW:
                # What doesn't come back from C ends the process, and says where it was.
                faulthandler.dump_traceback_later(60 * SECONDS, exit=True)
            refused += check_case(name, number, folder)
    except BaseException as err:
        err.add_note(f"{name}, number {number}")
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()
    # Changes that no reader notices test nothing.
    assert refused


@pytest.fixture(autouse=True)
def _one_tokenizer(monkeypatch):
    monkeypatch.setattr(conversion, "make_tokenizer", cache(make_tokenizer))
    monkeypatch.setattr(files, "ALWAYS_UNPACKED", 1_000_000)


@pytest.mark.parametrize("name", KINDS)
def test_changed_files(tmp_path, name):
    check_cases(name, FEW, tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", KINDS)
def test_many_changed_files(tmp_path, name):
    check_cases(name, MANY, tmp_path)


@pytest.mark.parametrize("name", KINDS)
def test_files_that_were_not_changed(tmp_path, name):
    kind = KINDS[name]
    path = tmp_path / kind.name
    path.write_bytes(kind.whole)
    read_case(kind, path, tmp_path / "out.spacy", random.Random(0))
