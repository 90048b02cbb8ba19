"""Data files that want to break their reader: each is (name, bytes), made from a seed.

Names end in what the file claims to be. Files that hold people have `SECRET` in every row (in the
columns `name` and `disease`), so that whoever reads them can see whether a message quotes a row.
"""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

File = tuple[str, bytes]
QUASI, SENSITIVE = ("age", "zip"), "disease"
LONG = 140_000  # beyond the limit that Python's csv module has for a field


def rows(seed: int, number: int = 24) -> list[list[str]]:
    chance = random.Random(seed)
    return [
        [f"SECRET{place} Smith", str(chance.randint(20, 24)), str(13_000 + chance.randint(0, 3)),
         chance.choice(["SECRETflu", "SECRETcold"])]
        for place in range(number)
    ]  # fmt: skip


HEADER = ["name", "age", "zip", "disease"]


def text(table: list[list[str]], sign: str = ",", end: str = "\n") -> str:
    return "".join(sign.join(row) + end for row in table)


def plain_text(seed: int = 0) -> str:
    return text([HEADER, *rows(seed)])


def odd_texts(seed: int = 0) -> Iterator[File]:
    """Text files, each with one thing wrong or odd."""
    people = rows(seed)
    whole = text([HEADER, *people])
    body = text(people)
    yield "no header.csv", body.encode()
    yield "no header, words.csv", text([[r[0], "F", "Ulm", r[3]] for r in people]).encode()
    yield "quote never closed in the header.csv", f'"{whole}'.encode()
    yield "quote closed rows later.csv", (f'"{whole}').replace("Smith", 'Smith"', 1).encode()
    yield "quote never closed in a row.csv", whole.replace("SECRET3", '"SECRET3').encode()
    yield "a field too many.csv", whole.replace("SECRET3", "x,SECRET3").encode()
    yield "a field too few.csv", whole.replace(" Smith,", " Smith", 1).encode()
    yield "mixed line ends.csv", whole.replace("\n", "\r\n", 7).encode()
    yield "lone returns.csv", whole.replace("\n", "\r").encode()
    yield "nul.csv", whole.replace("Smith", "\0", 1).encode()
    yield "nul far below.csv", (whole * 40 + "\0").encode()
    yield "latin 1.csv", whole.replace("Smith", "Schäfer").encode("latin-1")
    yield "utf 16.csv", whole.encode("utf-16")
    yield "bom.csv", whole.encode("utf-8-sig")
    yield "only a header.csv", text([HEADER]).encode()
    yield "empty.csv", b""
    yield "blank lines.csv", b"\n\n\n"
    yield "twice named.csv", whole.replace("name", "age", 1).encode()
    yield "case.csv", whole.replace("name", "AGE", 1).encode()
    yield "unnamed.csv", whole.replace("name", "", 1).encode()
    yield "control signs.csv", whole.replace("age", "a\x1b[2Jge", 1).encode()
    yield "long header.csv", whole.replace("name", "n" * LONG, 1).encode()
    yield "long field.csv", whole.replace("SECRET3", "x" * LONG, 1).encode()
    yield "many columns.csv", text([[*HEADER, *(f"c{n}" for n in range(3000))]]).encode()
    for value in ("+5", "+4917" + "0" * 14, "-0", "1e400", "1e-400", "9" * 400, "1" + "0" * 5000,
                  "0.1234567890123456789", "nan", "inf", "0x1F", "1_000", "٣", "{a,,b}", "{}", "[",
                  "=HYPERLINK(1)", "2024-13-45", "9999-12-31", "(missing)", "*", "\x1b]0;x\x07",
                  "\u202e", "1e99999999999999999999"):  # fmt: skip
        table = [[r[0], value if place % 3 else r[1], *r[2:]] for place, r in enumerate(people)]
        yield (
            f"all {value[:12].encode().hex()}.csv",
            text([HEADER, *([r[0], value, *r[2:]] for r in people)]).encode(),
        )
        yield f"some {value[:12].encode().hex()}.csv", text([HEADER, *table]).encode()
    yield "packed.csv.gz", gzip.compress(whole.encode())
    yield "not packed.csv.gz", whole.encode()
    yield "cut.csv.gz", gzip.compress(whole.encode())[:-9]
    yield "bomb.csv.gz", gzip.compress(b"0" * (1 << 26), 1)
    yield "damaged.csv.gz", damaged(gzip.compress(whole.encode()), seed)


