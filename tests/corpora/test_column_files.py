"""Column files in all their variations, and the entities they must give."""

import gzip

import pytest

from spacy_epnet.corpora.readers.columns import REPAIRED, SEVERAL
from spacy_epnet.corpora.tags import write_tags

from ..util.corpus_tools import BIO, get_ents, get_words


def test_bio_at_both_ends_of_a_sentence(convert_text):
    docs, report = convert_text(BIO)
    assert [get_ents(doc) for doc in docs] == [
        [("Ada Lovelace", "PER"), ("Bob", "PER")],
        [],
        [("Paris", "LOC")],
    ]
    assert all(doc.has_annotation("ENT_IOB") for doc in docs)
    assert all(doc.has_unknown_spaces for doc in docs)
    assert report.to_dict()["entities_per_type"] == {"PER": 2, "LOC": 1}
    assert (report.docs, report.tokens) == (3, 7)


def test_writing_bio_gives_the_file_back(convert_text):
    docs, _ = convert_text(BIO)
    blocks = []
    for doc in docs:
        tags = write_tags(len(doc), [(e.start, e.end, e.label_) for e in doc.ents])
        rows = zip(doc, tags, strict=True)
        blocks.append("".join(f"{token.text}\t{tag}\n" for token, tag in rows))
    assert "\n".join(blocks) == BIO


def test_adjacent_entities_of_one_type(convert_text):
    docs, _ = convert_text("a\tB-X\nb\tB-X\nc\tI-X\n")
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
def test_variations_of_a_column_file_give_the_same(convert_text, content):
    docs, _ = convert_text(content)
    assert get_words(docs)[0] == ["Ada", "Lovelace", "met", "Bob"]
    assert [len(doc.ents) for doc in docs] == [2, 0, 1]


def test_odd_tokens_stay_as_they_are(convert_text):
    words = ["\u00a0", "New\u00a0York", "🎉", "👩‍🚀", "\u2028", "a,b", "#", '"']
    docs, _ = convert_text("".join(f"{word}\tO\n" for word in words))
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


def test_conll2003_in_iob1(convert_text):
    docs, _ = convert_text(CONLL2003)
    assert [get_ents(doc) for doc in docs] == [
        [("EU", "ORG"), ("German", "MISC"), ("British", "MISC")],
        [("Peter Blackburn", "PER")],
        [("BRUSSELS", "LOC")],
    ]


def test_documents_can_be_kept(convert_text):
    docs, report = convert_text(CONLL2003, keep_docs=True)
    assert [len(list(doc.sents)) for doc in docs] == [2, 1]
    assert [sent.text for sent in docs[0].sents][1].strip() == "Peter Blackburn"
    assert [get_ents(doc)[-1][0] for doc in docs] == ["Peter Blackburn", "BRUSSELS"]
    assert (report.docs, report.sentences) == (2, 3)


def test_any_columns_and_separator(convert_text):
    rows = "1|Ada|NNP|B-PER|x\n2|left|VBD|O|y\n"
    docs, _ = convert_text(rows, columns=(1, 3), separator="|")
    assert get_ents(docs[0]) == [("Ada", "PER")]


def test_io_runs(convert_text):
    docs, _ = convert_text("a\tX\nb\tX\nc\tY\nd\tO\n")
    assert get_ents(docs[0]) == [("a b", "X"), ("c", "Y")]


def test_wnut_rows_with_several_annotations_are_reported(convert_text):
    docs, report = convert_text("a\tB-x,B-y\nb\tO\nc\tO,B-y\n", format="wnut17")
    assert get_ents(docs[0]) == [("a", "x")]
    assert report.notes[SEVERAL] == 2


def test_wnut_entities_that_begin_with_i_are_repaired_and_reported(convert_text):
    rows = "Sly-\tI-person\nTurn\tI-creative-work\nUp\tI-creative-work\n"
    docs, report = convert_text(rows, format="wnut17")
    assert get_ents(docs[0]) == [("Sly-", "person"), ("Turn Up", "creative-work")]
    assert report.notes[REPAIRED] == 1
    docs, _ = convert_text(f"x\tB-y\n\n{rows}", repair_tags=True)
    assert get_ents(docs[1]) == [("Sly-", "person"), ("Turn Up", "creative-work")]


def test_documents_end_sentences(convert_text):
    rows = "-DOCSTART- O\na\tB-X\n-DOCSTART- O\nb\tB-X\n\nc\tO\n"
    docs, _ = convert_text(rows, keep_docs=True)
    assert get_words(docs) == [["a"], ["b", "c"]]


def test_comments_and_trailing_blanks_are_no_tokens(convert_text):
    rows = "# id 1 domain=en\nEU _ _ B-ORG \nx _ _ O\t\n\n# id 2\ny _ _ O\n"
    docs, _ = convert_text(rows, comment="# id")
    assert get_words(docs) == [["EU", "x"], ["y"]]
    assert get_ents(docs[0]) == [("EU", "ORG")]


def test_underscores_part_prefixes_too(convert_text):
    docs, _ = convert_text("EU\tB_ORG\nx\tI_ORG\ny\tO\n")
    assert get_ents(docs[0]) == [("EU x", "ORG")]
