"""Files written in each format, and the entities they must give."""

import gzip
import json

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_epnet.corpora.convert import convert
from spacy_epnet.corpora.docs import META_KEY, OVERLAPPING, UNALIGNED
from spacy_epnet.corpora.formats import detect_format
from spacy_epnet.corpora.readers.columns import SEVERAL
from spacy_epnet.corpora.readers.conll2012 import NESTED
from spacy_epnet.corpora.readers.json_lines import REJECTED
from spacy_epnet.corpora.tags import write_tags


@pytest.fixture
def run(tmp_path):
    """Convert a text, and give the docs and the report."""

    def run(content, name="input.txt", **settings):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode("utf8")
        path.write_bytes(data)
        output = tmp_path / "out" / "output.spacy"
        report = convert([path], output, **settings)
        docs = DocBin(store_user_data=True).from_disk(output).get_docs(Vocab())
        return list(docs), report

    return run


def get_ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def get_words(docs):
    return [[token.text for token in doc] for doc in docs]


BIO = """Ada\tB-PER
Lovelace\tI-PER
met\tO
Bob\tB-PER

nobody\tO

in\tO
Paris\tB-LOC
"""


def test_bio_at_both_ends_of_a_sentence(run):
    docs, report = run(BIO)
    assert [get_ents(doc) for doc in docs] == [
        [("Ada Lovelace", "PER"), ("Bob", "PER")],
        [],
        [("Paris", "LOC")],
    ]
    assert all(doc.has_annotation("ENT_IOB") for doc in docs)
    assert all(doc.has_unknown_spaces for doc in docs)
    assert report.to_dict()["entities_per_type"] == {"PER": 2, "LOC": 1}
    assert (report.docs, report.tokens) == (3, 7)


def test_writing_bio_gives_the_file_back(run):
    docs, _ = run(BIO)
    blocks = []
    for doc in docs:
        tags = write_tags(len(doc), [(e.start, e.end, e.label_) for e in doc.ents])
        rows = zip(doc, tags, strict=True)
        blocks.append("".join(f"{token.text}\t{tag}\n" for token, tag in rows))
    assert "\n".join(blocks) == BIO


def test_adjacent_entities_of_one_type(run):
    docs, _ = run("a\tB-X\nb\tB-X\nc\tI-X\n")
    assert get_ents(docs[0]) == [("a", "X"), ("b c", "X")]


@pytest.mark.parametrize(
    "content",
    [
        BIO.replace("\n", "\r\n"),
        "\ufeff" + BIO,
        BIO + "\n\n\n",
        "\n\n" + BIO,
        BIO.rstrip("\n"),
        BIO.replace("\t", " "),
        BIO.replace("\t", "   "),
        gzip.compress(BIO.encode()),
    ],
    ids=[
        "crlf",
        "bom",
        "blank end",
        "blank start",
        "no end",
        "space",
        "spaces",
        "gzip",
    ],
)
def test_variations_of_a_column_file_give_the_same(run, content):
    docs, _ = run(content)
    assert get_words(docs)[0] == ["Ada", "Lovelace", "met", "Bob"]
    assert [len(doc.ents) for doc in docs] == [2, 0, 1]


def test_odd_tokens_stay_as_they_are(run):
    words = ["\u00a0", "New\u00a0York", "🎉", "👩‍🚀", "\u2028", "a,b", "#", '"']
    docs, _ = run("".join(f"{word}\tO\n" for word in words))
    assert get_words(docs) == [words]


CONLL2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP I-ORG
rejects VBZ B-VP O
German JJ B-NP I-MISC
British JJ B-NP B-MISC
lamb NN I-NP O

Peter NNP B-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- -X- O

