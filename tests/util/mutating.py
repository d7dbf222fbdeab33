"""Files that are almost what they should be, for tests of readers."""

import random
import re
from collections.abc import Callable

# What readers may stumble over: ends of lines that are none, marks of an encoding,
# halves of characters, numbers that are none, and pieces of the formats themselves.
ODD = [
    *(
        "\x00",
        "\x0b",
        "\f",
        "\x1a",
        "\x1b",
        "\x7f",
        "\x85",
        "\u00a0",
        "\u2028",
        "\u200b",
    ),
    *(
        "\ufeff",
        "\ufffd",
        "\U0001f389",
        "e\u0301",
        "\u202e",
        "\t",
        "\n",
        "\r",
        "\r\n",
        " ",
    ),
    *(
        "\n\n",
        ",",
        ",\t,",
        "-DOCSTART-",
        "#begin document",
        "#end document",
        "B-",
        "I-X",
    ),
    *(
        "S-X",
        "E-",
        "O",
        "(",
        ")",
        "*",
        "(A*",
        "*)",
        "[",
        "]",
        "{",
        "}",
        "[[[[",
        '"',
        "\\",
    ),
    *(
        "\\ud83d",
        "\\u0000",
        "null",
        "true",
        "NaN",
        "Infinity",
        "-1",
        "1.5",
        "1e999",
        "-0",
    ),
    *(
        "9" * 25,
        "9" * 5000,
        '{"a":',
        '"text":',
        '"label":',
        '"start":',
        "&a",
        "*a",
        "<<:",
    ),
    *(
        "- ",
        ": ",
        "!!python/name:os.system",
        "<TEXT>",
        "</TEXT>",
        "<TAGS>",
        "]]>",
        "<![CDATA[",
    ),
    *(
        "<!DOCTYPE a>",
        "&lt;",
        "&#0;",
        'start="-1"',
        'TYPE=""',
        "=",
        "'",
        "%",
        "#",
        "@",
        "|",
    ),
]
ODD_BYTES = [text.encode() for text in ODD] + [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\xbd",
    b"\xf8",
]
NUMBER = re.compile(rb"-?\d+(\.\d+)?")
NUMBERS = [
    b"0",
    b"-1",
    b"1",
    b"1.5",
    b"1e999",
    b"2147483648",
    b"9" * 19,
    b"9" * 40,
    b"[]",
]

Mutation = Callable[[bytes, random.Random], bytes]


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def remove(data: bytes, rng: random.Random) -> bytes:
    start, end = choose_range(data, rng)
    return data[:start] + data[end:]


def double(data: bytes, rng: random.Random) -> bytes:
    start, end = choose_range(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 1, 3, 50)) + data[end:]


def move(data: bytes, rng: random.Random) -> bytes:
    start, end = choose_range(data, rng)
    place = rng.randrange(len(data))
    return data[:place] + data[start:end] + data[place:]


def insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(ODD_BYTES) + data[place:]


def replace(data: bytes, rng: random.Random) -> bytes:
    start, end = choose_range(data, rng, longest=8)
    return data[:start] + rng.choice(ODD_BYTES) + data[end:]


def change_number(data: bytes, rng: random.Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return insert(data, rng)
    start, end = rng.choice(found).span()
    return data[:start] + rng.choice(NUMBERS) + data[end:]


MUTATIONS: list[Mutation] = [
    *(flip_bits, cut, remove, double, move, insert, replace, change_number),
]


def choose_range(
    data: bytes, rng: random.Random, *, longest: int = 200
) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.randint(1, longest))


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Change a file in up to four ways."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        if data:
            data = rng.choice(MUTATIONS)(data, rng)
    return data
