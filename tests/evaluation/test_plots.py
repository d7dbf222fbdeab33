"""The numbers behind the plots, and that they are drawn."""

import sys
from functools import partial

import numpy
import pytest
from spacy.tokens import DocBin

from spacy_epnet import adapt
from spacy_epnet.epnet.model import get_prototypes
from spacy_epnet.epnet.prototypes import get_dispersion
from spacy_epnet.evaluation.geometry import (
    HeatMap,
    SpanMap,
    choose_evenly,
    embed_entities,
    list_centers,
    make_heat_map,
    make_span_map,
)
from spacy_epnet.evaluation.plots import (
    COLORS,
    Line,
    draw_confusion,
    draw_heat_maps,
    draw_lines,
    draw_span_maps,
    get_style,
    save,
)

from ..util import commands


def test_distances_are_those_of_the_prototypes(trained):
    pipe = trained.get_pipe("epnet_ner")
    prototypes = get_prototypes(pipe.model.get_ref("head"))
    heat = make_heat_map(trained)
    assert heat.names[:3] == ["None", *pipe.labels]
    assert heat.n_types == 3
    assert len(heat.names) == len(prototypes) == 8
    rows = [0, *pipe.prototypes.values()]
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            slow = float(((prototypes[row] - prototypes[other]) ** 2).sum())
            assert heat.distances[i, j] == pytest.approx(slow, abs=1e-5)
    summary = heat.summarize()
    # The paper's mean is over ordered pairs, a prototype and itself too.
    share = (len(prototypes) - 1) / len(prototypes)
    assert summary["all"] * share == pytest.approx(get_dispersion(prototypes), rel=1e-4)
    none_to_types = (heat.distances[0, 1] + heat.distances[0, 2]) / 2
    assert summary["None and types"] == pytest.approx(none_to_types)
    assert summary["types"] == pytest.approx(heat.distances[1, 2])


def test_what_there_are_no_pairs_of_has_no_mean():
    heat = HeatMap(["None", "A"], numpy.array([[0.0, 4.0], [4.0, 0.0]]))
    assert heat.summarize() == {"all": 4.0, "types": None, "None and types": 4.0}


def test_entities_are_where_the_recognizer_sees_them(trained, references):
    labels, points = embed_entities(trained, references)
    ents = [ent.label_ for doc in references for ent in doc.ents]
    assert labels == ents
    names, centers = list_centers(trained, None)
    # The pipeline knows these by heart: each is nearest to what stands for its type.
    right = [
        names[((centers[:3] - point) ** 2).sum(axis=1).argmin()] == label
        for label, point in zip(labels, points, strict=True)
    ]
    assert sum(right) > 0.9 * len(right)


def test_spans_are_laid_out_with_their_types(trained, references):
    found = make_span_map(trained, references, per_type=6)
    assert sorted(found.labels) == ["PERSON"] * 6 + ["PLACE"] * 6
    assert found.spans.shape == (12, 2)
    assert found.center_names == ["PERSON", "PLACE"]
    assert found.centers.shape == (2, 2)
    again = make_span_map(trained, references, per_type=6)
    assert numpy.allclose(found.spans, again.spans)
    assert choose_evenly(["a", "b", "a", "a"], 2, 0)[-1] <= 3


def test_many_types_can_be_told_apart():
    styles = {tuple(get_style(number).items()) for number in range(40)}
    assert len(styles) == 40
    assert len({*COLORS}) == len(COLORS)


draw = partial(commands.read, "epnet", "plot")


@pytest.fixture
def folder(tmp_path, trained, references):
    trained.to_disk(tmp_path / "source")
    adapted = adapt(trained, references[:4], max_steps=2).nlp
    adapted.to_disk(tmp_path / "adapted")
    DocBin(docs=references).to_disk(tmp_path / "test.spacy")
    return tmp_path


