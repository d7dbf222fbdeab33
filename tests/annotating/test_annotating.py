"""Annotating corpora: what is read, what is written, what is refused."""

import datetime
import json
import os
import tracemalloc
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from spacy_epnet.annotating import annotate
from spacy_epnet.annotating.folder import lock
from spacy_epnet.annotating.input_formats import read_items
from spacy_epnet.annotating.inputs import Input, InputFile
from spacy_epnet.annotating.run import MOST_PROCESSES, share_cores
from spacy_epnet.corpora import files
from spacy_epnet.errors import CorpusError

from ..util.annotating_tools import (
    load,
    make_ruler,
    make_texts,
    read_output,
    read_rejects,
    write_input,
    write_lines,
)
from ..util.commands import run as run_command

ROWS = [{"source": f"s{i}", "text": text} for i, text in enumerate(make_texts(10), 1)]
INPUTS = [
    *("in.txt", "in.txt.gz", "in.jsonl", "in.jsonl.gz", "in.csv", "in.tsv.gz"),
    *("in.parquet", "in.spacy", "in.spacy.gz"),
]


def get_entities(row):
    return [(row["text"][e["start"] : e["end"]], e["label"]) for e in row["entities"]]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "spacy"])
@pytest.mark.parametrize("name", INPUTS)
def test_every_input_gives_every_output(tmp_path, ruler, here, name, format):
    path = write_input(tmp_path, name, ROWS)
    out = tmp_path / "out"
    summary = annotate(ruler, [path], out, format=format, shard_size=4)
    assert here == [0, 1, 2]
    assert (summary.shards, summary.records, summary.rejected) == (3, 10, 0)
    assert summary.size == path.stat().st_size
    rows = read_output(out)
    assert [row["record"] for row in rows] == [f"{path}:{i}" for i in range(1, 11)]
    assert [row["text"] for row in rows] == [row["text"] for row in ROWS]
    assert get_entities(rows[0]) == [("Ada", "PERSON")]
    assert get_entities(rows[1]) == []
    ulm = ("Ulm", "PLACE")
    assert get_entities(rows[2]) == [("Ada", "PERSON"), ulm, ulm]
    assert summary.entities == sum(len(row["entities"]) for row in rows)
    if not name.startswith("in.txt"):
        # A format without columns of its own keeps the other fields together.
        apart = format == "parquet" and name.startswith(("in.jsonl", "in.spacy"))
        others = [json.loads(row["fields"]) if apart else row for row in rows]
        assert [other["source"] for other in others] == [r["source"] for r in ROWS]


def test_entities_have_offsets_types_scores_and_texts(tmp_path, trained, here):
    trained.to_disk(tmp_path / "trained")
    texts = ["In Paris we met Ada yesterday .", "Nobody was there ."]
    path = write_lines(tmp_path / "in.txt", texts)
    annotate(str(tmp_path / "trained"), [path], tmp_path / "out")
    rows = read_output(tmp_path / "out")
    for text, row in zip(texts, rows, strict=True):
        doc = trained(text)
        group = doc.spans["epnet_ner"]
        scores = {s.start: x for s, x in zip(group, group.attrs["scores"], strict=True)}
        assert row["entities"] == [
            {
                "start": ent.start_char,
                "end": ent.end_char,
                "label": ent.label_,
                "score": pytest.approx(scores[ent.start], abs=1e-5),
                "text": ent.text,
            }
            for ent in doc.ents
        ]
    assert [entity["text"] for entity in rows[0]["entities"]] == ["Paris", "Ada"]
    summary = annotate(
        str(tmp_path / "trained"), [path], tmp_path / "docs", format="spacy"
    )
    (file,) = (tmp_path / "docs" / "shards").iterdir()
    doc, _ = DocBin(store_user_data=True).from_disk(file).get_docs(trained.vocab)
    assert summary.entities == len(doc.ents) == 2
    assert list(doc.spans["epnet_ner"].attrs["scores"]) == pytest.approx(
        [entity["score"] for entity in rows[0]["entities"]], abs=1e-5
    )


