"""The page about a run."""

import re
import shutil
import subprocess
import sys
from functools import partial

import pytest
import srsly
from spacy.tokens import Doc, DocBin, Span

from spacy_epnet.evaluation.pages import make_page, make_table, mark_text
from spacy_epnet.evaluation.run_report import read_folder

from ..util import commands

EVIL = '<script>alert("x")</script>'


call = partial(commands.read, "epnet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture
def run(folder, trained, references):
    """A folder with an adapted pipeline, results, and a log of a training."""
    if (folder / "adapted").exists():
        return folder
    trained.to_disk(folder.parent / "source")
    support, test = folder.parent / "support.spacy", folder.parent / "test.spacy"
    marked = [doc.copy() for doc in references]
    for doc in marked:
        # A label that means harm.
        doc.set_ents([Span(doc, e.start, e.end, EVIL) for e in doc.ents])
    DocBin(docs=marked[:5]).to_disk(support)
    DocBin(docs=marked[5:]).to_disk(test)
    quick = ["--adapt.max_steps", 5]
    source, report = folder.parent / "source", folder / "adapted.json"
    call("adapt", source, support, folder / "adapted", "--report", report, *quick)
    results = folder / "benchmark.json"
    args = [source, support, test, "--shots", 1, "--supports", 1, *quick]
    call("benchmark", *args, "--output", results)
    rows = [{"step": i, "losses": {"a": 1 / (1 + i)}, "score": i / 9} for i in range(9)]
    srsly.write_jsonl(folder / "log.jsonl", rows)
    return folder


def test_what_became_of_a_source_is_shown_rather_than_the_source(tmp_path, trained):
    for name in ("model-best", "model-last", "politics"):
        trained.to_disk(tmp_path / name)
    assert read_folder(tmp_path).pipeline == tmp_path / "politics"


def test_what_has_no_result_is_told(run, tmp_path):
    data = srsly.read_json(run / "benchmark.json")
    (result,) = data["runs"].values()
    given = {**data["summary"][0], "shots": None}
    failed = {"x/default/1/0": {**result, "failed": "It was unlucky"}}
    srsly.write_json(
        tmp_path / "benchmark.json", {**data, "summary": [given], "runs": failed}
    )
    call("report", tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf8")
    assert "x/default/1/0 has no result: It was unlucky" in page
    assert "<td>given</td>" in page
    assert "None-shot" not in page


def test_a_single_entity_is_too_few_to_lay_out(run, tmp_path, trained):
    trained.to_disk(tmp_path / "adapted")
    doc = trained("Ada left .")
    doc.set_ents([Span(doc, 0, 1, "PERSON")])
    DocBin(docs=[doc]).to_disk(tmp_path / "test.spacy")
    call("report", tmp_path, "--test", tmp_path / "test.spacy")
    page = (tmp_path / "report.html").read_text(encoding="utf8")
    assert "too few entities" in page


def test_the_page_shows_all_that_is_there(run):
    call("report", run, "--test", run.parent / "test.spacy")
    page = (run / "report.html").read_text(encoding="utf8")
    for heading in (
        "Results",
        "Settings",
        "Learning curves",
        "Types",
        "Test set",
        "Mistakes",
        "Where entities are",
    ):
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<figure>") == 6
    scores = srsly.read_json(run / "benchmark.json")["summary"][0]["f"]
    assert f"{scores['mean']:.1f} ± {scores['std']:.1f}" in page
    assert "Loss of the adaptation, adapted.json" in page
    assert "which knows 2 types" in page
    assert ">F1</th>" in page[page.index("<h2>Test set</h2>") :]
    assert '<meta charset="utf-8">' in page
    # It needs no network, and nothing in it can run.
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_what_is_missing_is_left_out(run, tmp_path):
    shutil.copy(run / "benchmark.json", tmp_path)
    (tmp_path / "other.json").write_text("[1]", encoding="utf8")
    (tmp_path / "broken.json").write_text("{", encoding="utf8")
    page = tmp_path / "page.html"
    call("report", tmp_path, "--output", page)
    text = page.read_text(encoding="utf8")
    assert "<h2>Results</h2>" in text
    assert "<h2>Mistakes</h2>" not in text


def test_folders_without_a_run_are_refused(tmp_path, monkeypatch):
    assert "neither pipelines nor results" in call("report", tmp_path, code=1)
    assert "there is no folder" in call("report", tmp_path / "none", code=1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "spacy-epnet[viz]" in call("report", tmp_path, code=1)
    assert not list(tmp_path.iterdir())


def test_a_folder_may_be_a_pipeline_itself(run):
    found = read_folder(run / "adapted")
    assert found.pipeline == run / "adapted"
    assert read_folder(run).pipeline == run / "adapted"
    assert list(read_folder(run).logs) == ["log.jsonl"]


def test_everything_is_escaped(trained):
    table = make_table([EVIL], [[EVIL]])
    assert "<script" not in table
    assert "<script" not in make_page(EVIL, [(EVIL, "body")])
    doc = Doc(trained.vocab, words=["<b>", EVIL])
    assert "<script" not in mark_text(doc)
    doc.set_ents([Span(doc, 0, 1, EVIL)])
    marked = mark_text(doc)
    assert "<script" not in marked
    assert "<b>" not in marked
    assert "&lt;script&gt;" in marked


def test_marked_texts_are_escaped_on_the_page_of_recognize(run, tmp_path):
    marked, page = tmp_path / "marked.jsonl", tmp_path / "page.html"
    spans = [{"start": 0, "end": 3, "label": EVIL}]
    srsly.write_jsonl(marked, [{"text": f"Ada saw {EVIL} in Ulm .", "spans": spans}])
    call(
        *("recognize", run / "adapted", "Ada and Otto left ."),
        *("--marked", marked, "--html", page),
    )
    data = page.read_bytes()
    assert b'<meta charset="utf-8">' in data[:200]
    assert b"<script" not in data
    assert b"&lt;script&gt;" in data


BROWSER = shutil.which("chromium")


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("width", [1200, 375])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_in_a_browser(run, tmp_path, width, scheme):
    """Opt in with: pytest -m browser"""
    call("report", run, "--test", run.parent / "test.spacy")
    page = (run / "report.html").read_text(encoding="utf8")
    probe = """<script>
    window.onerror = e => document.title = "error: " + e;
    window.onload = () => {
      const page = document.documentElement;
      const ink = getComputedStyle(document.body).color;
      const paper = getComputedStyle(document.body).backgroundColor;
      const images = [...document.images].filter(i => !i.naturalWidth).length;
      const values = [...document.querySelectorAll("td:nth-child(2):last-child")];
      const fits = page.scrollWidth <= page.clientWidth && values.length > 0 &&
        values.every(v => v.getBoundingClientRect().right <= page.clientWidth);
      document.title = [fits, images, ink, paper].join("|");
    };</script></body>"""
    path = tmp_path / "probe.html"
    # A frame is as narrow as wanted, which a window isn't.
    (tmp_path / "page.html").write_text(page.replace("</body>", probe), encoding="utf8")
    path.write_text(
        f'<iframe id="f" src="page.html" width="{width}" height="800"></iframe>'
        "<script>window.onload = () => setTimeout(() => document.title = "
        "document.getElementById('f').contentDocument.title, 500)</script>",
        encoding="utf8",
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--allow-file-access-from-files",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        *(["--force-dark-mode"] if scheme == "dark" else []),
        *(["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []),
        path.as_uri(),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (title,) = re.findall(r"<title>(.*?)</title>", ended.stdout)
    fits, broken, ink, paper = title.split("|")
    assert fits == "true"
    assert broken == "0"
    dark = "rgb(20, 23, 26)"
    assert (paper == dark) == (scheme == "dark")
    assert ink != paper


@pytest.mark.parametrize(
    "content",
    [
        {"benchmark": 7, "summary": [7], "runs": {}},
        {"benchmark": {}, "summary": 7, "runs": {}},
        {"benchmark": {}, "summary": [{}], "runs": {}},
        {"benchmark": {"episodes": {}}, "summary": {}, "runs": {}},
        {"component": 1, "learning": 2, "support": 3},
    ],
)
def test_files_that_only_look_like_results_are_named(tmp_path, content):
    srsly.write_json(tmp_path / "strange.json", content)
    (tmp_path / "log.jsonl").write_bytes(b'[1]\n7\n\xff\n{"losses"')
    assert "' looks like something that spacy" in call("report", tmp_path, code=1)


def test_logs_that_only_look_like_logs_are_named(run, tmp_path):
    shutil.copy(run / "benchmark.json", tmp_path)
    srsly.write_jsonl(tmp_path / "log.jsonl", [{"losses": 5}])
    assert "' looks like something that spacy" in call("report", tmp_path, code=1)
