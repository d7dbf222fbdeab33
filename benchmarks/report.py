"""Write what was measured into the documentation.

    python -m benchmarks.report docs/speed.json docs/speed.md

The page's text stays, and all after its heading "Figures" is written anew.
"""

from pathlib import Path
from typing import Any

import srsly
import typer

from spacy_epnet.evaluation.results import to_markdown

HEADING = "## Figures\n"


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
            markdown = to_markdown(table["header"], table["rows"])
            tables.append(f"**{title}**\n\n{markdown}")
    return "\n\n".join(tables) + "\n"


def main(figures: Path, page: Path) -> None:
    """Write the figures into the page."""
    text, _, _ = page.read_text(encoding="utf8").partition(HEADING)
    tables = make_figures(srsly.read_json(figures))
    page.write_text(f"{text}{HEADING}\n{tables}", encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
