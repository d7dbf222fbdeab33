"""What happens around the readers: types, errors, shards, the command."""

import errno
import gzip

import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from spacy.training import Corpus
from spacy.vocab import Vocab

from spacy_epnet.corpora import files as corpus_files
from spacy_epnet.corpora.conversion import convert
from spacy_epnet.corpora.docs import META_KEY
from spacy_epnet.corpora.label_mapping import LabelMapping, read_groups, resolve_types
from spacy_epnet.errors import CorpusError

from ..conftest import ROOT, ROWS
from ..util.commands import read


def run(*args, code=0):
    return read("epnet", "convert", *args, code=code)


def read_docs(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def get_labels(path):
    return [[ent.label_ for ent in doc.ents] for doc in read_docs(path)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [["PER", "LOC"], ["ORG"]]),
        ({"types": ["PER", "ORG"]}, [["PER"], ["ORG"]]),
        ({"drop_types": ["PER", "ORG"]}, [["LOC"], []]),
        ({"rename": {"PER": "PERSON"}}, [["PERSON", "LOC"], ["ORG"]]),
        ({"types": ["PER"], "rename": {"PER": "X", "ORG": "Y"}}, [["X"], []]),
        ({"cut_types": "R"}, [["PE", "LOC"], ["O"]]),
        ({"cut_types": "O", "rename": {"PER": "X"}}, [["X", "L"], ["ORG"]]),
    ],
)
def test_types_are_kept_dropped_and_renamed(input_file, tmp_path, settings, expected):
    output = tmp_path / "out.spacy"
    mapping = LabelMapping(**settings)
    report = convert([input_file], output, mapping=mapping)
    assert get_labels(output) == expected
    assert sum(report.dropped.values()) == 3 - sum(map(len, expected))
    assert all(doc.has_annotation("ENT_IOB") for doc in read_docs(output))


def test_groups_stand_for_their_types():
    groups = read_groups(ROOT / "configs" / "groups.yml")
    assert {name: len(types) for name, types in groups.items()} == {
        "A": 6,
        "B": 6,
        "C": 6,
    }
    assert len({label for types in groups.values() for label in types}) == 18
    assert resolve_types(["@B", "X"], groups) == [*groups["B"], "X"]
    with pytest.raises(ValueError, match=r"'D'.*A, B, C"):
        resolve_types(["@D"], groups)


