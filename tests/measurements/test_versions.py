"""Two versions of the project are compared by what they find."""

import json

import numpy
import pytest

from measurements.versions.checkout import Checkout, Versions
from measurements.versions.counts import count_files, count_lines
from measurements.versions.equality import compare_results, is_equal, make_table
from measurements.versions.probe import hash_arrays

# A version that finds each text's first word.
VERSION = """
from types import SimpleNamespace

import spacy
from spacy.tokens import Span, SpanGroup

from .recognizing import score


class Finder:
    spans_key = "found"

    def __call__(self, doc):
        spans = [Span(doc, 0, 1, label="{label}")]
        doc.set_ents(spans)
        attrs = {{"scores": [score()]}}
        doc.spans["found"] = SpanGroup(doc, name="found", spans=spans, attrs=attrs)
        return doc


@spacy.Language.factory("finder")
def make_finder(nlp, name):
    return Finder()


def load_source(name, encoder=None, cache=None):
    nlp = spacy.blank("en")
    nlp.add_pipe("finder")
    return nlp


def adapt(nlp, examples, check=True):
    return SimpleNamespace(nlp=nlp)
"""
RECOGNIZING = """
from . import other

def score():
    return {score}
"""
SETUP = (
    'from setuptools import setup; setup(name="spacy-epnet", packages=["spacy_epnet"])'
)


@pytest.fixture
def make_version(tmp_path):
    def make(name, *, label="A", score=0.5):
        root = tmp_path / "projects" / name
        package = root / "spacy_epnet"
        package.mkdir(parents=True)
        (root / "setup.py").write_text(SETUP)
        (package / "__init__.py").write_text(VERSION.format(label=label))
        (package / "recognizing.py").write_text(RECOGNIZING.format(score=score))
        (package / "other.py").write_text("")
        return Checkout(name, root, tmp_path / "made")

    return make


def make_setup(old, new, tmp_path):
    return Versions(old, new, tmp_path, ["small"], {}, quick=True)


def test_any_difference_is_noticed(make_version, tmp_path):
    changed = make_version("new", label="B", score=0.5000000000000001)
    (table,) = compare_results(make_setup(make_version("old"), changed, tmp_path))
    assert {row[-1] for row in table.rows} == {"DIFFER: entities, scores"}
    assert not is_equal(table)
    json.dumps(table.results)
    again = make_table("again", table.results["old"], table.results["old"])
    assert {row[-1] for row in again.rows} == {"same"}
    assert is_equal(again)


def test_files_count_when_their_functions_are_called(make_version, tmp_path):
    setup = make_setup(make_version("old"), make_version("new"), tmp_path)
    (table,) = count_files(setup)
    files = {"adapt": ["__init__.py"], "nlp(text)": ["__init__.py", "recognizing.py"]}
    assert table.results == {"old": files, "new": files}


def test_a_version_that_fails_is_named(make_version):
    broken = make_version("broken")
    with (
        pytest.raises(RuntimeError, match="projects/broken ended with exit code 1"),
        broken.start("no such task") as run,
    ):
        run.read()


def test_weights_are_compared_whatever_their_names():
    ones, twos = numpy.ones((2, 3), dtype="f"), numpy.full((4,), 2.0, dtype="f")
    assert hash_arrays([ones, twos]) == hash_arrays([twos, ones])
    changed = twos.copy()
    changed[3] = numpy.nextafter(changed[3], numpy.float32(3))
    assert hash_arrays([ones, twos]) != hash_arrays([ones, changed])
    assert hash_arrays([ones]) != hash_arrays([ones.reshape(3, 2)])


def test_lines_are_counted_by_folder(tmp_path):
    for name, text in {
        "spacy_epnet/a.py": "1\n2\n",
        "spacy_epnet/cli/deep/b.py": "1\n",
        "configs/c.cfg": "1\n2\n3\n",
        "configs/other.yml": "1\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert count_lines(tmp_path) == {
        "spacy_epnet": 3,
        "spacy_epnet/": 2,
        "spacy_epnet/cli/": 1,
        "configs": 3,
    }
