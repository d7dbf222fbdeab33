"""Pages that need nothing but a browser: tables, figures and marked texts as HTML.

Whatever comes from a corpus or a pipeline is escaped, labels too, which displaCy leaves
as they are.
"""

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from spacy import displacy
from spacy.tokens import Doc

from .plots import render

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #d0d7de;
  --soft: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #14171a; --line: #3a4149; --soft: #1f2429; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
nav a { display: inline-block; margin-right: 1rem; color: inherit; }
.wide { overflow-x: auto; overflow-wrap: normal; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
thead th { background: var(--soft); }
/* Tables of two columns don't scroll: names are short, and values may break. */
td:nth-child(2):last-child { overflow-wrap: anywhere; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; background: #ffffff; border-radius: 6px; }
figcaption { font-size: .9rem; opacity: .8; }
.text { margin: .3rem 0 1rem; padding: .5rem .8rem; background: var(--soft);
  border-radius: 6px; }
.text mark { color: #111111; }
.text mark span { color: #111111; }
.entities { line-height: 2.3 !important; }
"""


def make_page(title: str, sections: Iterable[tuple[str, str]]) -> str:
    """Make a page of sections, each a heading and its HTML."""
    kept = [(heading, body) for heading, body in sections if body]
    links = "".join(
        f'<a href="#part-{i}">{escape(heading)}</a>'
        for i, (heading, _) in enumerate(kept)
    )
    parts = "".join(
        f'<section id="part-{i}"><h2>{escape(heading)}</h2>{body}</section>'
        for i, (heading, body) in enumerate(kept)
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1><nav>{links}</nav>{parts}</body></html>\n"
    )


def make_table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table, which scrolls where it is too wide."""
    columns = "".join(f'<th scope="col">{escape(str(cell))}</th>' for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def make_paragraph(text: str) -> str:
    """Write a paragraph."""
    return f"<p>{escape(text)}</p>"


def make_heading(text: str) -> str:
    """Write a heading inside a section."""
    return f"<h3>{escape(text)}</h3>"


def fold(summary: str, body: str) -> str:
    """Write something that is shown when its summary is clicked."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def embed_figure(figure: Any, caption: str) -> str:
    """Write a figure of Matplotlib's, as a part of the page."""
    file = io.BytesIO()
    render(figure, file, "svg")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    shown = escape(caption)
    return (
        f'<figure><img alt="{shown}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{shown}</figcaption></figure>"
    )


def mark_text(doc: Doc) -> str:
    """Write a text with its entities marked."""
    ents = [
        {"start": e.start_char, "end": e.end_char, "label": escape(e.label_)}
        for e in doc.ents
    ]
    shown = {"text": doc.text, "ents": ents, "title": None}
    if not ents:
        return f'<div class="text">{escape(doc.text)}</div>'
    marked = displacy.render(shown, style="ent", manual=True, page=False, jupyter=False)
    return f'<div class="text">{marked}</div>'