def test_several_files_and_folders_give_one_output(input_file, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b.txt", "a.txt.gz", ".hidden"):
        data = ROWS.replace("Ada", name).encode()
        (folder / name).write_bytes(gzip.compress(data) if "gz" in name else data)
    output = tmp_path / "out.spacy"
    report = convert([input_file, folder], output)
    assert (report.files, report.docs) == (3, 6)
    assert [doc[0].text for doc in read_docs(output)][::2] == [
        "Ada",
        "a.txt.gz",
        "b.txt",
    ]


def test_large_corpora_become_folders_that_spacy_reads(input_file, tmp_path):
    input_file.write_text("\n".join(ROWS.replace("Ada", f"w{i}") for i in range(25)))
    output = tmp_path / "out.spacy"
    convert([input_file], output, shard_size=20)
    assert sorted(path.name for path in output.iterdir()) == [
        "00000.spacy",
        "00001.spacy",
        "00002.spacy",
    ]
    nlp = spacy.blank("en")
    assert [eg.x[0].text for eg in Corpus(output)(nlp)][::2] == [
        f"w{i}" for i in range(25)
    ]
    convert([input_file], output, shard_size=100)
    assert output.is_file()
    convert([input_file], output, shard_size=20)
    assert output.is_dir()


def test_what_is_known_of_docs_is_kept_after_docs_of_which_nothing_is(
    input_file, tmp_path
):
    record = tmp_path / "z.jsonl"
    part = {"word": [["Ada"]], "label": [["PER"]]}
    srsly.write_jsonl(record, [{"support": part, "query": part}])
    output = tmp_path / "out.spacy"
    convert([input_file, record], output)
    docs = [
        doc
        for shard in sorted(output.iterdir())
        for doc in DocBin(store_user_data=True).from_disk(shard).get_docs(Vocab())
    ]
    parts = [doc.user_data.get(META_KEY, {}).get("part") for doc in docs]
    assert parts == [None, None, "support", "query"]


def test_a_share_of_the_docs_can_be_held_out(input_file, tmp_path):
    input_file.write_text("\n".join(f"w{i}\tO\n" for i in range(25)))
    output, held = tmp_path / "train.spacy", tmp_path / "dev.spacy"
    run(input_file, output, "--hold-out", held, "--hold-out-share", 0.2)
    words = [[doc[0].text for doc in read_docs(path)] for path in (output, held)]
    assert words[1] == ["w4", "w9", "w14", "w19", "w24"]
    run(input_file, output, "--hold-out", held, "--hold-out-share", 0.4)
    assert (len(read_docs(output)), len(read_docs(held))) == (15, 10)
    run(input_file, output, "--hold-out", held, "--hold-out-share", 0.2)
    assert sorted(words[0] + words[1]) == sorted(f"w{i}" for i in range(25))


def test_each_file_becomes_a_corpus_of_a_folder(input_file, tmp_path):
    other = tmp_path / "in" / "other.txt"
    other.parent.mkdir()
    other.write_text("\n".join(f"w{i}\tB-NEW\n" for i in range(25)))
    args = "--hold-out", tmp_path / "held-out", "--hold-out-share", 0.5
    args += "--report", tmp_path / "report.json", "--drop-types", "NEW,PER"
    text = run(input_file, other.parent, tmp_path / "out", *args)
    assert "Wrote 27 docs" in text
    assert "didn't occur" not in text
    for folder, count in (("out", 13), ("held-out", 12)):
        names = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert names == [f"{input_file.stem}.spacy", "other.spacy"]
        assert len(read_docs(tmp_path / folder / "other.spacy")) == count
    reports = srsly.read_json(tmp_path / "report.json")
    dropped = {name: report["dropped_per_type"] for name, report in reports.items()}
    assert dropped == {input_file.stem: {"PER": 1}, "other": {"NEW": 25}}
    (other.parent / "other.iob").write_text(ROWS)
    reason = "Convert them one by one"
    assert reason in run(other.parent, tmp_path / "out", code=1)
    args = tmp_path / "new", "--hold-out", tmp_path / "dev.spacy"
    assert "Give one without a suffix" in run(input_file, *args, code=1)
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "dev.spacy").exists()


