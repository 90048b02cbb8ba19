"""Random tables with everything that engines might treat differently, and counts read back."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

import sfumato as sf

TEXTS = ["a", "A", "a ", " a", "é", "e\u0301", "it's", 'say "x"', "back\\slash", "\\n", "\n", "%_"]
TEXTS += ["", "NULL", "null", "😀", "${HOME}", "`", "ß", "SS", "0", "00", "1e3", "\t"]
DAY = dt.date(2020, 2, 28)
NOON = dt.datetime(2020, 2, 28, 12, 30, 0, 5)

# Roles for its columns, one set of them for each way of reading.
PLAIN = ["text", "word", "whole", "small", "number", "single", "day", "time", "zoned"]
PLAIN += ["price", "flag", "empty"]
SCHEMAS: dict[str, dict[str, Any]] = {
    "every type": {"quasi": PLAIN, "sensitive": "set"},
    "lists": {"quasi": ["flag"], "sensitive": ["tags", "codes", "days"]},
    "lists, repeated": {
        "quasi": ["day"],
        "sensitive": ["codes", "tags"],
        "several": "multiset",
        "protect": "set",
    },
    "person": {
        "quasi": ["flag"],
        "sensitive": ["text", "number"],
        "person": "who",
        "weight": "w",
        "domains": {"text": [*TEXTS, "two\nlines"]},  # texts that look alike are different ones
    },
    "person, repeated": {
        "quasi": ["single", "flag"],
        "sensitive": ["word", "tags"],
        "person": "who",
        "several": "multiset",
    },
    "count and weight": {
        "quasi": ["word", "time"],
        "sensitive": ["price", "zoned"],
        "count": "n",
        "weight": "w",
        "protect": "set",
        "keep": ["whole"],
        "identifiers": ["who"],
    },
}


def random_table(seed: int, rows: int = 160) -> pa.Table:
    """Columns of every type that a table about people may have, NULLs in each."""
    chance = random.Random(seed)

    def some(values: list[Any], kind: pa.DataType, missing: float = 0.15) -> pa.Array:
        return pa.array(
            [None if chance.random() < missing else chance.choice(values) for _ in range(rows)],
            kind,
        )

    def lists(values: list[Any], kind: pa.DataType) -> pa.Array:
        made = [
            None if chance.random() < 0.1 else chance.choices(values, k=chance.randint(0, 4))
            for _ in range(rows)
        ]
        return pa.array(made, pa.list_(kind))

    texts = chance.sample(TEXTS, 7)
    return pa.table(
        {
            "text": some(texts, pa.string()),
            "word": some(texts[:3], pa.large_string()).dictionary_encode(),
            "whole": some([-(2**62), -1, 0, 1, 2**62], pa.int64()),
            "small": some([0, 1, 255], pa.uint8()),
            "number": some([0.0, -0.0, 1.5, -1e300, float("nan")], pa.float64()),
            "single": some([0.1, -0.0, 3.0], pa.float32()),
            "day": some([DAY + dt.timedelta(n) for n in range(3)], pa.date32()),
            "time": some([NOON, NOON + dt.timedelta(microseconds=1)], pa.timestamp("us")),
            "zoned": some([NOON, NOON + dt.timedelta(hours=9)], pa.timestamp("ms", "Asia/Tokyo")),
            "price": some([Decimal("1.10"), Decimal("-2.00")], pa.decimal128(9, 2)),
            "flag": some([True, False], pa.bool_()),
            "empty": pa.nulls(rows),
            "tags": lists([*texts[:3], None], pa.string()),
            "codes": lists([1, 2, 3, None], pa.int32()),
            "days": lists([DAY, DAY + dt.timedelta(1)], pa.date32()),
            "who": some([f"{n}" for n in range(rows // 2)], pa.string(), 0),
            "n": some([0, 1, 2, 5], pa.int32(), 0),
            "w": some([0.5, 1.0, 2.25], pa.float64(), 0),
            "set": some(["x", "y"], pa.string()),
        }
    )


def told(table: sf.Table) -> dict[str, Any]:
    """All that a table's counts say, decoded: what must be the same whoever counted."""
    counts = table.counts
    tuples: dict[tuple[Any, ...], tuple[int, float]] = {}
    for place in range(len(counts)):
        key = [d.values[counts.codes[row, place]] for row, d in enumerate(counts.quasi)]
        for row, attribute in enumerate(counts.sensitive):
            code = counts.values[row, place]
            values = attribute.domain.values
            if attribute.sets is None:
                key.append(values[code])
            else:
                begin, end = attribute.sets.offsets[code : code + 2]
                key.append(tuple(values[one] for one in attribute.sets.members[begin:end]))
        if counts.protect is not None:
            key.append(counts.protect[0].values[counts.protect[1][place]])
        weight = 0.0 if counts.weights is None else float(counts.weights[place])
        assert tuple(key) not in tuples
        tuples[tuple(key)] = (int(counts.n[place]), weight)
    domains = [*counts.quasi, *(attribute.domain for attribute in counts.sensitive)]
    return {
        "people": counts.people,
        "spanning": counts.extra_memberships,
        "domains": {domain.name: (domain.kind, domain.values) for domain in domains},
        "cases": [attribute.case for attribute in counts.sensitive],
        "tuples": tuples,
    }