def test_tokens_of_a_doc_are_kept_and_its_entities_are_not(tmp_path, here, ruler):
    words, spaces = ["Ada", "li", "ves", "here"], [True, False, True, False]
    doc = Doc(spacy.blank("en").vocab, words=words, spaces=spaces)
    doc.ents = [Span(doc, 1, 2, label="OTHER")]
    DocBin(docs=[doc]).to_disk(tmp_path / "in.spacy")
    annotate(ruler, [tmp_path / "in.spacy"], tmp_path / "out", format="spacy")
    (file,) = (tmp_path / "out" / "shards").iterdir()
    (made,) = DocBin().from_disk(file).get_docs(doc.vocab)
    assert [token.text for token in made] == [token.text for token in doc]
    assert [(ent.text, ent.label_) for ent in made.ents] == [("Ada", "PERSON")]


def test_only_a_line_feed_ends_a_line(tmp_path, ruler, here):
    data = "\ufeffAda\u2028one\r\ntwo\x0c\x85three\rfour\n\nlast".encode()
    (tmp_path / "in.txt").write_bytes(data)
    annotate(ruler, [tmp_path / "in.txt"], tmp_path / "out")
    texts = [row["text"] for row in read_output(tmp_path / "out")]
    assert texts == ["Ada\u2028one", "two\x0c\x85three\rfour", "", "last"]


def test_folders_patterns_and_files_that_are_given_twice(tmp_path, ruler, here):
    folder = tmp_path / "data" / "deep"
    folder.mkdir(parents=True)
    for name in ("b.txt", "a.txt", ".hidden.txt"):
        write_lines(folder / name, [name])
    write_lines(folder.parent / "c.jsonl", ['{"text": "c"}'])
    inputs = [str(tmp_path / "data" / "**" / "a.*"), folder / "a.txt", folder.parent]
    annotate(ruler, inputs, tmp_path / "out", shard_size=1)
    texts = [row["text"] for row in read_output(tmp_path / "out")]
    assert texts == ["a.txt", "c", "b.txt"]


def test_a_text_field_of_another_name_and_fields_with_our_names(tmp_path, ruler, here):
    row = {"entities": 1, "body": "Ada", "record": None, "record_": [2], "text": 3}
    path = write_lines(tmp_path / "in.jsonl", [json.dumps(row)])
    annotate(ruler, [path], tmp_path / "out", text_field="body")
    (made,) = read_output(tmp_path / "out")
    (entity,) = made.pop("entities")
    assert entity["text"] == "Ada"
    assert made.pop("record") == f"{path}:1"
    assert made == {
        "entities_": 1,
        "body": "Ada",
        "record__": None,
        "record_": [2],
        "text": 3,
    }


def test_columns_keep_their_types(tmp_path, ruler, here):
    rows = [{"text": "Ada", "when": datetime.date(2020, 1, 2), "n": 3, "raw": b"x"}]
    path = write_input(tmp_path, "in.parquet", rows)
    annotate(ruler, [path], tmp_path / "out", format="parquet")
    (made,) = read_output(tmp_path / "out")
    assert {key: made[key] for key in rows[0]} == rows[0]
    annotate(ruler, [path], tmp_path / "lines")
    (made,) = read_output(tmp_path / "lines")
    assert (made["when"], made["n"]) == ("2020-01-02", 3)
    annotate(ruler, [path], tmp_path / "docs", format="spacy")
    (made,) = read_output(tmp_path / "docs")
    assert (made["when"], made["n"]) == ("2020-01-02", 3)


# What can't be annotated

BROKEN = [
    (b'{"text": "Ada', "not JSON"),
    (b'["Ada"]', "not a JSON object"),
    (b'{"body": "Ada"}', "no field 'text'"),
    (b'{"text": 3}', "isn't a text"),
    (b'{"text": "\xff"}', "not UTF-8"),
    (b"[" * 100_000, "not JSON"),
    (b'{"text": "\\ud800"}', "surrogates"),
    (b'{"text": "FAULTY"}', "this one is faulty"),
    (b'{"text": "' + b"a " * 500_001 + b'"}', "E088"),
]


