"""The code on pages of the documentation."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<fenced>.*?)^```$|(?P<indented>(?:^ {4}[^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
PROGRAMS = ("python ", "python3 ", "spacy ", "pip ", ".venv/bin/")


class Block(NamedTuple):
    """Some code on a page."""

    language: str  # "" if it is indented
    code: str

    @property
    def commands(self) -> list[list[str]]:
        """RETURNS (List[List[str]]): The words of each command in it."""
        if self.language:
            return []
        lines = self.code.replace("\\\n", " ").splitlines()
        commands = [part for line in lines for part in line.split(" && ")]
        return [
            shlex.split(command, comments=True)
            for command in commands
            if command.startswith(PROGRAMS)
        ]


def read_blocks(text: str) -> Iterator[Block]:
    """Find the code on a page.

    text (str): The page.
    YIELDS (Block): Each block, in order.
    """
    for match in BLOCK.finditer(text):
        if indented := match["indented"]:
            yield Block("", re.sub("^ {4}", "", indented, flags=re.MULTILINE))
        else:
            yield Block(match["language"], match["fenced"])