def odd_columns() -> Iterator[tuple[str, pa.Array]]:
    """Columns of types and values that few tables have."""
    n = 24
    yield "decimal", pa.array([Decimal(4 * 10**37 + k) for k in range(n)], pa.decimal128(38, 0))
    yield "fractions", pa.array([Decimal(k).scaleb(-10) for k in range(n)], pa.decimal128(38, 10))
    yield "unsigned", pa.array([2**64 - 1 - k for k in range(n)], pa.uint64())
    yield "years beyond", pa.array([3_000_000 + k for k in range(n)], pa.date32())
    yield "years before", pa.array([-800_000 - k for k in range(n)], pa.date32())
    yield "endless", pa.array([2**62 + k for k in range(n)], pa.timestamp("us"))
    yield "nanoseconds", pa.array(range(n), pa.timestamp("ns"))
    yield "zoned", pa.array(range(n), pa.timestamp("ns", "Asia/Tokyo"))
    yield "clock", pa.array(range(n), pa.time64("ns"))
    yield "duration", pa.array(range(n), pa.duration("ns"))
    yield "struct", pa.array([{"field": k} for k in range(n)])
    yield "map", pa.array([[("SECRET", k)] for k in range(n)], pa.map_(pa.string(), pa.int64()))
    yield "lists", pa.array([[k, k] for k in range(n)])
    yield "lists of structs", pa.array([[{"field": k}] for k in range(n)])
    yield "bytes", pa.array([b"SECRET\xff" for _ in range(n)])
    yield "floats", pa.array([float("nan"), float("inf"), -float("inf"), -0.0] * (n // 4))
    yield "halves", pa.array([1.5] * n, pa.float16())
    yield "flags", pa.array([True, None] * (n // 2))
    yield "nothing", pa.nulls(n)
    yield "words", pa.array(["SECRET", "b", None] * (n // 3)).dictionary_encode()


def with_column(column: pa.Array, name: str) -> pa.Table:
    people = dict(zip(HEADER, zip(*rows(1, len(column)), strict=True), strict=True))
    table = {key: pa.array(values) for key, values in people.items()}
    return pa.table({**table, name: column})


def written(table: pa.Table, ending: str) -> bytes:
    sink = io.BytesIO()
    if ending == "parquet":
        pq.write_table(table, sink)
    else:
        feather.write_feather(table, sink, compression="uncompressed")
    return sink.getvalue()


def odd_tables() -> Iterator[File]:
    """Parquet and Arrow files with an odd column among the quasi-identifiers, or the diseases."""
    for kind, column in odd_columns():
        for name in ("age", SENSITIVE):
            for ending in ("parquet", "arrow"):
                try:
                    data = written(with_column(column, name), ending)
                except (pa.ArrowException, ValueError):
                    continue  # cannot be written at all
                yield f"{kind} as {name}.{ending}", data


def damaged(data: bytes, seed: int, most: int = 6) -> bytes:
    """One to six bytes changed, or the end cut off."""
    chance = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chance.randint(1, most)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(len(changed))] if chance.random() < 0.1 else changed)


def damaged_files(number: int, seed: int = 0) -> Iterator[File]:
    """Files that were whole once."""
    table = with_column(pa.array(["SECRET", "b", None] * 8).dictionary_encode(), "word")
    sources: dict[str, Callable[[], bytes]] = {
        "arrow": lambda: written(table, "arrow"),
        "parquet": lambda: written(table, "parquet"),
        "csv": lambda: plain_text(seed).encode(),
        "csv.gz": lambda: gzip.compress(plain_text(seed).encode()),
    }
    whole: dict[str, Any] = {ending: make() for ending, make in sources.items()}
    endings = list(whole)
    for place in range(number):
        ending = endings[place % len(endings)]
        yield f"damaged {place}.{ending}", damaged(whole[ending], 1000 * seed + place)


def all_files(number: int = 200, seed: int = 0) -> Iterator[File]:
    """Everything; `number` of damaged files."""
    yield from odd_texts(seed)
    yield from odd_tables()
    yield from damaged_files(number, seed)