def test_what_cant_be_annotated_is_rejected_with_the_reason(
    tmp_path, fatal, code, here
):
    good = b'{"text": "Ada"}'
    lines = [line for broken, _ in BROKEN for line in (good, broken)]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join([*lines, b"", good]))
    out = tmp_path / "out"
    summary = annotate(fatal, [path], out, shard_size=5, code=code)
    assert (summary.records, summary.rejected) == (len(BROKEN) + 1, len(BROKEN))
    rows = read_output(out)
    good_lines = [*range(1, 2 * len(BROKEN), 2), 2 * len(BROKEN) + 2]
    assert [row["record"] for row in rows] == [f"{path}:{n}" for n in good_lines]
    assert all(get_entities(row) == [("Ada", "PERSON")] for row in rows)
    rejects = read_rejects(out)
    for i, (broken, reason) in enumerate(BROKEN):
        assert rejects[i]["record"] == f"{path}:{2 * i + 2}"
        assert reason in rejects[i]["reason"]
        assert rejects[i]["content"] == broken[:200].decode("utf8", "replace")
    with pytest.raises(ValueError, match=r"in\.jsonl:2 .*not JSON"):
        annotate(fatal, [path], tmp_path / "strict", code=code, strict=True)
    with pytest.raises(ValueError, match=r"in\.jsonl:2 .*not JSON"):
        annotate(fatal, [path], out, shard_size=5, code=code, strict=True)


def test_rows_of_csv_that_cant_be_annotated(tmp_path, ruler, here):
    path = tmp_path / "in.csv"
    path.write_bytes(b'n,text\n1,"Ada\nUlm"\n2,a,b\n3,\xff\n4\n5,Ulm\n')
    annotate(ruler, [path], tmp_path / "out")
    assert [row["n"] for row in read_output(tmp_path / "out")] == ["1", "5"]
    rejects = read_rejects(tmp_path / "out")
    assert [(r["record"], r["reason"]) for r in rejects] == [
        (f"{path}:2", "more columns than the header has"),
        (f"{path}:3", "not UTF-8"),
        (f"{path}:4", "the field 'text' isn't a text"),
    ]


def test_values_without_a_place_in_the_output(tmp_path, ruler, here):
    lines = [json.dumps({"text": "Ada", "n": n}) for n in (1, 2**70, 3)]
    path = write_lines(tmp_path / "in.jsonl", lines)
    annotate(ruler, [path], tmp_path / "out", format="spacy")
    assert [row["n"] for row in read_output(tmp_path / "out")] == [1, 3]
    (reject,) = read_rejects(tmp_path / "out")
    assert reject["record"] == f"{path}:2"
    annotate(ruler, [path], tmp_path / "lines")
    assert [row["n"] for row in read_output(tmp_path / "lines")] == [1, 2**70, 3]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_files_that_have_nothing_to_read(tmp_path, ruler, here, format):
    empty = write_lines(tmp_path / "empty.csv", [])
    broken = write_lines(tmp_path / "broken.parquet", ["PAR1"])
    good = write_input(tmp_path, "good.parquet", ROWS)
    summary = annotate(ruler, [empty, broken, good], tmp_path / "out", format=format)
    assert (summary.records, summary.rejected) == (len(ROWS), 1)
    rows = read_output(tmp_path / "out")
    assert [row["source"] for row in rows] == [row["source"] for row in ROWS]
    (reject,) = read_rejects(tmp_path / "out")
    assert reject["record"] == f"{broken}:1"