def test_what_comes_after_skipped_data_is_taken(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\tO\n\nb\tI-X\n\n\xff\tO\nc\tO\n\nd\tB-X\n\ne\n\nf\tO\n")
    errors = []
    convert([path], tmp_path / "x.spacy", on_error=errors.append, format="bio")
    assert [error.line for error in errors] == [3, 5, 10]
    assert [doc.text.strip() for doc in read_docs(tmp_path / "x.spacy")] == [
        "a",
        "d",
        "f",
    ]


def test_a_broken_sentence_is_one_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\tO\nb\nc\nd\n\ne\tO\n")
    errors = []
    report = convert([path], tmp_path / "x.spacy", on_error=errors.append)
    assert (report.skipped, report.docs) == (1, 1)


def test_nothing_but_a_corpus_is_replaced(input_file, tmp_path):
    folder = tmp_path / "precious.spacy"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    for output, reason in {
        folder: "other files than are written",
        tmp_path / "precious": r"ends in \.spacy",
        input_file.with_suffix(".txt"): r"ends in \.spacy",
    }.items():
        with pytest.raises(CorpusError, match=reason):
            convert([input_file], output)
    assert (folder / "thesis.txt").read_text() == "years of work"
    assert input_file.read_text() == ROWS


def test_inputs_and_outputs_are_different(input_file, tmp_path):
    corpus = tmp_path / "x.spacy"
    convert([input_file], corpus)
    with pytest.raises(CorpusError, match="used already"):
        convert([corpus], corpus)
    with pytest.raises(CorpusError, match="used already"):
        convert([input_file], tmp_path / "y.spacy", hold_out=tmp_path / "y.spacy")
    report = convert([tmp_path], tmp_path / "x.spacy")
    assert report.files == 1


def test_outputs_without_docs_are_reported(input_file, tmp_path):
    with pytest.raises(CorpusError, match="no sentences"):
        convert([input_file], tmp_path / "x.spacy", hold_out=tmp_path / "y.spacy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input.txt"]


def test_missing_and_unreadable_files(input_file, tmp_path, monkeypatch):
    with pytest.raises(CorpusError, match="no such file"):
        convert([tmp_path / "nowhere"], tmp_path / "x.spacy")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="no files"):
        convert([tmp_path / "empty"], tmp_path / "x.spacy")

    def refuse(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(corpus_files, "_CountedFile", refuse)
    with pytest.raises(CorpusError, match=r"input\.txt: can't be read: Permission"):
        convert([input_file], tmp_path / "x.spacy")


def test_no_free_disk_keeps_the_output_that_was_there(
    input_file, tmp_path, monkeypatch
):
    output = tmp_path / "out" / "x.spacy"
    convert([input_file], output)
    before = output.read_bytes()

    def fill_up(self, path):
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(DocBin, "to_disk", fill_up)
    assert "No space left" in run(input_file, output, code=1)
    assert output.read_bytes() == before
    assert [path.name for path in output.parent.iterdir()] == ["x.spacy"]


def test_command_prints_and_saves_a_summary(input_file, tmp_path):
    output, report = tmp_path / "x.spacy", tmp_path / "report.json"
    long = "".join(f"w{i}\t{'BI'[i > 0]}-PER\n" for i in range(11))
    input_file.write_text(f"{ROWS}\n{ROWS}\n{long}")
    text = run(input_file, output, "--report", report, "--rename", "PER=PERSON")
    facts = srsly.read_json(report)
    assert facts["entities_per_type"]["PERSON"] == 3
    assert facts["too_long"] == 1
    for expected in ("PERSON", "duplicate docs", "longer than 10 tokens", "(14.29 %)"):
        assert expected in text


def test_bad_paths_for_the_report_are_found_before_anything_is_done(
    input_file, tmp_path
):
    output, report = tmp_path / "x.spacy", tmp_path / "folder"
    report.mkdir()
    for path in (report, input_file, output, input_file.parent):
        run(input_file, output, "--report", path, code=1)
        assert not output.exists()
    assert input_file.read_text() == ROWS


def test_command_applies_groups(input_file, tmp_path):
    output = tmp_path / "x.spacy"
    groups = tmp_path / "groups.yml"
    groups.write_text("G: [PER, LOC]\n")
    text = run(input_file, output, "--groups", groups, "--drop-types", "@G,FOO")
    assert get_labels(output) == [[], ["ORG"]]
    assert "didn't occur" in text
    assert "FOO" in text


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--format", "xyz"], "'format': 'xyz'"),
        (["--columns", "1"], "two numbers"),
        (["--columns", "5,6"], "7 are needed"),
        (["--rename", "A"], "OLD=NEW"),
        (["--types", "@A"], "no type group"),
        (["--groups", "nowhere.yml"], "nowhere.yml"),
        (["--format", "bioes"], "read as BIOES"),
        (["--lang", "qq"], "'lang': 'qq'"),
        (["--on-error", "skip", "--columns", "4,5"], "Left out"),
    ],
)
def test_command_says_what_is_wrong(input_file, tmp_path, args, reason):
    output = tmp_path / "out" / "x.spacy"
    assert reason in run(input_file, output, *args, code=1)
    assert not output.exists()


def test_command_goes_on_after_errors(input_file, tmp_path):
    input_file.write_text(ROWS + "\nx\n" * 12)
    text = run(input_file, tmp_path / "x.spacy", "--on-error", "skip")
    assert "input.txt, line" in text
    assert "And 2 more" in text


def test_links_to_folders_are_not_passed_over(input_file, tmp_path):
    for name in ("in", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(ROWS)
    (tmp_path / "in" / "link").symlink_to(tmp_path / "other")
    with pytest.raises(CorpusError, match="link to a folder"):
        convert([tmp_path / "in"], tmp_path / "x.spacy")
