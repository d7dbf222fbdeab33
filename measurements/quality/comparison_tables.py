"""Tables like those of EP-Net's paper, of what was measured here."""

from spacy_epnet.evaluation.comparison import Comparison, Row
from spacy_epnet.evaluation.results import to_markdown

from .systems import ABLATION, INSTEAD, NAMED, PUBLISHED, System

WNUT, INTER = "paper: WNUT-17", "paper: INTER"
SHOTS = [1, 5]
# F1 in the paper's tables 1, 2 and 3, with BERT-base, by group and shots. WNUT-17 with
# OntoNotes as source, and Few-NERD INTER with its official train split.
PAPER_COLUMNS: dict[tuple[str, int], list[str]] = {
    (PUBLISHED, 1): [WNUT, INTER],
    (PUBLISHED, 5): [WNUT, INTER],
    (ABLATION, 1): [INTER],
}
PAPER: dict[tuple[str, int], dict[str, tuple[float, ...]]] = {
    (PUBLISHED, 1): {
        "EP-Net as printed": (32.3, 30.9),
        "ProtoNet": (14.8, 25.3),
        "ProtoNet+P&D": (18.8, 26.2),
        "NNShot": (21.7, 25.7),
        "StructShot": (25.3, 26.7),
        "CONTaiNER": (27.5, 28.4),
    },
    (PUBLISHED, 5): {
        "EP-Net as printed": (38.4, 41.4),
        "ProtoNet": (19.8, 31.7),
        "ProtoNet+P&D": (23.8, 28.7),
        "NNShot": (23.9, 33.9),
        "StructShot": (27.2, 35.7),
        "CONTaiNER": (32.5, 38.4),
    },
    (ABLATION, 1): {
        "EP-Net": (30.9,),
        "token-level prototypes": (25.1,),
        "no dispersion": (19.1,),
        "cosine similarity": (27.3,),
    },
}
PAPER_NOTE = (
    "The paper's figures are of BERT-base, and of other sources: OntoNotes for "
    "WNUT-17, and INTER's own train split."
)
TITLES = {
    PUBLISHED: "Published systems",
    ABLATION: "EP-Net without one of its parts",
    NAMED: "EP-Net trained on names and descriptions of types",
    INSTEAD: "What could be picked instead",
}


def make_page(comparison: Comparison, systems: list[System]) -> str:
    """Write a table for each group and number of shots as Markdown.

    comparison (Comparison): The results, of EP-Net first.
    systems (List[System]): The systems that there may be.
    """
    first = systems[0].name
    parts = []
    for group, title in TITLES.items():
        names = [each.name for each in systems if each.group == group]
        for shots in SHOTS:
            rows = [
                row
                for row in comparison.rows
                if row.shots == shots and row.name in {first, *names}
            ]
            if {row.name for row in rows} - {first}:
                header = f"## {title}, {shots}-shot"
                columns = PAPER_COLUMNS.get((group, shots), [])
                figures = PAPER.get((group, shots), {})
                table = make_table(comparison, rows, columns, figures)
                parts.append(f"{header}\n\n{table}")
                parts += [PAPER_NOTE] if columns else []
    return "\n\n".join(parts) + "\n"


def make_table(
    comparison: Comparison,
    rows: list[Row],
    columns: list[str],
    figures: dict[str, tuple[float, ...]],
) -> str:
    """Write the rows of one number of shots, the best F1 of each target in bold.

    comparison (Comparison): The results.
    rows (List[Row]): Those of them that are in the table.
    columns (List[str]): Of the paper's figures.
    figures (Dict[str, Tuple[float, ...]]): These, by the names of systems.
    """
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
        printed = figures.get(row.name, ())
        cells += [f"{figure:.1f}" for figure in printed] or [""] * len(columns)
        lines.append([name, *cells])
    return to_markdown(["system", *targets, "average", "difference", *columns], lines)
