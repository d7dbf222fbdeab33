"""Files that were forged, and files that are small and would fill the memory."""

import gc
import gzip
import zlib

import numpy
import pytest
import srsly
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_epnet.corpora import files
from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.corpora.documents import Reading
from spacy_epnet.corpora.label_mapping import read_groups
from spacy_epnet.corpora.mixing import make_mixed_labels
from spacy_epnet.corpora.readers import read_docbin
from spacy_epnet.errors import CorpusError


def make_docbin(**changes):
    """The bytes of a corpus of one doc, in which some parts are others."""
    doc = Doc(Vocab(), words=["Ada", "left", "Rio"])
    doc.set_ents([Span(doc, 0, 1, "PER")])
    doc.spans["x"] = [doc[1:3]]
    message = srsly.msgpack_loads(zlib.decompress(DocBin(docs=[doc]).to_bytes()))
    for key, value in changes.items():
        message[key] = value(message[key]) if callable(value) else value
    return zlib.compress(srsly.msgpack_dumps(message))


def flip(column, value):
    """Change a column of the table of tokens."""

    def change(data):
        tokens = numpy.frombuffer(data, dtype="uint64").reshape(3, -1).copy()
        tokens[:, column] = value
        return tokens.tobytes()

    return change


def move(groups):
    """Move the only span out of its doc."""
    ((group, keys),) = srsly.msgpack_loads(groups[0]).items()
    parts = srsly.msgpack_loads(group)
    parts["spans"] = [
        span[:24] + b"\x00\xff\xff\xff" * 2 + span[32:] for span in parts["spans"]
    ]
    return [srsly.msgpack_dumps({srsly.msgpack_dumps(parts): keys})]


FORGED = {
    "nothing": b"",
    "noise": bytes(range(256)),
    "no map": zlib.compress(srsly.msgpack_dumps([1, 2])),
    "cut msgpack": zlib.compress(zlib.decompress(make_docbin())[:-9]),
    "cut": make_docbin()[:-9],
    "long array": zlib.compress(b"\xdd\xff\xff\xff\xff"),
    "deep": zlib.compress(b"\x91" * 100_000),
    "attributes": make_docbin(attrs=[]),
    "unknown attribute": make_docbin(attrs=[2**40]),
    "attribute of no kind": make_docbin(attrs=None),
    "tokens": make_docbin(tokens=7),
    "unknown words": make_docbin(tokens=flip(0, 12345)),
    "empty words": make_docbin(tokens=flip(0, 0)),
    "numbers as words": make_docbin(strings=[1, 2]),
    "odd lengths": make_docbin(lengths=b"\xff\xff\x7f"),
    "odd table": make_docbin(tokens=lambda data: data[:-3]),
    "flags": make_docbin(flags=[[]]),
    "no flags": make_docbin(flags=[]),
    "user data": make_docbin(user_data=[b"\x93"]),
    "user data of no kind": make_docbin(user_data=[srsly.msgpack_dumps(5)]),
    "groups": make_docbin(span_groups=[b"\xc1"]),
    "span far away": make_docbin(span_groups=move),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_forged_docbins_are_refused_wherever_they_are_read(tmp_path, data):
    path = tmp_path / "a.spacy"
    path.write_bytes(data)
    part = {"a": {"path": path}}
    for read in (
        lambda: list(read_docbin(path, Reading())),
        lambda: Corpus(path),
        lambda: make_mixed_labels(part),
    ):
        with pytest.raises(CorpusError) as info:
            read()
        assert info.value.path == path
    assert gc.isenabled()


def test_each_column_of_a_docbin_may_be_forged(tmp_path):
    path = tmp_path / "a.spacy"
    columns = len(DocBin().attrs)
    refused = 0
    for column in range(columns):
        for value in (1, 4, 2**31 - 1, 2**63, 2**64 - 2):
            path.write_bytes(make_docbin(tokens=flip(column, value)))
            try:
                list(read_docbin(path, Reading()))
            except CorpusError:
                refused += 1
    assert refused > columns


def test_docbins_that_are_whole_are_read(tmp_path):
    path = tmp_path / "a.spacy"
    path.write_bytes(make_docbin())
    (doc,) = Corpus(path).docs
    assert [span.text for span in doc.spans["x"]] == ["left Rio"]
    assert make_mixed_labels({"a": {"path": path}}) == {"a": ["a:PER"]}


ROWS = b"Ada\tB-PER\nleft\tO\n\n"


@pytest.fixture
def small_bounds(monkeypatch):
    monkeypatch.setattr(files, "ALWAYS_UNPACKED", 200_000)


BOMBS = {
    "lines": ("a.txt.gz", gzip.compress(b"\n" * 1_000_000)),
    "one line": ("a.txt.gz", gzip.compress(b"x" * 1_000_000)),
    "json": ("a.json.gz", gzip.compress(b"[" + b" " * 1_000_000)),
    "xml": ("a.xml.gz", gzip.compress(b"<a>" + b" " * 1_000_000)),
    "docbin": ("a.spacy", zlib.compress(b" " * 1_000_000)),
    "packed docbin": ("a.spacy", gzip.compress(zlib.compress(b" " * 1_000_000))),
}


@pytest.mark.parametrize(("name", "data"), BOMBS.values(), ids=BOMBS)
def test_what_unpacks_to_very_much_is_refused(small_bounds, tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CorpusError, match="unpacks to more than"):
        convert([path], tmp_path / "out.spacy")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_what_is_packed_as_usual_may_be_large(small_bounds, tmp_path):
    path = tmp_path / "a.txt.gz"
    rows = "".join(f"w{i * i}\tO\n" for i in range(20_000))
    path.write_bytes(gzip.compress(rows.encode()))
    assert len(rows) > 200_000
    assert convert([path], tmp_path / "out.spacy").tokens == 20_000
    path.write_bytes(gzip.compress(ROWS * 500))
    assert convert([path], tmp_path / "out.spacy").docs == 500


def make_laughs(line, first="a: &a [x, x]"):
    names = "bcdefghijklmnopqrstuvwxyz"
    lines = [first]
    for name, before in zip(names, "a" + names, strict=False):
        lines.append(line.format(name=name, before=before))
    return "\n".join(lines)


GROUPS = {
    "laughs": (make_laughs("{name}: &{name} [*{before}, *{before}]"), "aliases"),
    "merged": (
        make_laughs("{name}: &{name} {{<<: *{before}}}", "a: &a {x: y}"),
        "aliases",
    ),
    "itself": ("a: &a [*a]", "aliases"),
    "large": ("a: [x]\n" + "#" * 100_001, "100,000"),
    "deep": ("a: " + "[" * 40_000 + "]" * 40_000, "list in a list"),
    "nested": ("a: [[x]]", "list in a list"),
    "numbers": ("a: [1, 2]", "quotes"),
    "nothing": ("a: [null]", "quotes"),
    "no list": ("a: x", "list of types"),
    "no map": ("- x", "list of types"),
    "object": ("a: !!python/object/apply:os.getcwd []", "YAML"),
    "bytes": (b"\xff\xfe", "UTF-8"),
}


@pytest.mark.parametrize(("content", "reason"), GROUPS.values(), ids=GROUPS)
def test_groups_are_small_and_plain(tmp_path, content, reason):
    path = tmp_path / "groups.yml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CorpusError, match=reason):
        read_groups(path)
