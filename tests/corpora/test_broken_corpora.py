"""What can be wrong with a corpus, and where that is told to be."""

import gzip
import json

import pytest

from spacy_epnet.corpora.conversion import convert
from spacy_epnet.errors import CorpusError

from ..conftest import ROWS


def write_i2b2(text="<TEXT>Ada left</TEXT>", head="", tag=""):
    return (
        f'<?xml version="1.0"?>{head}\n<deIdi2b2>\n{text}<TAGS>{tag}</TAGS></deIdi2b2>'
    )


BOMB = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
TAG = '<NAME start="0" end="3" text="Bob" TYPE="X"/>'
BAD = {
    "wrong column": ("a.txt", "Ada\tB-PER\nleft\n", 2, "1 columns"),
    "i after o": ("a.txt", "Ada\tB-PER\n\nleft\tO\nx\tI-PER\n", 4, "I-PER"),
    "only commas": ("a.txt", "Ada\tB-PER\n,\t,\n", 2, "tag is empty"),
    "blank type": ("a.txt", "Ada\tB-PER\nx\tB-\u00a0\n", 2, "none of O"),
    "blank tag": ("a.txt", "Ada\tPER\nx\tO\nx\t\u00a0\n", 3, "tag is empty"),
    "unknown prefix": ("a.txt", "Ada\tB-PER\nx\tQ-PER\n", 2, "Q-PER"),
    "empty word": ("a.txt", "Ada\tB-PER\n\tO\n", 2, "word is empty"),
    "gzip": ("a.txt.gz", gzip.compress(ROWS.encode() * 99)[:-20], None, "gzip"),
    "utf8": ("a.txt", b"Ada\tB-PER\n\xff\xfe\tO\n", 2, "UTF-8"),
    "empty": ("a.txt", "", None, "empty"),
    "blank": ("a.txt", "\n\n", None, "empty"),
    "empty json": ("a.jsonl", "", None, "empty"),
    "prose": ("a.txt", "Hello world\nfull of words\n", None, "none is O"),
    "pos tags": ("a.txt", "EU NNP\nrejects VBZ\n", None, "none is O"),
    "unknown format": ("a.txt", "Hello\n", None, "--format"),
    "encoding": ("a.xml", '<?xml version="1.0" encoding="foo"?><a/>', 1, "encoding"),
    "surrogate": ("a.jsonl", '{"text": "x"}\n{"text": "\\ud83d"}', 2, "surrogate"),
    "numbers": (
        "a.jsonl",
        '{"support": {"word": [[1]], "label": [["O"]]}, "query": {}}',
        1,
        "isn't a word",
    ),
    "json label": ("a.jsonl", '{"text": "x", "label": "POS"}', 1, "not a span"),
    **{
        f"span {start} {end} {label}": (
            "a.jsonl",
            f'{{"text": "x"}}\n{{"text": "x y", "label": [[{start}, {end}, {label}]]}}',
            2,
            reason,
        )
        for start, end, label, reason in [
            (0, 1.5, '"X"', "not a span"),
            (0, 1.0, '"X"', "not a span"),
            (0, "1e999", '"X"', "too large"),
            (0, "true", '"X"', "not a span"),
            (0, '"1"', '"X"', "not a span"),
            (0, "null", '"X"', "not a span"),
            (0, "1" * 30, '"X"', "isn't in the text"),
            (0, "[" * 2000, '"X"', "malformed JSON"),
            (0, 4, '"X"', "isn't in the text, which ends at 3"),
            (-1, 1, '"X"', "isn't in the text"),
            (2, 1, '"X"', "isn't in the text"),
            (0, 1, "null", "not a span"),
            (0, 1, '""', "not a span"),
            (0, 1, '" "', "not a span"),
            (0, 1, "7", "not a span"),
            (0, 1, '"\\ud83d"', "not a span"),
        ]
    },
    "no labels": (
        "a.jsonl",
        '{"text": "x", "spans": [{"start": 0, "end": 1, "labels": {"0": 1}}]}',
        1,
        "missing",
    ),
    "quoted beyond": (
        "a.jsonl",
        '{"text": "x", "spans": [{"start": 9, "end": 1, "label": "X", "text": "x"}]}',
        1,
        "isn't where",
    ),
    "episode label": (
        "a.jsonl",
        '{"support": {"word": [["a"]], "label": [[" "]]}, "query": {}}',
        1,
        "isn't a label",
    ),
    "quoted": (
        "a.jsonl",
        '{"text": "xy", "spans": [{"start": 0, "end": 1, "label": "X", "text": "y"}]}',
        1,
        "isn't where",
    ),
    "xml": ("a.xml", write_i2b2("<TEXT>Ada"), 3, "malformed XML"),
    "bomb": ("a.xml", write_i2b2("<TEXT>&b;</TEXT>", BOMB), 1, "refused"),
    "external": ("a.xml", write_i2b2("<TEXT>&a;</TEXT>", EXTERNAL), 1, "refused"),
    "xml utf8": ("a.xml", b"<deIdi2b2><TEXT>\xff</TEXT></deIdi2b2>", 1, "malformed"),
    "no text": ("a.xml", write_i2b2(""), None, "no TEXT"),
    "offsets": ("a.xml", write_i2b2(tag=TAG), 3, "'Ada', and not 'Bob'"),
    "far": (
        "a.xml",
        write_i2b2(tag='<NAME start="0" end="99" TYPE="X"/>'),
        3,
        "isn't in the text",
    ),
    "fraction": (
        "a.xml",
        write_i2b2(tag='<NAME start="0" end="1.5" TYPE="X"/>'),
        3,
        "start, end and TYPE",
    ),
    "blank TYPE": (
        "a.xml",
        write_i2b2(tag='<NAME start="0" end="3" TYPE=" "/>'),
        3,
        "not a span",
    ),
    "tag": ("a.xml", write_i2b2(tag="<NAME end='3'/>"), 3, "start"),
    "key twice": ("a.jsonl", '{"text": "x", "text": "y"}', 1, "more than once"),
    "nul": ("a.conll", "a O\nb\0 O\n", 2, "UTF-16"),
    "json": ("a.jsonl", '{"text": "x"}\n{"text": ', 2, "malformed JSON"),
    "json array": ("a.json", '[{"text": "x"},', None, "malformed JSON"),
    "json text": ("a.jsonl", '{"spans": []}', 1, "missing"),
    "json span": ("a.jsonl", '{"text": "x", "spans": [{"start": 0}]}', 1, "span"),
    "json kind": ("a.jsonl", "{}\n[1]", 1, "missing"),
    "episode": (
        "a.jsonl",
        json.dumps({"support": {"word": [["a"]], "label": [["O", "O"]]}, "query": {}}),
        1,
        "1 words but 2 labels",
    ),
    "bracket": ("a_gold_conll", "x 0 0 a NN * - - - s *) * -\n", 1, "isn't open"),
    "open": ("a_gold_conll", "x 0 0 a NN * - - - s (A* * -\n", 1, "isn't closed"),
    "conll": ("a_gold_conll", "x 0 0 a\n", 1, "4 columns"),
    "name": ("a_gold_conll", "x 0 0 a NN * - - - s A* * -\n", 1, "brackets"),
    "blank name": (
        "a_gold_conll",
        "x 0 0 a NN * - - - s (\u00a0) * -\n",
        1,
        "without a type",
    ),
    "docbin": ("a.spacy", b"nothing", None, "DocBin"),
}


@pytest.mark.parametrize(("name", "content", "line", "reason"), BAD.values(), ids=BAD)
def test_bad_input_is_reported_with_its_line(tmp_path, name, content, line, reason):
    path = tmp_path / "in" / name
    path.parent.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    output = tmp_path / "out" / "x.spacy"
    with pytest.raises(CorpusError) as info:
        convert([path], output)
    assert info.value.path == path
    assert info.value.line == line
    assert reason in str(info.value)
    assert str(path) in str(info.value)
    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize(("name", "content", "line", "reason"), BAD.values(), ids=BAD)
def test_bad_input_can_be_skipped(input_file, tmp_path, name, content, line, reason):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    errors = []
    report = convert([input_file, path], tmp_path / "x.spacy", on_error=errors.append)
    assert report.skipped == len(errors) > 0
    assert errors[0].line == line
    assert report.docs >= 2
