"""Files that are almost what they should be, for tests of readers."""

import random
import re
from collections.abc import Callable

# What readers may stumble over: ends of lines that are none, marks of an encoding,
# halves of characters, numbers that are none, and pieces of the formats themselves.
PIECES = r"""
    , -DOCSTART- B- I-X S-X E- O ( ) * (A* *) [ ] { } [[[[ " \ \ud83d \u0000
    null true NaN Infinity -1 1.5 1e999 -0 9999999999999999999999999 {"a":
    "text": "label": "start": &a *a <<: !!python/name:os.system <TEXT> </TEXT>
    <TAGS> ]]> <![CDATA[ &lt; &#0; start="-1" TYPE="" = ' % # @ |
"""
ODD = [
    *"\x00\x0b\x0c\x1a\x1b\x7f\x85\xa0\u2028\u200b\ufeff\ufffd\U0001f389\u202e\t\n\r ",
    "e\u0301",
    "\r\n",
    "\n\n",
    ",\t,",
    "#begin document",
    "#end document",
    "- ",
    ": ",
    "<!DOCTYPE a>",
    "9" * 5000,
    *PIECES.split(),
]
ODD_BYTES = [text.encode() for text in ODD]
ODD_BYTES += [b"\xff", b"\xc3", b"\xed\xa0\xbd", b"\xf8"]
NUMBER = re.compile(rb"-?\d+(\.\d+)?")
NUMBERS = [*b"0 -1 1 1.5 1e999 2147483648 []".split(), b"9" * 19, b"9" * 40]

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
    flip_bits,
    cut,
    remove,
    double,
    move,
    insert,
    replace,
    change_number,
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
