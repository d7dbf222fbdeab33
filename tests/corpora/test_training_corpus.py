"""The corpora that `spacy train` reads."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus
from spacy.util import registry

from spacy_epnet.corpora.training_corpus import make_training_corpus
from spacy_epnet.errors import CorpusError, SettingError

from ..conftest import get_ents


def read(path, **settings):
    nlp = spacy.blank("en")
    return list(make_training_corpus(path, **settings)(nlp))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "Ada\tB-PER\nleft\tO\n\nRio\tB-LOC\n"),
        ("a.conll", "Ada X B-PER\nleft X O\n\nRio X B-LOC\n"),
        (
            "a.jsonl",
            '{"text": "Ada left", "spans": [[0, 3, "PER"]]}\n'
            '{"text": "Rio", "spans": [[0, 3, "LOC"]]}\n',
        ),
    ],
)
def test_any_format_is_read(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf8")
    examples = read(tmp_path / name)
    assert [[token.text for token in eg.predicted] for eg in examples] == [
        ["Ada", "left"],
        ["Rio"],
    ]
    ents = [get_ents(eg.reference) for eg in examples]
    assert ents == [[(0, 1, "PER")], [(0, 1, "LOC")]]
    assert not any(eg.predicted.ents for eg in examples)
    assert len(read(tmp_path / name, limit=1)) == 1


def test_what_spacy_has_written_is_read_as_spacy_reads_it(tmp_path):
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=["Ada", "left", "Rio"], tags=["A", "B", "A"])
    doc.set_ents([Span(doc, 0, 1, "PER")])
    doc.user_data["note"] = 1
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "a.spacy")
    ours, theirs = (
        [(eg.predicted.to_json(), eg.reference.to_json()) for eg in found]
        for found in (read(tmp_path), Corpus(tmp_path)(nlp))
    )
    assert ours == theirs


def test_examples_are_augmented(tmp_path):
    (tmp_path / "a.txt").write_text("Ada\tB-PER\nleft\tO\n")
    augment = registry.augmenters.get("spacy.lower_case.v1")(level=1.0)
    (eg,) = read(tmp_path, augmenter=augment)
    assert eg.reference[0].text == "ada"


def test_a_corpus_that_is_not_there(tmp_path):
    with pytest.raises(SettingError, match=r"--paths\.train"):
        make_training_corpus(None)
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "missing.txt")
