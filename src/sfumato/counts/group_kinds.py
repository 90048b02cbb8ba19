"""Equal groups told once: how a table of any size is judged as it stands.

Criteria read of a group its people by sensitive value. A table of a hundred million rows has
millions of groups, but few that differ in that: most are one person with one value. The engine
groups twice, by quasi-identifiers and then by what the groups count, and only one group of each
kind comes here, with the number of its likes.

Groups are told apart by sums over their people of secret random numbers, three for each value.
Two groups that differ agree in all three with a chance of about 2**-93 however they were made, so
that among a million kinds one is overlooked with a chance below 2**-50.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import Counts
from sfumato.counts.stored import Held, fresh
from sfumato.engines.sql import named
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints

_SUMS = ("a", "b", "c")
_TUPLE, _GROUP = 64, 64  # bytes that it takes to bring a tuple, and a group of its own
_MOST_PEOPLE = 1 << 32  # times a number below 2**31: the sums fit a BIGINT
_WIDE = 1 << 62  # keys that a BIGINT holds
_WIDEST = 10**37  # keys that a DECIMAL(38) holds


class TooManyKinds(ResourceError):
    """Even told once, the groups do not fit in memory."""


@dataclass(frozen=True)
class Classes:
    """One group of each kind, and how often the kind occurs.

    `counts` are the people of these groups by all but quasi-identifiers, `of` the kind of each;
    `codes` the quasi-identifiers of each group.
    """

    counts: Counts
    codes: Codes
    of: Ints
    times: Ints


def equal_groups(held: Held) -> Classes:
    """The groups of a held table by what they count."""
    engine, key = held.engine, group_key(held)
    joins, summed, brought = _fingerprint(held)
    grouped = (
        f"SELECT {key} AS k, CAST(SUM(n) AS BIGINT) AS n, {summed}, COUNT(*) AS m "
        f"FROM {held.name}{joins} GROUP BY {key}"
    )
    name = fresh("classes")
    sums = ", ".join(["n", *_SUMS])
    kinds = "MIN(k) AS k, CAST(COUNT(*) AS BIGINT) AS t, CAST(MAX(m) AS BIGINT) AS m"
    try:
        engine.materialize(name, f"SELECT {kinds} FROM ({grouped}) AS groups GROUP BY {sums}")
        size = engine.fetch(f"SELECT CAST(SUM(m) AS BIGINT) AS m, COUNT(*) AS k FROM {name}")
        tuples, number = size.column("m")[0].as_py() or 0, size.column("k")[0].as_py()
        if tuples * _TUPLE + number * (8 * len(held.quasi) + _GROUP) > engine.memory:
            raise TooManyKinds(
                f"the table has {number:,} different groups of {tuples:,} tuples, too many for the "
                "memory limit; raise it, or judge a part of the columns"
            )
        found = engine.fetch(f"SELECT k, t FROM {name}").sort_by("k")
        numbered = fresh("kinds")
        engine.put(numbered, found.select(["k"]).append_column("kind", _up_to(found.num_rows)))
        brought.append(numbered)
        joined = f"{held.name} JOIN {numbered} ON {key} = {numbered}.k"
        listed = ", ".join(["kind", *held.shown, "n", *(["w"] if held.weighted else [])])
        told = engine.fetch(f"SELECT {listed} FROM {joined}")
        least = ", ".join(f"MIN({q}) AS {q}" for q in held.columns[: len(held.quasi)])
        shown = engine.fetch(f"SELECT kind, {least} FROM {joined} GROUP BY kind").sort_by("kind")
    finally:
        for one in (name, *brought):
            engine.drop(one)
    codes = [shown.column(q).to_numpy() for q in held.columns[: len(held.quasi)]]
    return Classes(
        held.made_of(told),
        np.array(codes, dtype=np.int32).reshape(len(codes), shown.num_rows),
        told.column("kind").to_numpy().astype(np.int64),
        found.column("t").to_numpy().astype(np.int64),
    )


def _up_to(number: int) -> pa.Array:
    return pa.array(np.arange(number, dtype=np.int64))


def group_key(held: Held) -> str:
    """SQL: the codes of a tuple's quasi-identifiers as one number."""
    space = 1
    for domain in held.quasi:
        space *= max(len(domain), 1)
    if space >= _WIDEST:
        raise ResourceError(
            "the quasi-identifiers have more than 1e37 combinations of values, too many to judge a "
            "table larger than memory by; use fewer columns or coarser domains"
        )
    kind = "BIGINT" if space < _WIDE else "DECIMAL(38, 0)"
    text = f"CAST(0 AS {kind})"
    for place, domain in enumerate(held.quasi):
        text = f"CAST({text} * {max(len(domain), 1)} + q{place} AS {kind})"
    return text


def _fingerprint(held: Held) -> tuple[str, str, list[str]]:
    """SQL: the tables of secret numbers, the sums of them over people; and those tables."""
    most = _MOST_PEOPLE // max(len(held.shown), 1)
    if held.places >= most:
        raise ResourceError(
            f"{held.places:,} people are more than a table larger than memory can be judged by "
            f"({most:,}); judge parts of it"
        )
    joins, brought = "", []
    for column in held.shown:
        size = codes_of(held, column)
        secret = {name: pa.array([secrets.randbits(31) for _ in range(size)]) for name in _SUMS}
        brought.append(fresh("secrets"))
        held.engine.put(brought[-1], pa.table({"code": _up_to(size), **secret}))
        joins += f" JOIN {brought[-1]} ON {held.name}.{column} = {brought[-1]}.code"
    terms = {
        name: " + ".join(f"CAST(SUM(n * {table}.{name}) AS BIGINT)" for table in brought) or "0"
        for name in _SUMS
    }
    return joins, ", ".join(named(terms[name], name) for name in _SUMS), brought


def codes_of(held: Held, column: str) -> int:
    """How many codes a column may hold."""
    if column == "p":
        assert held.labels is not None
        return len(held.labels)
    attribute = held.sensitive[int(column[1:])]
    return len(attribute.domain if attribute.sets is None else attribute.sets)
