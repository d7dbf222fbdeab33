"""Figures as files. Matplotlib is an extra."""

from pathlib import Path

from ..corpora.files import write_whole
from ..errors import Errors
from .benchmark import show_shots
from .comparison import Row


def plot_comparison(rows: list[Row], output: Path) -> None:
    """Plot the average F1 of systems, a bar for each and each number of shots.

    rows (List[Row]): The figures. Those without an average are left out.
    output (Path): The file, whose suffix says what it is, such as .svg or .png.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError(Errors.EP051) from None
    known = {(row.name, row.shots): row.average for row in rows}
    names = list(dict.fromkeys(row.name for row in rows if row.average is not None))
    kinds = list(dict.fromkeys(row.shots for row in rows))
    height = 0.8 / max(1, len(kinds))
    figure = Figure(figsize=(8, 0.6 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    for i, shots in enumerate(kinds):
        bars = [
            (place + i * height, average)
            for place, name in enumerate(names)
            if (average := known.get((name, shots))) is not None
        ]
        places, values = zip(*bars, strict=True) if bars else ((), ())
        drawn = axes.barh(places, values, height, label=show_shots(shots))
        axes.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)
    middle = height * (len(kinds) - 1) / 2
    axes.set_yticks([place + middle for place in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlabel("F1, average over targets")
    axes.legend(loc="lower right")
    with write_whole(output) as path:
        figure.savefig(path, format=output.suffix.removeprefix(".") or "svg")