@pytest.mark.parametrize("name", ["in.txt.gz", "in.spacy", "in.parquet"])
def test_a_file_that_breaks_off(tmp_path, ruler, here, name):
    texts = [f"{i} {i**7}" for i in range(1000)]
    rows = [{"source": "", "text": text} for text in texts]
    path = write_input(tmp_path, name, rows)
    data = path.read_bytes()
    if name == "in.parquet":  # its end says what is in it
        data = data[:400] + bytes(200) + data[600:]
        path.write_bytes(data)
    else:
        path.write_bytes(data[: len(data) // 2])
    other = write_lines(tmp_path / "other.txt", ["Ada"])
    summary = annotate(ruler, [path, other], tmp_path / "out")
    assert summary.rejected == 1
    rows = read_output(tmp_path / "out")
    assert rows[-1]["record"] == f"{other}:1"
    assert [row["text"] for row in rows[:-1]] == texts[: len(rows) - 1]
    (reject,) = read_rejects(tmp_path / "out")
    assert reject["record"] == f"{path}:{len(rows)}"
    assert "Nothing is read of the file from here on" in reject["reason"]


# What is refused


def test_another_annotation_is_refused(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", make_texts(6))
    out = tmp_path / "out"
    annotate(ruler, [path], out, shard_size=2)
    assert here == [0, 1, 2]
    annotate(ruler, [path], out, shard_size=2)
    assert here == [0, 1, 2]  # nothing is done again
    with pytest.raises(ValueError, match=r"differs in: shard_size\."):
        annotate(ruler, [path], out, shard_size=3)
    with pytest.raises(ValueError, match=r"differs in: text_field, shard_size"):
        annotate(ruler, [path], out, text_field="body")
    nlp = spacy.load(ruler)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "came"}])
    nlp.to_disk(tmp_path / "other")
    with pytest.raises(ValueError, match=r"differs in: model\."):
        annotate(str(tmp_path / "other"), [path], out, shard_size=2)
    write_lines(path, make_texts(7))
    with pytest.raises(ValueError, match=r"differs in: inputs\."):
        annotate(ruler, [path], out, shard_size=2)
    assert len(read_output(out)) == 6


def change_time(path, model, code):
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def change_name(path, model, code):
    path.rename(path.with_name("out.txt"))


def change_size(path, model, code):
    time = path.stat().st_mtime_ns
    path.write_text("Ada left.\n")
    os.utime(path, ns=(time, time))


def change_model(path, model, code):
    nlp = spacy.load(model)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "X", "pattern": "came"}])
    nlp.to_disk(model)


def change_code(path, model, code):
    code.write_text("# other")


