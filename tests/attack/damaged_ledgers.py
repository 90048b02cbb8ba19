"""Ledgers that a disk or somebody damaged: bytes, lengths, cells and whole entries."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

CELLS = (None, "", "x", 0, -1, 2**62, 1.5, b"", b"\xff\xfe", "\0")


def damaged_bytes(good: bytes, tries: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """The file cut off, and with a few bytes changed, at places drawn by a seed."""
    for size in (0, 1, 15, 16, 99, 100, 512, 1024, 4096, len(good) // 2, len(good) - 1):
        yield f"cut at {size}", good[:size]
    yield "zeros", bytes(len(good))
    chance = random.Random(seed)
    for number in range(tries):
        changed = bytearray(good)
        places = [chance.randrange(len(good)) for _ in range(chance.randint(1, 6))]
        for place in places:
            changed[place] ^= chance.randint(1, 255)
        yield f"try {number}: bytes {places}", bytes(changed)


def damaged_cells(path: Path) -> Iterator[str]:
    """The file itself, with each cell changed in turn, an entry lost, or two exchanged.

    It is as it was before each change; whoever asks for the next one has looked at the last.
    """
    good = path.read_bytes()
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(releases)")][1:]
    connection.close()
    changes = [(f"UPDATE releases SET {name} = ? WHERE id = 1", value)
               for name in columns for value in CELLS]  # fmt: skip
    changes += [
        ("DELETE FROM releases", None),
        ("DELETE FROM releases WHERE id = 1", None),
        ("DELETE FROM releases WHERE id = (SELECT max(id) FROM releases)", None),
        ("UPDATE releases SET id = 100 - id", None),
        ("DELETE FROM state", None),
        ("INSERT INTO state VALUES (0, '')", None),
        ("DROP TABLE state", None),
        ("DROP TABLE releases", None),
        ("UPDATE releases SET content = substr(content, 1, 200)", None),
        ("UPDATE releases SET content = zeroblob(length(content))", None),
    ]
    for statement, value in changes:
        path.write_bytes(good)
        connection = sqlite3.connect(path)
        try:
            connection.execute(statement, (value,) if "?" in statement else ())
            connection.commit()
        except (sqlite3.IntegrityError, sqlite3.OperationalError):
            continue
        finally:
            connection.close()
        if path.read_bytes() != good:
            yield f"{statement} {value!r}"
    path.write_bytes(good)
