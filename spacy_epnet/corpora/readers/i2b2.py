"""Read I2B2-2014: XML with a text and its entities by character."""

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from ...errors import CorpusError
from ..documents import Reading, TextDocument, check_span
from ..files import open_binary
from ..tags import Entity

TEXT, TAGS = "TEXT", "TAGS"


def read_i2b2(path: Path, reading: Reading) -> Iterator[TextDocument]:
    """Read a file of the 2014 de-identification task, which is one document. The type
    of an entity is the TYPE of its tag, such as DOCTOR, and not its name, such as NAME.
    """
    with open_binary(path, reading.progress) as file:
        data = file.read()
    text: list[str] = []
    tags: list[tuple[int, dict[str, str]]] = []
    inside: list[str] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if inside and inside[-1] == TAGS:
            tags.append((parser.CurrentLineNumber, attributes))
        inside.append(name)

    def refuse(*args: object) -> None:
        # They could make a reader fetch files or fill the memory.
        reason = "refused: it declares a document type or entities, which isn't allowed"
        raise CorpusError(path, reason, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: inside.pop()
    parser.CharacterDataHandler = lambda part: (
        text.append(part) if inside[-1] == TEXT else None
    )
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        yield _make_document(path, "".join(text), tags)
    except expat.ExpatError as err:
        reason = f"malformed XML: {expat.ErrorString(err.code)}"
        reading.on_error(CorpusError(path, reason, err.lineno))
    except CorpusError as err:
        reading.on_error(err)
    except (LookupError, ValueError) as err:  # such as an unknown encoding
        reading.on_error(CorpusError(path, f"can't be decoded: {err}", 1))


def _make_document(
    path: Path, text: str, tags: list[tuple[int, dict[str, str]]]
) -> TextDocument:
    if not text:
        raise CorpusError(path, "there is no TEXT")
    spans = []
    for line, attributes in tags:
        try:
            start, end, label = check_span(
                int(attributes["start"]),
                int(attributes["end"]),
                attributes["TYPE"],
                text,
            )
        except (KeyError, ValueError) as err:
            reason = f"a tag without a proper start, end and TYPE: {err}"
            raise CorpusError(path, reason, line) from err
        quoted = attributes.get("text")
        if quoted is not None and text[start:end].split() != quoted.split():
            reason = f"the text from {start} to {end} is {text[start:end]!r}"
            raise CorpusError(path, f"{reason}, and not {quoted!r}", line)
        spans.append(Entity(start, end, label))
    return TextDocument(text, spans, {"file": path.name})
