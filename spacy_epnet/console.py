"""Print to the console.

Texts, labels and names of files may come from anyone. Their control characters, which
could command the terminal, are shown as symbols. So commands print by this module only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wasabi.printer import Printer

# Characters that are invisible and change what is displayed around them.
BIDIRECTIONAL = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)
SYMBOLS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\u2421",
    **{code: f"\\x{code:x}" for code in range(0x80, 0xA0)},
    **{code: f"\\u{code:x}" for code in (*BIDIRECTIONAL, 0x2028, 0x2029)},
}


def escape_controls(text: str, *, keep: str = "") -> str:
    """Replace control characters by symbols, but for those to keep."""
    kept = {ord(char) for char in keep}
    return text.translate({c: s for c, s in SYMBOLS.items() if c not in kept})


def show(text: str) -> None:
    """Print a text of one or several lines."""
    print(escape_controls(text, keep="\n"))


class Console(Printer):
    """Print messages and tables. See `wasabi.Printer`."""

    def text(self, title: Any = "", text: Any = "", *args: Any, **kwargs: Any) -> Any:
        title, text = (escape_controls(str(each), keep="\n") for each in (title, text))
        return super().text(title, text, *args, **kwargs)

    def divider(self, text: str = "", *args: Any, **kwargs: Any) -> Any:
        return super().divider(escape_controls(text), *args, **kwargs)

    def table(
        self, data: Iterable[Iterable[Any]] | Mapping[Any, Any], **kwargs: Any
    ) -> Any:
        rows = data.items() if isinstance(data, Mapping) else data
        for name in ("header", "footer"):
            if kwargs.get(name):
                kwargs[name] = _escape_row(kwargs[name])
        return super().table([_escape_row(row) for row in rows], **kwargs)

    def figures(
        self,
        rows: Iterable[Iterable[Any]],
        *,
        header: Sequence[str],
        divider: bool = True,
    ) -> None:
        """Print a table of names and, in all columns but the first, figures."""
        aligns = ("l", *("r" for _ in header[1:]))
        self.table(rows, header=header, aligns=aligns, divider=divider)

    def row(self, data: Iterable[Any], **kwargs: Any) -> Any:
        return super().row(_escape_row(data), **kwargs)


def _escape_row(row: Iterable[Any]) -> list[str]:
    return [escape_controls(str(cell)) for cell in row]


msg = Console()
