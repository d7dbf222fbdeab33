"""Files written in each format, and the entities they must give."""

import json

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.docs import META_KEY, OVERLAPPING, UNALIGNED
from spacy_epnet.corpora.label_mapping import LabelMapping
from spacy_epnet.corpora.readers import detect_format
from spacy_epnet.corpora.readers.json_lines import REJECTED, SEVERAL_LABELS

from ..util.corpus_tools import BIO, CONLL2012, I2B2, JSON, TEXT, get_ents, get_words


def test_conll2012_brackets(convert_text):
    docs, report = convert_text(CONLL2012, name="a/cctv_0000.v4_gold_conll")
    assert [get_ents(doc) for doc in docs] == [
        [("Hong Kong Bank", "ORG"), ("2004", "DATE")],
        [("Paris", "GPE")],
        [],
    ]
    assert report.notes[OVERLAPPING] == 1
    mapping = LabelMapping(types=["GPE"])
    docs, report = convert_text(CONLL2012, name="a.v4_gold_conll", mapping=mapping)
    assert [get_ents(doc) for doc in docs[:2]] == [
        [("Hong Kong", "GPE")],
        [("Paris", "GPE")],
    ]
    assert report.notes[OVERLAPPING] == 0
    docs, _ = convert_text(CONLL2012, name="a/cctv_0000.v4_gold_conll", keep_docs=True)
    assert [len(doc) for doc in docs] == [6, 1]


def test_comments_in_conll2012(convert_text):
    rows = CONLL2012.replace("bc/cctv/00/cctv_0000 0 1", "# note\nbc/cctv 0 1", 1)
    docs, report = convert_text(rows, name="a_gold_conll", comment="#")
    expected, _ = convert_text(CONLL2012, name="b_gold_conll")
    assert get_words(docs) == get_words(expected)
    assert report.docs == 3


def test_folders_of_ontonotes_have_more_than_gold_files(tmp_path):
    folder = tmp_path / "train" / "bc"
    folder.mkdir(parents=True)
    (folder / "b.v4_gold_conll").write_text(CONLL2012)
    (folder / "a.v4_gold_conll").write_text(CONLL2012)
    (folder / "a.v4_auto_conll").write_text("no gold")
    (folder / "a.parse").write_text("(TOP)")
    report = convert([tmp_path / "train"], tmp_path / "out.spacy")
    assert (report.files, report.docs, report.duplicates) == (2, 6, 3)


def test_i2b2_offsets(convert_text):
    docs, report = convert_text(I2B2, name="110-01.xml")
    ents = [ent for doc in docs for ent in get_ents(doc)]
    assert ents == [
        ("2067-05-03", "DATE"),
        ("Ng", "PATIENT"),
        ("X. Oliveira-Smith", "DOCTOR"),
    ]
    assert report.notes[UNALIGNED] == 1
    (hint,) = report.hints
    assert hint.startswith('PHONE "5551234" ends inside a token. Mark "5551234x99"')
    assert hint.endswith("from 72 to 82")
    unknown = [t.text for doc in docs for t in doc if t.ent_iob == 0]
    assert unknown == ["5551234x99"]
    docs, _ = convert_text(I2B2, name="110-01.xml", keep_docs=True)
    assert len(docs) == 1
    assert docs[0].text.startswith("Record date: 2067-05-03\n\nMr. Ng")
    assert docs[0].user_data[META_KEY] == {"file": "110-01.xml"}


def test_sentences_are_not_cut_inside_an_entity(convert_text):
    span = {"start": 5, "end": 20, "label": "X"}
    record = {"text": "Meet St. Mary. Fine! Now go.", "spans": [span]}
    docs, _ = convert_text(json.dumps(record), name="a.jsonl")
    assert [get_ents(doc) for doc in docs] == [[("St. Mary. Fine!", "X")], []]


@pytest.mark.parametrize("record", JSON.values(), ids=JSON)
@pytest.mark.parametrize("form", ["lines", "array"])
def test_exports_of_annotation_tools(convert_text, record, form):
    line = json.dumps(record)
    content = f"{line}\n\n{line}\n" if form == "lines" else f"[{line}, {line}]"
    docs, report = convert_text(content, name="a.json")
    assert [get_ents(doc) for doc in docs] == [[("Ada", "PER"), ("Paris", "LOC")]] * 2
    assert docs[0].text == TEXT
    assert report.duplicates == 1


def test_rejected_records_and_overlaps_are_counted(convert_text):
    rejected = {**JSON["prodigy"], "answer": "reject"}
    overlapping = {"text": TEXT, "label": [[0, 3, "A"], [0, 9, "B"], [3, 4, "C"]]}
    content = "\n".join(json.dumps(record) for record in (rejected, overlapping))
    docs, report = convert_text(content, name="a.jsonl")
    assert [get_ents(doc) for doc in docs] == [[("Ada lives", "B")]]
    assert report.notes == {REJECTED: 1, OVERLAPPING: 1, UNALIGNED: 1}


def test_unannotated_tasks_are_no_negatives(convert_text):
    tasks = [
        {"data": {"text": TEXT}, "annotations": []},
        {
            "data": {"text": TEXT},
            "annotations": [{"was_canceled": True, "result": []}],
        },
        {"data": {"text": TEXT}, "annotations": [{"result": []}]},
    ]
    docs, report = convert_text(json.dumps(tasks), name="a.json")
    assert len(docs) == 1
    assert report.notes[REJECTED] == 2


