"""Write what was measured into the documentation.

    python -m measurements.speed.tables measurements/results/speed.json
        docs/research/speed.md docs/speed.md docs/annotating.md

All after a page's heading "Figures" is written anew, and each table that has its title
in a comment above it. The rest stays.
"""

import re
from pathlib import Path
from typing import Any

import srsly
import typer

from spacy_epnet.evaluation.results import to_markdown

HEADING = "## Figures\n"
TITLED_TABLE = re.compile(r"(?<=<!-- )(.+?)( -->\n\n)(?:\|.*\n)+")


def make_figures(parts: dict[str, Any]) -> str:
    """Make the tables of all parts."""
    tables = []
    for part, figures in parts.items():
        machine = figures["machine"]
        with_bfloat16 = "with" if machine["bfloat16"] else "without"
        tables.append(
            f"### {part.capitalize()}\n\n{machine['threads']} threads, {with_bfloat16} "
            f"bfloat16, PyTorch {machine['torch']}."
        )
        for title, table in figures["tables"].items():
            tables.append(f"**{title}**\n\n{show_table(table)}")
    return "\n\n".join(tables) + "\n"


def show_table(table: dict[str, Any]) -> str:
    """Write a table for users, to whom our goals are nothing."""
    kept = [i for i, name in enumerate(table["header"]) if name != "goal"]
    header, *rows = (
        [row[i] for i in kept] for row in (table["header"], *table["rows"])
    )
    return to_markdown(header, rows)


def fill(text: str, parts: dict[str, Any]) -> str:
    """Write the figures into the text of a page."""
    tables = {
        title: show_table(table)
        for part in parts.values()
        for title, table in part["tables"].items()
    }
    text = TITLED_TABLE.sub(
        lambda match: f"{match[1]}{match[2]}{tables[match[1]]}\n", text
    )
    before, heading, _ = text.partition(HEADING)
    return f"{before}{heading}\n{make_figures(parts)}" if heading else text


def main(figures: Path, pages: list[Path]) -> None:
    """Write the figures into pages."""
    parts = srsly.read_json(figures)
    for page in pages:
        text = fill(page.read_text(encoding="utf8"), parts)
        page.write_text(text, encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
