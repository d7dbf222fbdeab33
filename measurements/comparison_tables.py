"""Tables like those of EP-Net's paper, of what was measured here."""

from spacy_epnet.evaluation.comparison import Comparison, Row
from spacy_epnet.evaluation.results import to_markdown

from .systems import ABLATION, INSTEAD, PUBLISHED, System

# F1 in the paper's tables 1 and 2, with BERT-base. WNUT-17 with OntoNotes as source,
# and Few-NERD INTER with its official train split.
PAPER: dict[int, dict[str, tuple[float, float]]] = {
    1: {
        "EP-Net as printed": (32.3, 30.9),
        "ProtoNet": (14.8, 25.3),
        "ProtoNet+P&D": (18.8, 26.2),
        "NNShot": (21.7, 25.7),
        "StructShot": (25.3, 26.7),
        "CONTaiNER": (27.5, 28.4),
    },
    5: {
        "EP-Net as printed": (38.4, 41.4),
        "ProtoNet": (19.8, 31.7),
        "ProtoNet+P&D": (23.8, 28.7),
        "NNShot": (23.9, 33.9),
        "StructShot": (27.2, 35.7),
        "CONTaiNER": (32.5, 38.4),
    },
}
PAPER_COLUMNS = ["paper: WNUT-17", "paper: INTER"]
PAPER_NOTE = (
    "The paper's figures are of BERT-base, and of other sources: OntoNotes for "
    "WNUT-17, and INTER's own train split."
)
TITLES = {
    PUBLISHED: "Published systems",
    ABLATION: "EP-Net without one of its parts",
    INSTEAD: "What could be picked instead",
}


def make_page(comparison: Comparison, systems: list[System]) -> str:
    """Write all tables as Markdown.

    comparison (Comparison): The results, of EP-Net first.
    systems (List[System]): The systems that there may be.
    RETURNS (str): A table for each group and number of shots.
    """
    first = systems[0].name
    parts = []
    for group, title in TITLES.items():
        names = [each.name for each in systems if each.group == group]
        for shots in sorted(PAPER):
            rows = [
                row
                for row in comparison.list_rows()
                if row.shots == shots and row.name in {first, *names}
            ]
            if {row.name for row in rows} - {first}:
                header = f"## {title}, {shots}-shot"
                with_paper = group == PUBLISHED
                table = make_table(comparison, rows, with_paper=with_paper)
                parts.append(f"{header}\n\n{table}")
                parts += [PAPER_NOTE] if with_paper else []
    return "\n\n".join(parts) + "\n"


def make_table(comparison: Comparison, rows: list[Row], *, with_paper: bool) -> str:
    """Write the rows of one number of shots, the best F1 of each target in bold."""
    targets = comparison.targets
    best = {
        target: max(
            found["f"]["mean"]
            for row in rows
            if (found := row.targets.get(target)) and found["f"]
        )
        for target in targets
        if any((row.targets.get(target) or {}).get("f") for row in rows)
    }
    lines = []
    for row in rows:
        name, _, *cells = row.show(targets)
        for i, target in enumerate(targets):
            found = row.targets.get(target)
            if found and found["f"] and found["f"]["mean"] == best.get(target):
                cells[i] = f"**{cells[i]}**"
        if with_paper:
            figures = PAPER[row.shots or 0].get(row.name, ())
            cells += [f"{figure:.1f}" for figure in figures] or ["", ""]
        lines.append([name, *cells])
    header = ["system", *targets, "average", "difference"]
    return to_markdown([*header, *(PAPER_COLUMNS if with_paper else [])], lines)