def test_offsets_of_javascript_are_understood(convert_text):
    value = {"start": 3, "end": 6, "text": "Ada", "labels": ["PER", "X"]}
    record = {
        "data": {"text": "💩 Ada left"},
        "annotations": [{"result": [{"value": value}]}],
    }
    docs, report = convert_text(json.dumps(record), name="a.jsonl")
    assert get_ents(docs[0]) == [("Ada", "PER")]
    assert report.notes[SEVERAL_LABELS] == 1


def test_wanted_types_are_not_hidden_by_others(convert_text):
    record = {"text": TEXT, "label": [], "entities": [[0, 3, "A"], [0, 9, "B"]]}
    settings = {"mapping": LabelMapping(drop_types=["B"])}
    docs, report = convert_text(json.dumps(record), name="a.jsonl", **settings)
    assert get_ents(docs[0]) == [("Ada", "A")]
    assert report.notes[OVERLAPPING] == 0


def test_spans_of_nothing_are_counted(convert_text):
    record = {"text": "Ada  left", "label": [[3, 5, "A"], [5, 5, "C"], [9, 9, "D"]]}
    docs, report = convert_text(json.dumps(record), name="a.jsonl")
    assert get_ents(docs[0]) == []
    assert report.notes[UNALIGNED] == 3


def test_fewnerd_episodes(convert_text):
    part = {"word": [["Ada", "left"], ["x"]], "label": [["person-other", "O"], ["O"]]}
    episode = {"support": part, "query": part, "types": ["person-other"]}
    docs, _ = convert_text(
        f"{json.dumps(episode)}\n\n{json.dumps(episode)}", name="5_1.jsonl"
    )
    assert len(docs) == 8
    assert get_ents(docs[0]) == [("Ada", "person-other")]
    assert docs[2].user_data[META_KEY] == {"episode": 1, "part": "query"}
    assert docs[7].user_data[META_KEY] == {"episode": 2, "part": "query"}


def test_existing_docbins(convert_text):
    vocab = Vocab()
    doc = Doc(vocab, words=["Ada", "left", "Rio"], spaces=[True, True, False])
    doc.set_ents([Span(doc, 0, 1, label="PER")], missing=[doc[2:3]])
    docs, _ = convert_text(DocBin(docs=[doc]).to_bytes(), name="a.spacy")
    assert get_ents(docs[0]) == [("Ada", "PER")]
    assert docs[0].text == "Ada left Rio"
    assert [token.ent_iob_ for token in docs[0]] == ["B", "O", ""]


def test_entities_over_two_sentences_join_them(convert_text):
    doc = Doc(
        Vocab(), words=["a", "b", "c", "d"], sent_starts=[True, False, True, True]
    )
    doc.set_ents([Span(doc, 1, 3, label="X")])
    doc.user_data[META_KEY] = {"part": "query"}
    attrs = ["ENT_IOB", "ENT_TYPE", "SENT_START"]
    doc_bin = DocBin(docs=[doc], attrs=attrs, store_user_data=True)
    docs, _ = convert_text(doc_bin.to_bytes(), name="a.spacy")
    assert get_words(docs) == [["a", "b", "c"], ["d"]]
    assert get_ents(docs[0]) == [("b c", "X")]
    assert docs[1].user_data[META_KEY] == {"part": "query"}


@pytest.mark.parametrize("name", ["a_gold_conll", "a.xml", "a.jsonl"])
@pytest.mark.parametrize("prefix", ["", "\ufeff"], ids=["plain", "bom"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_line_ends_and_marks_change_nothing(convert_text, name, prefix, end):
    contents = {
        "a_gold_conll": CONLL2012,
        "a.xml": I2B2,
        "a.jsonl": json.dumps(JSON["doccano"]) + "\n",
    }
    expected, _ = convert_text(contents[name], name=name)
    docs, _ = convert_text(prefix + contents[name].replace("\n", end), name=name)
    assert get_words(docs) == get_words(expected)
    assert [get_ents(doc) for doc in docs] == [get_ents(doc) for doc in expected]
    assert sum(len(doc.ents) for doc in docs) >= 2


def test_spaces_that_do_not_break_and_emoji_stay_in_every_format(convert_text):
    word = "New\u00a0York🎉"
    rows = CONLL2012.replace(" Paris ", f" {word} ")
    docs, _ = convert_text(rows, name="a_gold_conll")
    assert get_ents(docs[1]) == [(word, "GPE")]
    episode = {"word": [[word, "x"]], "label": [["LOC", "O"]]}
    content = json.dumps({"support": episode, "query": episode})
    docs, _ = convert_text(content, name="a.jsonl")
    assert get_ents(docs[0]) == [(word, "LOC")]
    text = "🎉 in New\u00a0York now"
    spans = [{"start": 5, "end": 13, "label": "LOC", "text": "New\u00a0York"}]
    docs, _ = convert_text(json.dumps({"text": text, "spans": spans}), name="a.jsonl")
    assert get_ents(docs[0]) == [("New\u00a0York", "LOC")]
    xml = I2B2.replace("Mr. Ng", "Mr. Ño").replace('text="Ng"', 'text="Ño"')
    docs, _ = convert_text(xml, name="a.xml")
    assert ("Ño", "PATIENT") in [ent for doc in docs for ent in get_ents(doc)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", BIO, "columns"),
        ("a.txt", "[ O\nx O\n", "columns"),
        ("a", '[\n  {"text": "x"}]', "jsonl"),
        ("a", '\ufeff\n { "text": "x"}', "jsonl"),
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
