"""Several benchmarks side by side."""

from functools import partial
from itertools import product

import pytest
import srsly

from spacy_epnet.evaluation.comparison import get_p_value, read_comparison

from ..util import commands

A = {"name": "a", "dev_sha256": "1", "test_sha256": "2"}
B = {"name": "b", "dev_sha256": "3", "test_sha256": "4"}


def write(path, scores, *, targets=(A, B), profiles=("default",), extra=()):
    """Write results, F1 by profile, target, shots and support set."""
    runs = {}
    for (profile, target, shots), values in scores.items():
        for support, f in enumerate(values):
            run = {"target": target, "profile": profile, "shots": shots}
            run["sentences"] = [support, *extra]
            result = {"failed": "no"} if f is None else {"f": f}
            key = f"{target}/{profile}/{shots}/{support}"
            runs[key] = {**run, "support": support, **result}
    header = {"targets": list(targets), "profiles": {name: {} for name in profiles}}
    srsly.write_json(path, {"benchmark": header, "runs": runs})
    return path


@pytest.fixture
def files(tmp_path):
    first = {("default", "a", 1): [10, 20, 30], ("default", "b", 1): [40, 50, 60]}
    other = {("default", "a", 1): [12, 21, None], ("default", "b", 1): [43, 54, 65]}
    other["default", "b", 5] = [None, None, None]
    other["default", "c", 1] = [99]
    strange = {"name": "c", "dev_sha256": "7", "test_sha256": "8"}
    return [
        ("first", write(tmp_path / "first.json", first)),
        ("other", write(tmp_path / "other.json", other, targets=(strange, A, B))),
    ]


call = partial(commands.read, "epnet", "compare")


def test_systems_are_compared_on_the_support_sets_that_both_have(files):
    header, rows = read_comparison(files).get_table()
    assert header == ["system", "shots", "a", "b", "c", "average", "difference"]
    assert rows == [
        ["first", "1", "20.0 ± 8.2", "50.0 ± 8.2", "", "35.0", ""],
        [
            "other",
            "1",
            "16.5 ± 4.5 (1 failed)",
            "54.0 ± 9.0",
            "99.0 ± 0.0",
            "35.2",
            "+3.0 (p 0.062)",
        ],
        ["other", "5", "", "all 3 failed", "", "", ""],
    ]
    data = read_comparison(files).to_dict()
    assert data["shared"] == ["a", "b"]
    assert [row["name"] for row in data["rows"]] == ["first", "other", "other"]
    assert data["rows"][0]["difference"] is None
    assert data["rows"][1]["difference"] == pytest.approx(3.0)
    assert data["rows"][1]["targets"]["a"]["f"]["mean"] == pytest.approx(16.5)


def test_other_support_sets_are_no_pairs(files, tmp_path):
    scores = {("default", "a", 1): [11, 22, 33], ("default", "b", 1): [44, 55, 66]}
    other = write(tmp_path / "given.json", scores, extra=[7])
    _, rows = read_comparison([files[0], ("given", other)]).get_table()
    assert rows[1] == ["given", "1", "22.0 ± 9.0", "55.0 ± 9.0", "38.5", ""]


def test_profiles_are_systems_of_their_own(tmp_path):
    scores = {("paper", "a", 1): [10], ("default", "a", 1): [20]}
    path = write(
        tmp_path / "both.json", scores, targets=[A], profiles=["paper", "default"]
    )
    _, rows = read_comparison([("x", path)]).get_table()
    assert [row[0] for row in rows] == ["x, paper", "x, default"]
    assert rows[1][-1] == "+10.0 (p 1.000)"


def test_a_difference_is_as_probable_as_signs_chosen_at_random():
    values = [1.0, -0.5, 2.0, 0.3]
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=4)
    ]
    expected = sum(value >= sum(values) - 1e-9 for value in sums) / len(sums)
    assert get_p_value(values) == pytest.approx(expected)
    assert get_p_value([0.0, 0.0]) == 1.0
    assert get_p_value([1.0, 1.0]) == 0.5
    assert get_p_value([1.0] * 30) < 0.001
    assert get_p_value([1.0, -1.0] * 15) == pytest.approx(1.0)
    assert get_p_value([0.4, -0.2, 0.5, -0.5, 0.1] * 6) > 0.1


def test_the_command_prints_markdown_and_writes_json(files, tmp_path):
    pairs = [f"{name}={path}" for name, path in files]
    shown = call(*pairs, "--output", tmp_path / "table.json")
    assert "| first | 1 | 20.0 ± 8.2 | 50.0 ± 8.2 | | 35.0 | |" in shown
    assert srsly.read_json(tmp_path / "table.json")["targets"] == ["a", "b", "c"]
    (_, first), (_, other) = files
    assert "| first | 1 |" in call(first)
    renamed = other.rename(tmp_path / "lr=0.1.json")
    assert "| lr=0.1 | 1 |" in call(first, renamed)


def test_what_cannot_be_compared_is_refused(files, tmp_path):
    (_, first), _ = files
    strange = {**A, "test_sha256": "5"}
    scores = {("default", "a", 1): [1]}
    other = write(tmp_path / "strange.json", scores, targets=[strange])
    shown = call(first, other, code=1)
    assert "The results in '" in shown
    assert "'a'" in shown
    empty = '{"benchmark": {"targets": [], "profiles": {"default": {}}}, "runs": {}}'
    whole = srsly.read_json(first)
    run = next(iter(whole["runs"].values()))
    strange = [
        {**whole, "runs": {"x": {**run, **change}}}
        for change in (
            {"f": "high"},
            {"f": 1e300},
            {"shots": "one"},
            {"support": None},
            {"sentences": [[1]]},
            {"profile": 5},
        )
    ]
    # Half of a character, which can't be written again.
    halved = srsly.json_dumps(whole)[:-1] + r', "\ud83d": 1}'
    contents = [halved, "[]", "{", '{"benchmark": {}, "runs": {}}', "7", empty]
    for content in [*contents, *map(srsly.json_dumps, strange)]:
        (tmp_path / "foreign.json").write_text(content, encoding="utf8")
        shown = call(tmp_path / "foreign.json", code=1)
        assert "' has no results of `spacy" in shown
    assert "' would be called '" in call(f"x={first}", f"x={first}", code=1)
    assert "Invalid value for the setting '" in call(f"={first}", code=1)
    assert "No such file" in call(tmp_path / "missing.json", code=1)
