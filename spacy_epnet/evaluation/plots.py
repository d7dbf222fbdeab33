"""Figures as files. Matplotlib is an extra."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import SettingError
from ..writing import write_whole
from .benchmark import format_shots
from .comparison import Row
from .geometry import HeatMap, SpanMap, require_extra

SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's colors, which color-blind readers can tell apart.
COLORS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#f0e442",
)
# With more types than colors, markers tell them apart.
MARKERS = "os^DvPX*<>"
# Light is near, dark is far, also in print.
HEAT = "Blues"
# With more rows than this, the names of a table's rows are small.
MANY_NAMES = 60
# What a letter of a name takes, in inches, and how many are shown.
LETTER, MOST_LETTERS = 0.07, 40
# Rows of a legend.
MOST_ENTRIES = 26


class Line(NamedTuple):
    """The points of a curve, with what they vary by."""

    xs: Sequence[float]
    ys: Sequence[float]
    spreads: Sequence[float] | None = None


def make_figure(width: float, height: float) -> Any:
    """Make an empty figure, in inches."""
    with require_extra():
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, output: Path) -> None:
    """Write a figure, whose suffix says what kind of file it is."""
    check_plot(output)
    with write_whole(output) as path:
        render(figure, path, output.suffix.removeprefix("."))


def render(figure: Any, file: Any, kind: str) -> None:
    """Draw a figure into a file, in which types are named as they are: Matplotlib
    takes a name with two dollar signs for a formula."""
    for text in figure.findobj(lambda artist: hasattr(artist, "set_parse_math")):
        text.set_parse_math(False)
    figure.savefig(file, format=kind, dpi=150)


def check_plot(output: Path) -> None:
    """Refuse a plot that can't be drawn, before there is anything to draw."""
    if output.suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise SettingError(
            f"Can't draw '{output}': the name of a plot ends in one of {known}, which "
            "says what kind of file it is."
        )
    make_figure(1, 1)