def test_commands_draw(folder):
    plot = folder / "heat.svg"
    shown = draw(
        "prototypes", f"A={folder / 'source'}", folder / "adapted", "--output", plot
    )
    assert "</svg>" in plot.read_text(encoding="utf8")
    assert "None and types" in shown
    assert "adapted" in shown
    plot = folder / "spans.png"
    shown = draw("spans", folder / "source", folder / "test.spacy", "--output", plot)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_refused(folder, monkeypatch):
    draw_source = partial(draw, "prototypes", folder / "source", "--output")
    shown = draw_source(folder / "map.txt", code=1)
    assert "Can't draw '" in shown
    shown = draw("spans", folder / "source", folder / "none.spacy", code=1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = draw_source(folder / "map.svg", code=1)
    assert "spacy-epnet[viz]" in shown
    assert not (folder / "map.svg").exists()


def test_every_axis_is_named(tmp_path):
    heat = HeatMap(["None", "A"], numpy.array([[0.0, 4.0], [4.0, 0.0]]))
    figures = [
        draw_heat_maps({"one": heat}),
        draw_confusion({"A": {"A": 1, "B": 0}, "B": {"A": 2, "B": 3}}),
        draw_lines({"1-shot": Line([1, 2], [30, 40], [1, 2])}, x="tau", y="F1"),
    ]
    for figure in figures:
        axes = figure.axes[0]
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        save(figure, tmp_path / "plot.png")


def is_cut_off(figure, folder):
    """Whether something is drawn at the very edge of a figure."""
    from matplotlib.image import imread

    save(figure, folder / "plot.png")
    dark = imread(folder / "plot.png")[..., :3].min(axis=2) < 0.9
    return any(side.any() for side in (dark[0], dark[-1], dark[:, 0], dark[:, -1]))


@pytest.mark.parametrize(("count", "length"), [(2, 4), (37, 36), (6, 100), (80, 12)])
def test_nothing_is_cut_off(tmp_path, count, length):
    names = [f"{i}-".ljust(length, "e") for i in range(count)]
    distances = 1 - numpy.eye(count)
    heat = HeatMap(names, distances)
    assert not is_cut_off(draw_heat_maps({"one": heat}), tmp_path)
    assert not is_cut_off(draw_heat_maps({"one": heat, "two": heat}), tmp_path)
    table = {name: dict.fromkeys(names, 1) for name in names}
    assert not is_cut_off(draw_confusion(table), tmp_path)
    points = numpy.random.default_rng(0).normal(size=(count, 2))
    spans = SpanMap(names, points, names, points)
    assert not is_cut_off(draw_span_maps({"one": spans, "two": spans}), tmp_path)


def test_types_are_named_among_many_rows():
    heat = HeatMap(["None", "A", *[""] * 100], 1 - numpy.eye(102))
    axes = draw_heat_maps({"one": heat}, with_free=True).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["None", "A"]
    heat = HeatMap([f"T{i}" for i in range(90)], 1 - numpy.eye(90))
    axes = draw_heat_maps({"one": heat}).axes[0]
    assert len(axes.get_xticklabels()) == 90


def test_pipelines_have_names_of_their_own(folder):
    (folder / "more").mkdir()
    (folder / "source").rename(folder / "more" / "adapted")
    models = [folder / "adapted", folder / "more" / "adapted"]
    shown = draw("prototypes", *models, "--output", folder / "map.svg", code=1)
    assert "' would be called '" in shown


def test_a_name_is_no_formula(tmp_path):
    name = r"$\frac$"
    heat = HeatMap(["None", name], numpy.array([[0.0, 4.0], [4.0, 0.0]]))
    points = numpy.array([[0.0, 1.0], [1.0, 0.0]])
    figures = [
        draw_heat_maps({name: heat}),
        draw_confusion({name: {name: 1, "B": 0}, "B": {name: 2, "B": 3}}),
        draw_lines({name: Line([1, 2], [30, 40])}, x=name, y="F1", ticks=["A", name]),
        draw_span_maps({name: SpanMap([name, "B"], points, [name, "B"], points)}),
    ]
    for figure in figures:
        save(figure, tmp_path / "plot.svg")
        assert name in (tmp_path / "plot.svg").read_text(encoding="utf8")
