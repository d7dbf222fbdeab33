"""What greets a contributor: it fits the project, and its parts fit each other."""

import re
import tomllib

import pytest
import srsly

import spacy_epnet

from .conftest import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = ["ubuntu-latest", "macos-latest", "windows-latest"]


def read_jobs(path):
    return srsly.read_yaml(path)["jobs"]


def test_there_is_one_version():
    released = re.findall(r"^## (\d\S+) - (\d{4}-\d\d-\d\d)$", CHANGELOG, re.MULTILINE)
    assert released[0][0] == spacy_epnet.__version__
    citation = srsly.read_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == spacy_epnet.__version__


def test_the_changelog_keeps_its_form():
    sections = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert sections[0] == "Unreleased"
    kinds = set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_every_kind_of_test_is_described():
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    markers = {marker.partition(":")[0] for marker in settings["markers"]}
    assert set(re.findall(r"pytest -m (\w+)", CONTRIBUTING)) == markers


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_contributors_run(path):
    described = {line.strip() for line in CONTRIBUTING.splitlines()}
    for job in read_jobs(path).values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            # What has a name of its own is no command of a contributor.
            if "run" in step and "name" not in step:
                assert step["run"] in described


def test_the_tests_run_on_all_systems_and_versions():
    with (ROOT / "pyproject.toml").open("rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    (job,) = read_jobs(ROOT / ".github" / "workflows" / "tests.yml").values()
    assert job["strategy"]["matrix"]["python"] == versions
    assert job["strategy"]["matrix"]["os"] == SYSTEMS


def test_only_what_publishes_may_write():
    for path in WORKFLOWS:
        assert srsly.read_yaml(path)["permissions"] == {"contents": "read"}
        for name, job in read_jobs(path).items():
            assert (name == "publish") == ("permissions" in job)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_are_named_are_there(page):
    text = (ROOT / page).read_text(encoding="utf8")
    for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", text):
        assert (ROOT / link).exists(), link
    for path in re.findall(r"`((?:\w+/)+|[\w./]+\.(?:md|py|toml|txt))`", text):
        # The table of changes is about the package.
        assert (ROOT / path).exists() or (ROOT / "spacy_epnet" / path).exists(), path


def test_each_change_has_its_files():
    _, _, section = CONTRIBUTING.partition("## Where a change goes")
    rows = re.findall(
        r"^\| (.+) \| (.+) \|$", section.partition("## ")[0], re.MULTILINE
    )
    assert len(rows) == 2 + 12
    assert all("`" in files for _, files in rows[2:])


def test_templates_are_forms():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = srsly.read_yaml(path)
        assert path.stem == "config" or {"name", "description", "body"} <= set(form)