def get_style(number: int) -> dict[str, str]:
    """Return a color and a marker that no other number below 80 has."""
    return {
        "color": COLORS[number % len(COLORS)],
        "marker": MARKERS[number // len(COLORS) % len(MARKERS)],
    }


def draw_comparison(rows: list[Row]) -> Any:
    """Draw the average F1 of systems, a bar for each and each number of shots. Those
    without an average are left out.
    """
    known = {(row.name, row.shots): row.average for row in rows}
    names = list(dict.fromkeys(row.name for row in rows if row.average is not None))
    kinds = list(dict.fromkeys(row.shots for row in rows))
    height = 0.8 / max(1, len(kinds))
    figure = make_figure(8, 0.6 + 0.5 * len(names))
    axes = figure.subplots()
    for i, shots in enumerate(kinds):
        bars = [
            (place + i * height, average)
            for place, name in enumerate(names)
            if (average := known.get((name, shots))) is not None
        ]
        places, values = zip(*bars, strict=True) if bars else ((), ())
        color = COLORS[i % len(COLORS)]
        drawn = axes.barh(
            places, values, height, label=format_shots(shots), color=color
        )
        axes.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)
    middle = height * (len(kinds) - 1) / 2
    axes.set_yticks([place + middle for place in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_ylabel("system")
    axes.set_xlabel("F1, average over targets")
    axes.legend(loc="lower right")
    return figure


def draw_heat_maps(maps: Mapping[str, HeatMap], *, with_free: bool = False) -> Any:
    """Draw how far types are from each other, a panel for each pipeline, and from what
    stands for no type `with_free`.
    """
    sizes = [len(m.names) if with_free else m.n_types for m in maps.values()]
    few = min(MANY_NAMES, max(sizes))
    side = 2.5 + 0.16 * few + 0.1 * (max(sizes) - few)
    margin = measure_names(name for heat in maps.values() for name in heat.names)
    # Beside a map there are a color bar and the names of axes, over it a title.
    figure = make_figure((side + margin + 1.5) * len(maps), side + margin + 1)
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    for axes, (title, heat), size in zip(panels, maps.items(), sizes, strict=True):
        image = axes.imshow(heat.distances[:size, :size], cmap=HEAT)
        figure.colorbar(image, ax=axes, label="squared Euclidean distance", shrink=0.7)
        label_rows(axes, heat.names[:size])
        axes.set(title=title, xlabel="type", ylabel="type")
    return figure


def draw_confusion(table: Mapping[str, Mapping[str, int]]) -> Any:
    """Draw which types are taken for which, as shares of those that are marked."""
    names = list(table)
    shares = [
        [count / max(1, sum(table[row].values())) for count in table[row].values()]
        for row in names
    ]
    side, margin = min(12.0, 2.0 + 0.4 * len(names)), measure_names(names)
    figure = make_figure(side + margin + 1.5, side + margin + 0.5)
    axes = figure.subplots()
    image = axes.imshow(shares, cmap=HEAT, vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, label="share of the marked type", shrink=0.7)
    label_rows(axes, names)
    for i, row in enumerate(names):
        for j, count in enumerate(table[row].values()):
            if count and len(names) <= MANY_NAMES // 2:
                # The color map is dark where shares are large.
                color = "white" if shares[i][j] > 0.5 else "black"
                axes.text(j, i, count, ha="center", va="center", color=color)
    axes.set(xlabel="recognized as", ylabel="marked as")
    return figure


def measure_names(names: Iterable[str]) -> float:
    """Return the width of the longest name, in inches."""
    return LETTER * max((len(cut(name)) for name in names), default=0)


def cut(name: str) -> str:
    """Shorten a long name."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def label_rows(axes: Any, names: Sequence[str]) -> None:
    """Name the rows and columns of a table, but those without a name."""
    size = 8 if len(names) <= MANY_NAMES else 5
    named = {place: cut(name) for place, name in enumerate(names) if name}
    axes.set_xticks([*named], named.values(), rotation=90, fontsize=size)
    axes.set_yticks([*named], named.values(), fontsize=size)


def draw_span_maps(maps: Mapping[str, SpanMap]) -> Any:
    """Draw where entities are, a panel for each pipeline."""
    labels = sorted({label for m in maps.values() for label in m.labels})
    columns = -(-len(labels) // MOST_ENTRIES)
    legend = columns * (0.6 + measure_names(labels))
    figure = make_figure(6 * len(maps) + legend, 6)
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    for axes, (title, found) in zip(panels, maps.items(), strict=True):
        for number, label in enumerate(labels):
            style = get_style(number)
            own = [i for i, other in enumerate(found.labels) if other == label]
            axes.scatter(
                *found.spans[own].T, s=14, alpha=0.6, label=cut(label), **style
            )
            center = [i for i, n in enumerate(found.center_names) if n == label]
            edge = {**style, "marker": "*", "edgecolors": "black"}
            axes.scatter(*found.centers[center].T, s=220, linewidths=1, **edge)
        axes.set(title=title, xlabel="first t-SNE axis", ylabel="second t-SNE axis")
    handles = panels[0].get_legend_handles_labels()
    place = "outside right center"
    figure.legend(*handles, loc=place, fontsize=8, title="type", ncols=columns)
    return figure


def draw_lines(
    lines: Mapping[str, Line], *, x: str, y: str, ticks: Iterable[str] = ()
) -> Any:
    """Draw curves, with names for the axes. `ticks` stand at 0, 1 and so on."""
    figure = make_figure(7, 4)
    axes = figure.subplots()
    for number, (name, line) in enumerate(lines.items()):
        axes.errorbar(
            line.xs,
            line.ys,
            yerr=line.spreads,
            label=name,
            capsize=3,
            markersize=4 if len(line.xs) < 50 else 0,
            **get_style(number),
        )
    shown = list(ticks)
    if shown:
        axes.set_xticks(range(len(shown)), shown)
    axes.set(xlabel=x, ylabel=y)
    if lines:
        axes.legend()
    return figure
