"""One word for one thing, and American spelling, in all that is written here."""

import re

import pytest

from .conftest import ROOT

CONTRIBUTING = "CONTRIBUTING.md"
PLACES = [
    *("spacy_epnet/**/*.py", "spacy_epnet/**/*.cfg", "spacy_epnet/sources/*.md"),
    *("tests/**/*.py", "docs/**/*.md", "docs/_site/*.py", "measurements/**/*.py"),
    *("configs/*", "*.md", "*.yml", "*.toml", "CITATION.cff", "universe.json"),
    *(".github/**/*.yml", ".github/*.md"),
]
FILES = sorted({path for pattern in PLACES for path in ROOT.glob(pattern)})
# What is quoted, or another's name, may be spelled in another way.
QUOTES = {
    CONTRIBUTING: r"^\| .* \|$",  # the glossary itself
    "tests/test_words.py": r".*",
    # The training corpora and their types are called as they are there.
    "spacy_epnet/sources/base/config.cfg": r"^\w+ = \[",
    "spacy_epnet/sources/small/config.cfg": r"^\w+ = \[",
    "spacy_epnet/sources/LICENSE.md": r"^\| .* \|$",
    "docs/sources.md": r"^\| `.* \|$",
}
# Verbs that Americans write with -ize, and other words that they spell differently.
VERBS = """
    author capital categor central character custom discret emphas final general
    harmon hypothes initial item linear local material maxim memor minim modern
    neutral normal optim organ parallel penal prior quant random real recogn
    regular sanit serial special stabil standard summar symbol symmetr synchron
    token trivial util vector visual
"""
BRITISH = re.compile(
    rf"\b\w*(?:(?:{'|'.join(VERBS.split())})is(?:e|er|ing|ation)"
    r"|(?:ana|para|cata)lys(?:e[dr]?|ing)\b"
    r"|(?:cent|fib|met)re[sd]?\b"
    r"|(?:behavi|col|fav|hon|hum|lab|neighb)our"
    r"|(?:cancel|label|level|model|signal|travel)l(?:ed|er|ing)"
    r"|artefact|catalogue|defence|dialogue|\bgrey|judgement|licence|offence|programme\b"
    r"|whilst)",
    re.IGNORECASE,
)


def read_lines(path):
    """Read the lines in which words count."""
    quoted = QUOTES.get(path.relative_to(ROOT).as_posix(), r"(?!)")
    for line in path.read_text(encoding="utf8").splitlines():
        if not re.match(quoted, line):
            yield line


def find(pattern):
    return [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in FILES
        for line in read_lines(path)
        if pattern.search(line)
    ]


def read_glossary():
    """Read the words of the last column of the glossary, which stand for nothing."""
    rows = re.findall(
        r"^\|(?:[^|]+\|){2} ([^|]+) \|$",
        (ROOT / CONTRIBUTING).read_text(encoding="utf8"),
        re.MULTILINE,
    )
    words = {word for row in rows for word in row.split(", ")}
    return sorted(words - {"not", "---"})


@pytest.mark.parametrize("word", read_glossary())
def test_each_thing_has_one_word(word):
    # Also as a part of a name, such as read_lesson, and with an ending.
    pattern = re.compile(rf"(?<![a-z]){word}(?:s|es|ed|ing)?(?![a-z])", re.IGNORECASE)
    assert find(pattern) == []


def test_spelling_is_american():
    assert find(BRITISH) == []


@pytest.mark.parametrize(
    "text", ["RecogniserReport", "normalised", "colours", "unlabelled", "an analyser"]
)
def test_british_words_are_found(text):
    assert BRITISH.search(text)


@pytest.mark.parametrize(
    "text", ["analyses", "otherwise", "parameters", "modeled", "programmer", "licensed"]
)
def test_american_words_are_left_alone(text):
    assert not BRITISH.search(text)