CHANGES = {
    change_time: "inputs",
    change_name: "inputs",
    change_size: "inputs",
    change_model: "model",
    change_code: "code",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_output_is_of_one_input_pipeline_and_code(tmp_path, here, change):
    model = make_ruler(tmp_path / "model")
    (tmp_path / "in").mkdir()
    path = write_lines(tmp_path / "in" / "in.txt", ["Ada"])
    code = write_lines(tmp_path / "code.py", ["# code"])
    args = model, [tmp_path / "in"], tmp_path / "out"
    annotate(*args, code=code)
    annotate(*args, code=code)
    assert here == [0]
    change(path, Path(model), code)
    with pytest.raises(ValueError, match=rf"differs in: {CHANGES[change]}\."):
        annotate(*args, code=code)
    assert [row["text"] for row in read_output(tmp_path / "out")] == ["Ada"]


def test_the_number_of_processes_may_change(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", make_texts(6))
    out = tmp_path / "out"
    first = annotate(ruler, [path], out, shard_size=2, processes=1, threads=1)
    (out / "shards" / "00000001.jsonl").unlink()
    again = annotate(ruler, [path], out, shard_size=2, processes=3, threads=2)
    assert again == first
    assert here == [0, 1, 2, 1]


def test_a_component_without_probabilities_gives_no_scores(tmp_path, ruler, here):
    annotate(ruler, [write_lines(tmp_path / "in.txt", ["Ada"])], tmp_path / "out")
    ((entity,),) = [row["entities"] for row in read_output(tmp_path / "out")]
    assert entity["score"] is None


def test_outputs_that_are_something_else_are_refused(tmp_path, ruler, here):
    data = tmp_path / "data"
    data.mkdir()
    path = write_lines(data / "in.txt", ["Ada"])
    for output in (path, data, data / "out", tmp_path, Path(ruler, "out")):
        with pytest.raises(CorpusError):
            annotate(ruler, [data], output)
    mine = tmp_path / "mine"
    mine.mkdir()
    write_lines(mine / "manifest.json", ["{}"])
    with pytest.raises(CorpusError, match="other files"):
        annotate(ruler, [data], mine)
    assert [path.name for path in mine.iterdir()] == ["manifest.json"]
    rows = write_input(tmp_path, "in.csv", ROWS)
    with pytest.raises(CorpusError, match=r"no column 'body'.*source, text"):
        annotate(ruler, [rows], tmp_path / "out", text_field="body")
    with pytest.raises(CorpusError, match="no file matches"):
        annotate(ruler, [str(data / "*.csv")], tmp_path / "out")
    with pytest.raises(CorpusError, match="--input-format"):
        annotate(ruler, [write_lines(tmp_path / "in.xyz", ["Ada"])], tmp_path / "out")
    assert not here


def test_two_runs_dont_write_to_one_folder(tmp_path, ruler, here):
    path = write_lines(tmp_path / "in.txt", ["Ada"])
    (tmp_path / "out").mkdir()
    with lock(tmp_path / "out"), pytest.raises(CorpusError, match="another run"):
        annotate(ruler, [path], tmp_path / "out")
    annotate(ruler, [path], tmp_path / "out")
    assert len(read_output(tmp_path / "out")) == 1


# Memory


def test_shards_are_the_same_whatever_is_done_and_end_early_if_records_are_long(
    tmp_path,
):
    lines = ["x" * (6000 if i % 7 == 0 else 10) for i in range(30)]
    path = write_lines(tmp_path / "in.txt", lines)
    records = Input([InputFile(path, "text")], shard_size=5)
    shards = list(records.read())
    assert [item.number for s in shards for item in s.items] == list(range(1, 31))
    assert len(shards) > 6
    for shard in shards:
        assert len(shard.items) <= 5
        assert sum(len(item.content) for item in shard.items[:-1]) < 5000
    some = {shard.number: shard.items for shard in records.read({0, 3})}
    assert some == {s.number: s.items for s in shards if s.number not in (0, 3)}


def test_reading_takes_no_more_memory_for_a_larger_file(tmp_path):
    write_lines(tmp_path / "in.txt", (f"{i} " + "x" * 500 for i in range(20_000)))
    records = Input([InputFile(tmp_path / "in.txt", "text")], shard_size=1000)
    tracemalloc.start()
    count = sum(len(shard.items) for shard in records.read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 3_000_000 < records.get_size()


def test_a_line_that_never_ends_isnt_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE", 1000)
    path = tmp_path / "in.txt"
    path.write_bytes(b"a\n" + b"x" * 5500 + b"\n" + b"y" * 999 + b"\n" + b"z" * 1000)
    items = list(read_items(path, "text", lambda count: None))
    assert [item.content for item in items] == [b"a\n", None, b"y" * 999 + b"\n", None]
    assert items[1].reason == items[3].reason == "longer than 1000 bytes"


def test_new_words_are_forgotten_after_a_shard(tmp_path, ruler):
    annotator = load(ruler, None)
    sizes = []
    for part in range(3):
        lines = [f"word{part}x{i} Ada" for i in range(500)]
        path = write_lines(tmp_path / "in.txt", lines)
        items = list(read_items(path, "text", lambda count: None))
        result = annotator.annotate(items)
        assert result.entities == 500
        sizes.append(len(annotator.nlp.vocab.strings))
    assert sizes[0] == sizes[1] == sizes[2]


# The command


def test_the_command(tmp_path, ruler, here):
    write_lines(tmp_path / "in.txt", make_texts(5))
    command = ("epnet", "annotate", ruler, tmp_path / "*.txt", tmp_path / "out")
    output = run_command(*command, "--shard-size", 2)
    assert "Found 5 entities in 5 records" in output
    output = run_command(*command, code=1)
    assert "The annotation stopped" in output
    assert "The output in '" in output
    write_lines(tmp_path / "in.jsonl", ["Ada"])
    command = (*command[:3], tmp_path / "in.jsonl", tmp_path / "rejected")
    output = run_command(*command, code=1)
    assert "1 records couldn't be annotated" in output
    output = run_command(*command[:4], tmp_path / "strict", "--strict", code=1)
    assert "Without --strict" in " ".join(output.split())
    output = run_command("epnet", "annotate", "nowhere", *command[3:], code=1)
    assert "There is no pipeline '" in output


@pytest.mark.parametrize(
    ("asked", "shared"),
    [
        ((None, None), (MOST_PROCESSES, 16 // MOST_PROCESSES)),
        ((None, 8), (2, 8)),
        ((None, 32), (1, 32)),
        ((3, None), (3, 5)),
        ((20, None), (20, 1)),
        ((5, 7), (5, 7)),
    ],
)
def test_processes_and_threads_share_the_cores(monkeypatch, asked, shared):
    monkeypatch.setattr("spacy_epnet.annotating.run.count_cores", lambda: 16)
    assert share_cores(*asked) == shared