BRUSSELS NNP B-NP I-LOC
1996-08-22 CD I-NP O
"""


def test_conll2003_in_iob1(run):
    docs, _ = run(CONLL2003)
    assert [get_ents(doc) for doc in docs] == [
        [("EU", "ORG"), ("German", "MISC"), ("British", "MISC")],
        [("Peter Blackburn", "PER")],
        [("BRUSSELS", "LOC")],
    ]


def test_documents_can_be_kept(run):
    docs, report = run(CONLL2003, keep_docs=True)
    assert [len(list(doc.sents)) for doc in docs] == [2, 1]
    assert [sent.text for sent in docs[0].sents][1].strip() == "Peter Blackburn"
    assert [get_ents(doc)[-1][0] for doc in docs] == ["Peter Blackburn", "BRUSSELS"]
    assert (report.docs, report.sentences) == (2, 3)


def test_any_columns_and_separator(run):
    rows = "1|Ada|NNP|B-PER|x\n2|left|VBD|O|y\n"
    docs, _ = run(rows, columns=(1, 3), separator="|")
    assert get_ents(docs[0]) == [("Ada", "PER")]


def test_io_runs(run):
    docs, _ = run("a\tX\nb\tX\nc\tY\nd\tO\n")
    assert get_ents(docs[0]) == [("a b", "X"), ("c", "Y")]


def test_wnut_rows_with_several_annotations_are_reported(run):
    docs, report = run("a\tB-x,B-y\nb\tO\nc\tO,B-y\n", format="wnut17")
    assert get_ents(docs[0]) == [("a", "x")]
    assert report.notes[SEVERAL] == 2


CONLL2012 = """#begin document (bc/cctv/00/cctv_0000); part 000
bc/cctv/00/cctv_0000 0 0 The DT (TOP(NP* - - - spk * * -
bc/cctv/00/cctv_0000 0 1 Hong NNP * - - - spk (ORG(GPE* * -
bc/cctv/00/cctv_0000 0 2 Kong NNP * - - - spk *) * -
bc/cctv/00/cctv_0000 0 3 Bank NNP *) - - - spk *) * -
bc/cctv/00/cctv_0000 0 4 2004 CD * - - - spk (DATE) * (0)

bc/cctv/00/cctv_0000 0 0 Paris NNP * - - - spk (GPE) * -

#end document
#begin document (bc/cctv/00/cctv_0000); part 001
bc/cctv/00/cctv_0000 1 0 Yes UH * - - - spk * * -

#end document
"""


def test_conll2012_brackets(run):
    docs, report = run(CONLL2012, name="a/cctv_0000.v4_gold_conll")
    assert [get_ents(doc) for doc in docs] == [
        [("Hong Kong Bank", "ORG"), ("2004", "DATE")],
        [("Paris", "GPE")],
        [],
    ]
    assert report.notes[NESTED] == 1
    docs, _ = run(CONLL2012, name="a/cctv_0000.v4_gold_conll", keep_docs=True)
    assert [len(doc) for doc in docs] == [6, 1]


def test_folders_of_ontonotes_have_more_than_gold_files(tmp_path):
    folder = tmp_path / "train" / "bc"
    folder.mkdir(parents=True)
    (folder / "b.v4_gold_conll").write_text(CONLL2012)
    (folder / "a.v4_gold_conll").write_text(CONLL2012)
    (folder / "a.v4_auto_conll").write_text("no gold")
    (folder / "a.parse").write_text("(TOP)")
    report = convert([tmp_path / "train"], tmp_path / "out.spacy")
    assert (report.files, report.docs, report.duplicates) == (2, 6, 3)


I2B2 = """<?xml version="1.0" encoding="UTF-8" ?>
<deIdi2b2>
<TEXT><![CDATA[Record date: 2067-05-03

Mr. Ng was seen by Dr. X. Oliveira-Smith. Call 5551234x99.
]]></TEXT>
<TAGS>
<DATE id="P0" start="13" end="23" text="2067-05-03" TYPE="DATE" comment="" />
<NAME id="P1" start="29" end="31" text="Ng" TYPE="PATIENT" comment="" />
<NAME id="P2" start="48" end="65" text="X. Oliveira-Smith" TYPE="DOCTOR" comment="" />
<CONTACT id="P3" start="72" end="79" text="5551234" TYPE="PHONE" comment="" />
</TAGS>
</deIdi2b2>
"""


def test_i2b2_offsets(run):
    docs, report = run(I2B2, name="110-01.xml")
    ents = [ent for doc in docs for ent in get_ents(doc)]
    assert ents == [
        ("2067-05-03", "DATE"),
        ("Ng", "PATIENT"),
        ("X. Oliveira-Smith", "DOCTOR"),
    ]
    assert report.notes[UNALIGNED] == 1
    unknown = [t.text for doc in docs for t in doc if t.ent_iob == 0]
    assert unknown == ["5551234x99"]
    docs, _ = run(I2B2, name="110-01.xml", keep_docs=True)
    assert len(docs) == 1
    assert docs[0].text.startswith("Record date: 2067-05-03\n\nMr. Ng")
    assert docs[0].user_data[META_KEY] == {"file": "110-01.xml"}


def test_sentences_are_not_cut_inside_an_entity(run):
    span = {"start": 5, "end": 20, "label": "X"}
    record = {"text": "Meet St. Mary. Fine! Now go.", "spans": [span]}
    docs, _ = run(json.dumps(record), name="a.jsonl")
    assert [get_ents(doc) for doc in docs] == [[("St. Mary. Fine!", "X")], []]


TEXT = "Ada lives in Paris."
JSON = {
    "prodigy": {
        "text": TEXT,
        "spans": [
            {"start": 0, "end": 3, "label": "PER", "token_start": 0},
            {"start": 13, "end": 18, "label": "LOC"},
        ],
        "answer": "accept",
    },
    "doccano": {"id": 1, "text": TEXT, "label": [[0, 3, "PER"], [13, 18, "LOC"]]},
    "doccano entities": {
        "text": TEXT,
        "entities": [
            {"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3},
            {"id": 2, "label": "LOC", "start_offset": 13, "end_offset": 18},
        ],
    },
    "label studio": {
        "data": {"text": TEXT},
        "annotations": [
            {"was_cancelled": True, "result": []},
            {
                "result": [
                    {"type": "choices", "value": {"choices": ["x"]}},
                    {
                        "type": "labels",
                        "value": {"start": 0, "end": 3, "labels": ["PER"]},
                    },
                    {
                        "type": "labels",
                        "value": {"start": 13, "end": 18, "labels": ["LOC"]},
                    },
                ]
            },
        ],
    },
    "label studio short": {
        "text": TEXT,
        "label": [
            {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]},
            {"start": 13, "end": 18, "text": "Paris", "labels": ["LOC"]},
        ],
    },
    "spaces at the edges": {"text": TEXT, "label": [[0, 4, "PER"], [12, 18, "LOC"]]},
}


@pytest.mark.parametrize("record", JSON.values(), ids=JSON)
@pytest.mark.parametrize("form", ["lines", "array"])
def test_exports_of_annotation_tools(run, record, form):
    line = json.dumps(record)
    content = f"{line}\n\n{line}\n" if form == "lines" else f"[{line}, {line}]"
    docs, report = run(content, name="a.json")
    assert [get_ents(doc) for doc in docs] == [[("Ada", "PER"), ("Paris", "LOC")]] * 2
    assert docs[0].text == TEXT
    assert report.duplicates == 1


def test_rejected_records_and_overlaps_are_counted(run):
    rejected = {**JSON["prodigy"], "answer": "reject"}
    overlapping = {"text": TEXT, "label": [[0, 3, "A"], [0, 9, "B"], [90, 95, "C"]]}
    content = "\n".join(json.dumps(record) for record in (rejected, overlapping))
    docs, report = run(content, name="a.jsonl")
    assert [get_ents(doc) for doc in docs] == [[("Ada lives", "B")]]
    assert report.notes == {REJECTED: 1, OVERLAPPING: 1, UNALIGNED: 1}


def test_fewnerd_episodes(run):
    part = {"word": [["Ada", "left"], ["x"]], "label": [["person-other", "O"], ["O"]]}
    episode = {"support": part, "query": part, "types": ["person-other"]}
    docs, _ = run(f"{json.dumps(episode)}\n{json.dumps(episode)}", name="5_1.jsonl")
    assert len(docs) == 8
    assert get_ents(docs[0]) == [("Ada", "person-other")]
    assert docs[2].user_data[META_KEY] == {"episode": 1, "part": "query"}
    assert docs[7].user_data[META_KEY] == {"episode": 2, "part": "query"}


def test_existing_docbins(run):
    vocab = Vocab()
    doc = Doc(vocab, words=["Ada", "left", "Rio"], spaces=[True, True, False])
    doc.set_ents([Span(doc, 0, 1, label="PER")], missing=[doc[2:3]])
    docs, _ = run(DocBin(docs=[doc]).to_bytes(), name="a.spacy")
    assert get_ents(docs[0]) == [("Ada", "PER")]
    assert docs[0].text == "Ada left Rio"
    assert [token.ent_iob_ for token in docs[0]] == ["B", "O", ""]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", BIO, "columns"),
        ("a.conll.gz", BIO, "columns"),
        ("a", CONLL2012, "conll2012"),
        ("a_gold_conll", "", "conll2012"),
        ("a", I2B2, "i2b2"),
        ("a", '{"text": "x"}', "jsonl"),
        ("a.jsonl.gz", "", "jsonl"),
        ("a.spacy", "", "spacy"),
    ],
)
def test_formats_are_told_apart(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_text(content, encoding="utf8")
    assert detect_format(path) == expected
