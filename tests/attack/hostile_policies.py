"""Policies that nobody should have written: every setting replaced, cut off, doubled or damaged.

The settings are those of one policy that names most of what a policy can name. `hostile_policies`
yields the text of one policy after the other, each with a name that tells what was done to it.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from typing import Any

from tests.attack.documents import places, with_entry, without_entry

RIGHT = """
suppression = 0.1
utility = "loss"

[read]
delimiter = ","

[schema]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]
identifiers = ["name"]
nulls = "value"

[schema.hierarchies]
age = { kind = "intervals", widths = [5, 10, 20] }
zip = { kind = "mask" }
sex = { kind = "suppression" }

[schema.domains]
sex = ["F", "M"]

[anonymizer]
kind = "lattice"

[[require]]
kind = "k-anonymity"
k = 5

[[require]]
kind = "distinct-diversity"
l = 2

[[require]]
kind = "t-closeness"
t = 0.9
distance = "equal"

[[require]]
kind = "epsilon-privacy"
epsilon = 1000
adversary = { shape = "uniform", stubbornness = 1000, known = 0 }

[[require]]
kind = "skyline-privacy"
points = [[0, 0, 0, 0.999]]
"""

THINGS: tuple[Any, ...] = (
    0,
    -1,
    1,
    10**19,
    -(10**30),
    1e308,
    1e-320,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    "",
    "x",
    "k",
    "\0",
    "\x1b[2J",
    "../../etc/passwd",
    "/dev/zero",
    "é́",
    "*" * 200_000,
    [],
    [[]],
    [0],
    ["age", "age"],
    ["nobody"],
    [1e400, "a", {}],
    {},
    {"kind": "intervals"},
    {"file": "nowhere.csv"},
    {"file": "\0"},
    {"a": {"b": {"c": [1]}}},
)


def hostile_policies(seed: int, damaged: int) -> Iterator[tuple[str, bytes]]:
    """Every setting replaced by every thing or left out, and texts damaged at random."""
    right = tomllib.loads(RIGHT)
    for path in places(right):
        for number, thing in enumerate(THINGS):
            yield f"{_name(path)} is thing {number}", _text(with_entry(right, path, thing)).encode()
        yield f"{_name(path)} is missing", _text(without_entry(right, path)).encode()
    yield "lists in lists", f"quasi = {'[' * 5000}{']' * 5000}".encode()
    yield "tables in tables", ("[a" + ".a" * 5000 + "]\nb = 1").encode()
    yield "empty", b""
    yield "not text", bytes(range(256))
    yield "a key twice", f"{RIGHT}\n[schema]\n".encode()
    chance = random.Random(seed)
    whole = RIGHT.encode()
    for number in range(damaged):
        text = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(text))
            match chance.randrange(4):
                case 0:
                    text[place] = chance.randrange(256)
                case 1:
                    del text[place : place + chance.randint(1, 40)]
                case 2:
                    text[place:place] = text[chance.randrange(len(text)) :][:30]
                case _:
                    text[place:place] = chance.choice(
                        [b"\0", b'"', b"[", b"=", b"9" * 400, b"\xff"]
                    )
        yield f"damaged {number}", bytes(text)


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in path)


def _text(tree: dict[str, Any]) -> str:
    return "".join(f"{_quoted(key)} = {_written(value)}\n" for key, value in tree.items())


def _written(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(_written(one) for one in value)}]"
        case dict():
            pairs = (f"{_quoted(key)} = {_written(one)}" for key, one in value.items())
            return f"{{ {', '.join(pairs)} }}"
    return str(value)


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(sign):04X}" if sign in '"\\' or ord(sign) < 32 else sign for sign in text
    )
    return f'"{escaped}"'
