"""Show results of episodes side by side.

    python -m measurements.quality.episode_tables measurements/results/episodes/*.json

The files are what `spacy epnet episodes` writes, with or without its single episodes.
"""

from pathlib import Path

import srsly
import typer

from spacy_epnet.evaluation.results import to_markdown


def main(files: list[Path]) -> None:
    """Print a table of them."""
    print(make_table(files))


def make_table(files: list[Path]) -> str:
    """Make a table with a row for each file, in the order of their names."""
    rows = []
    for file in sorted(files):
        data = srsly.read_json(file)
        summary, header = data["summary"], data["benchmark"]
        how = header["episodes"]
        kind = "released"
        if "ways" in how:
            kind = f"{how['ways']}-way {how['shots']}~{2 * how['shots']}-shot"
        scores = [f"{summary[key]:.1f}" for key in "prf"]
        name = f"`{header['recognizer']}`, {header['profile']}"
        rows.append([how["file"], kind, name, str(summary["episodes"]), *scores])
    header = ["from", "episodes", "system", "count", "precision", "recall", "F1"]
    return to_markdown(header, rows)


if __name__ == "__main__":
    typer.run(main)
