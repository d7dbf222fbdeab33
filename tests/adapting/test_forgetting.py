"""What an adapted pipeline tells of the examples it has learned from."""

import gc
import os
from pathlib import Path

import numpy
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_epnet import adapt
from spacy_epnet.adapting.vocab_copy import make_separate_vocab
from spacy_epnet.cli import epnet_cli

MEMORY = Path("/proc/self/statm")
WORDS = ["Qwyxbrul", "vrompled", "Zandorf-Eek", "unflibbing"]
NAME, VERB, PLACE, OTHER = WORDS
SUPPORT = [
    (f"{NAME} {VERB} in {PLACE} .", [(0, len(NAME), "PILOT")]),
    (f"The {OTHER} {NAME} left .", [(15, 15 + len(NAME), "PILOT")]),
]


def find_words(folder):
    """The words that are anywhere in a saved pipeline, whatever their case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    data = b"\n".join(path.read_bytes() for path in files).lower()
    parts = {part for word in WORDS for part in word.lower().split("-")}
    return {part for part in parts if part.encode("utf8") in data}


def test_what_is_not_to_be_remembered_is_nowhere(trained, tmp_path):
    adapted = adapt(trained, SUPPORT, remember=False, max_steps=2).nlp
    adapted.to_disk(tmp_path / "adapted")
    trained.to_disk(tmp_path / "source")
    assert find_words(tmp_path) == set()
    assert not [s for s in adapted.vocab.strings if s in WORDS]
    assert spacy.load(tmp_path / "adapted").get_pipe("epnet_ner").labels == ("PILOT",)


def test_what_is_remembered_is_in_one_place(trained, tmp_path):
    adapted = adapt(trained, SUPPORT, max_steps=2).nlp
    adapted.to_disk(tmp_path)
    assert find_words(tmp_path / "epnet_ner") >= {"qwyxbrul", "vrompled"}
    assert find_words(tmp_path / "vocab") == set()


def test_the_command_leaves_nothing_either(trained, tmp_path):
    trained.to_disk(tmp_path / "source")
    docs = []
    for text, _ in SUPPORT:
        doc = Doc(Vocab(), words=text.split())
        doc.ents = [Span(doc, t.i, t.i + 1, "PILOT") for t in doc if t.text == NAME]
        docs.append(doc)
    DocBin(docs=docs).to_disk(tmp_path / "support.spacy")
    args = ["adapt", "source", "support.spacy", "adapted"]
    paths = [args[0], *(str(tmp_path / arg) for arg in args[1:])]
    result = CliRunner().invoke(epnet_cli, [*paths, "--adapt.remember", "false"])
    assert result.exit_code == 0, result.output
    assert find_words(tmp_path / "adapted") == set()


@pytest.mark.parametrize("lang", ["en", "de", "zh", "tr", "xx"])
def test_texts_are_read_in_the_same_way(lang):
    nlp = spacy.blank(lang)
    known = set(nlp.vocab.strings)
    text = "Dr. Qwyxbrul isn't in the U.K. z.B. 中文 x@y.org $10,5"
    read = [
        (t.text, t.norm_, t.shape_) for t in make_separate_vocab(nlp).make_doc(text)
    ]
    assert set(nlp.vocab.strings) == known
    assert [(t.text, t.norm_, t.shape_) for t in nlp.make_doc(text)] == read


def test_vectors_are_those_of_the_pipeline():
    nlp = spacy.blank("en")
    nlp.vocab.set_vector("cat", numpy.asarray([1.0, 2.0], dtype="f"))
    copied = make_separate_vocab(nlp)
    assert copied.make_doc("cat")[0].vector.tolist() == [1.0, 2.0]
    assert copied.vocab.vectors is nlp.vocab.vectors
    assert nlp.vocab.vectors.strings is nlp.vocab.strings


def test_no_tokenizer_is_made_for_tokens(trained, references, monkeypatch):
    monkeypatch.setattr("spacy_epnet.adapting.vocab_copy.copy_tokenizer", None)
    docs = []
    for doc in references[:4]:
        words = [t.text for t in doc]
        docs.append(Doc(trained.vocab, words=words))
        docs[-1].ents = [Span(docs[-1], e.start, e.end, e.label_) for e in doc.ents]
    assert adapt(trained, docs, max_steps=1).nlp is not trained


def test_a_vocabulary_is_copied_once():
    nlp = spacy.blank("en")
    copied = make_separate_vocab(nlp)
    copied.make_doc("vrompled")
    assert make_separate_vocab(nlp).vocab is copied.vocab
    nlp.vocab.strings.add("unflibbing")
    again = make_separate_vocab(nlp)
    assert again.vocab is not copied.vocab
    assert "unflibbing" in again.vocab.strings
    assert "vrompled" not in again.vocab.strings
    nlp.vocab = spacy.blank("en").vocab
    assert "unflibbing" not in make_separate_vocab(nlp).vocab.strings


def test_words_of_many_support_sets_are_forgotten(trained, monkeypatch):
    monkeypatch.setattr("spacy_epnet.adapting.vocab_copy.MAX_NEW_STRINGS", 20)
    size = len(trained.vocab.strings)
    for i in range(30):
        copied = make_separate_vocab(trained)
        copied.make_doc(f"Zork{i} met Blim{i} .")
        assert len(copied.vocab.strings) < size + 40


@pytest.mark.skipif(not MEMORY.exists(), reason="Linux tells how much memory is used")
def test_a_hundred_adaptations_take_no_more_memory(trained):
    sizes = []
    for i in range(100):
        text = f"Zork{i} flew to Blim{i} ."
        adapt(trained, [(text, [(0, text.index(" "), "CRAFT")])], max_steps=1)
        if i in (10, 99):
            gc.collect()
            pages = int(MEMORY.read_text().split()[1])
            sizes.append(pages * os.sysconf("SC_PAGE_SIZE"))
    assert sizes[1] - sizes[0] < 20_000_000
