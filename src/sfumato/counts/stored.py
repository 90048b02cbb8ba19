"""Counts too many for memory, kept by the engine and asked for by SQL.

Nothing is worked out on a part of the people. What is made for tables of any size asks for `parts`,
for `histograms` (people by the codes of one column and their sensitive values, node by node), for
the tuples `within` some bounds, of which there must be few enough, or for `kinds`.

*Kinds*: equal groups told once. Criteria read of a group its people by sensitive value. A table of
a hundred million rows has millions of groups, but few that differ in that: most are one person with
one value. Where one number a tuple fits in memory, as it does of many tables whose codes do not,
the numbers come here and are sorted: groups lie together. Otherwise the engine groups twice, by
quasi-identifiers and then by what the groups count, and only one group of each kind comes here,
with the number of its likes. Groups are told apart by sums over their people of secret random
numbers, which two groups that differ have in common with a chance of about 2**-93 (by the engine)
or 2**-128 however they were made, so that among a million kinds one is overlooked with a chance
below 2**-50.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.counts.counts import (
    Answer,
    Attribute,
    Counts,
    SeveralTuples,
    TableCounts,
    begin_runs,
    rank_rows,
)
from sfumato.engines.base import Engine, fresh, named, select
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints, run_places
from sfumato.schema.domain import Domain

# Searching a tuple takes a few copies of it: sorted, by node, with counts on both sides of a cut.
COPIES = 7
SMALL = 1 << 15  # codes that a SMALLINT holds

_BUCKETS = 32  # a part of a table is made of about so many buckets, so that none is much too large
_SUMS = ("a", "b", "c")  # of secret numbers: what groups of different kinds differ in
_LEAST_SHARE = 8  # of the memory that parts take, whatever else is held
_TUPLE, _GROUP = 64, 64  # bytes that it takes to bring a tuple, and a group of its own
_MOST_PEOPLE = 1 << 32  # times a number below 2**31: the sums fit a BIGINT
_WIDE = 1 << 62  # keys that a BIGINT holds
_SORTED_TUPLE = 80  # bytes that it takes to tell groups by one number of each tuple
_WIDEST = 10**37  # keys that a DECIMAL(38) holds


class TooManyKinds(ResourceError):
    """Even told once, the groups do not fit in memory."""


@dataclass(frozen=True)
class Kinds:
    """One group of each kind, and how often the kind occurs.

    `counts` are the people of these groups by all but quasi-identifiers, `of` the kind of each;
    `codes` the quasi-identifiers of each group, `key` the least number a group of the kind has.
    """

    counts: Counts
    codes: Codes
    of: Ints
    multiplicity: Ints
    key: pa.ChunkedArray


@dataclass(frozen=True, eq=False)
class StoredCounts(TableCounts):
    """Distinct tuples in an engine's table: columns q0, q1, ... s0, ... p, n and w.

    q are the codes of the QIs, s those of the sensitive attributes, p the protect column's (its
    domain is `labels`), n people and w their summed weights. `shared` lists the places of people
    who have several, by a number for each of them and the codes there; None where there are none,
    or too many.
    """

    fits_memory: ClassVar[bool] = False

    engine: Engine
    name: str
    quasi: tuple[Domain, ...]
    sensitive: tuple[Attribute, ...]
    labels: Domain | None = None
    weighted: bool = False
    extra_memberships: int = 0
    several: SeveralTuples | None = None
    shared: pa.Table | None = None

    def in_memory(self, why: str) -> Counts:
        size = bytes_for(len(self), len(self.columns))
        raise ResourceError(
            f"{why} needs all {len(self):,} distinct tuples of the table in memory, about "
            f"{size / 1e9:,.1f} GB; raise the memory limit, or use a part of the rows"
        )

    def either(
        self,
        *,
        in_memory: Callable[[Counts], Answer],
        stored: Callable[[StoredCounts], Answer],
    ) -> Answer:
        return stored(self)

    def __repr__(self) -> str:
        return f"StoredCounts({len(self):,} distinct tuples of {self.people:,} people)"

    @cached_property
    def _size(self) -> tuple[int, int]:
        sums = self.engine.fetch(
            f"SELECT COUNT(*) AS t, CAST(SUM(n) AS BIGINT) AS n FROM {self.name}"
        )
        return int(sums.column("t")[0].as_py()), int(sums.column("n")[0].as_py() or 0)

    def __len__(self) -> int:
        return self._size[0]

    @property
    def memberships(self) -> int:
        return self._size[1]

    @property
    def columns(self) -> list[str]:
        """The code columns: of quasi-identifiers, of sensitive attributes, of protection."""
        own = [f"q{place}" for place in range(len(self.quasi))]
        own += [f"s{place}" for place in range(len(self.sensitive))]
        return [*own, *(["p"] if self.labels is not None else [])]

    @property
    def other_columns(self) -> list[str]:
        """The columns besides the quasi-identifiers: what else is to be known of people."""
        return self.columns[len(self.quasi) :]

    @property
    def sums(self) -> list[str]:
        """SQL aggregates: people and, where there are any, their weights."""
        summed = ["CAST(SUM(n) AS BIGINT) AS n"]
        return [*summed, "SUM(w) AS w"] if self.weighted else summed

    def _having(self, column: str, size: int) -> Ints:
        sums = self.engine.fetch(select([column, *self.sums], self.name, group=[column]))
        people = np.zeros(size, dtype=np.int64)
        people[sums.column(column).to_numpy()] = sums.column("n").to_numpy()
        return people

    def by_code(self, column: int) -> Ints:
        return self._having(f"q{column}", len(self.quasi[column]))

    def by_value(self, attribute: int) -> Ints:
        return self._having(f"s{attribute}", self.sensitive[attribute].codes)

    # -- the tuples, as many as fit ---------------------------------------------------------------

    @property
    def most(self) -> int:
        """How many tuples fit in memory."""
        return self._most()

    def _most(self, beside: int = 0, light: int = 1) -> int:
        """The same, so many bytes being held besides, and for who makes so many times fewer copies
        of a tuple."""
        left = max(self.engine.memory - beside, self.engine.memory // _LEAST_SHARE)
        return light * left // bytes_for(1, len(self.columns))

    @property
    def fits(self) -> bool:
        """Whether all tuples may be brought to memory."""
        return len(self) <= self.most

    def parts(self, *, beside: int = 0, light: int = 1) -> Iterator[Counts]:
        most = self._most(beside, light)
        if len(self) <= most:
            yield self.within()
            return
        # Groups are dealt to buckets by a remainder of their key, and never parted.
        buckets = _prime(_BUCKETS * ceil(len(self) / max(most, 1)))
        bucket = f"CAST(MOD({self.group_key()}, {buckets}) AS BIGINT)"  # wide keys are decimals
        counted = self.engine.fetch(
            select([named(bucket, "b"), "COUNT(*) AS t"], self.name, group=[bucket])
        )
        tuples = np.zeros(buckets, dtype=np.int64)
        tuples[counted.column("b").to_numpy()] = counted.column("t").to_numpy()
        for low, high in _runs(tuples, most):
            yield self.within(f"{bucket} BETWEEN {low} AND {high}")

    def whole(self) -> Counts:
        """All tuples, in memory, and who is in several of them."""
        counts, shared = self.within().compact(), self.shared
        if shared is None:
            return counts
        codes = np.vstack([shared.column(name).to_numpy() for name in self.columns])
        return counts.with_several(
            shared.column("person").to_numpy().astype(np.int64), codes.astype(np.int32)
        )

    def within(self, where: str = "") -> Counts:
        """The tuples that a condition selects, in memory."""
        text = select([*self.columns, "n", *self._weight], self.name)
        return self.made_of(self.engine.fetch(f"{text} WHERE {where}" if where else text))

    def made_of(self, table: pa.Table) -> Counts:
        """Counts from columns named like the stored ones; those that are missing hold zeros."""

        def stack(names: Sequence[str]) -> Codes:
            codes = np.zeros((len(names), table.num_rows), dtype=np.int32)
            for place, name in enumerate(names):
                if name in table.schema.names:
                    codes[place] = table.column(name).to_numpy()
            return codes

        quasi, sensitive = len(self.quasi), len(self.sensitive)
        return Counts(
            quasi=self.quasi,
            sensitive=self.sensitive,
            codes=stack(self.columns[:quasi]),
            values=stack(self.columns[quasi : quasi + sensitive]),
            n=table.column("n").to_numpy().astype(np.int64),
            weights=table.column("w").to_numpy().astype(np.float64) if self.weighted else None,
            protect=None if self.labels is None else (self.labels, stack(["p"])[0]),
            extra_memberships=self.extra_memberships,
        )

    def numbered(self, node: str, where: str) -> tuple[Counts, Ints]:
        """The tuples that a condition selects, in the order of an SQL expression's numbers."""
        listed = [named(node, "node"), *self.columns, "n", *self._weight]
        fetched = self.engine.fetch(f"{select(listed, self.name)} WHERE {where}")
        number = fetched.column("node").to_numpy().astype(np.int32)
        order = np.argsort(number, kind="stable")
        return self.made_of(fetched).take(order), number[order].astype(np.int64)

    def in_order(self, number: str) -> StoredCounts:
        """The same tuples sorted by an SQL expression, which is a column `b` of theirs.

        Whoever asks for one number after another then reads each tuple once.
        """
        name = fresh("tuples")
        listed = select([named(f"CAST({number} AS INT)", "b"), "*"], self.name)
        self.engine.materialize(name, f"{listed} ORDER BY b", large=True)
        return replace(self, name=name)

    def totals(self, where: str) -> Counts:
        """The people that a condition selects by all but their quasi-identifiers."""
        grouped = select(
            [*self.other_columns, *self.sums],
            f"{self.name} WHERE {where}",
            group=self.other_columns,
        )
        return self.made_of(self.engine.fetch(grouped))

    def histograms(self, node: str, target: str | None = None) -> pa.Table:
        """People by node, one QI's code (the others NULL) and whatever else is known of them.

        `node` is an SQL expression, NULL for those left out. `t` counts the tuples. One pass serves
        all columns. With a `target` column, also by that.
        """
        quasi, further = self.columns[: len(self.quasi)], self.other_columns
        listed = [named(node, "node"), *self.columns, "n", *self._weight]
        if target is not None:
            listed.append(named(target, "target"))
            further = [*further, "target"]
        placed = f"({select(listed, self.name)}) AS placed WHERE node IS NOT NULL"
        sets = ", ".join(f"(node, {', '.join([column, *further])})" for column in quasi)
        selected = ", ".join(
            ["node", *quasi, *further, *self.sums, "CAST(COUNT(*) AS BIGINT) AS t"]
        )
        return self.engine.fetch(f"SELECT {selected} FROM {placed} GROUP BY GROUPING SETS ({sets})")

    @property
    def _weight(self) -> list[str]:
        return ["w"] if self.weighted else []

    # -- equal groups told once -------------------------------------------------------------------

    def kinds(self, key: str = "") -> Kinds:
        """The groups by what they count, each kind by the first of its groups, in their order.

        `key`: SQL of the number of a tuple's group, by default its quasi-identifiers.
        """
        if not key and (content := self._content()):
            # The engine looks at each column by itself, and may find fewer; of so many people.
            with suppress(TooManyKinds) if self.memberships < self._countable else nullcontext():
                return self._kinds_of_numbers(content)
        return self._kinds_by_engine(key or self.group_key())

    def _content(self) -> list[int] | None:
        """How many values all but the quasi-identifiers of a tuple have, its people last.

        None where no number tells a tuple, or numbers do not fit in memory, or lack its weight.
        """
        if self.weighted or len(self) * _SORTED_TUPLE > self.engine.memory:
            return None
        most = self.engine.fetch(f"SELECT MAX(n) AS n FROM {self.name}").column("n")[0].as_py() or 0
        sizes = [*(self.codes_in(column) for column in self.other_columns), int(most) + 1]
        space = prod(max(len(domain), 1) for domain in self.quasi)
        return sizes if space * prod(sizes) < _WIDE else None

    def _kinds_of_numbers(self, sizes: list[int]) -> Kinds:
        """Kinds by a number of each tuple: its group's, followed by digits of the rest of it."""
        number, contents = self.group_key(), prod(sizes)
        for column, size in zip([*self.other_columns, "n"], sizes, strict=True):
            number = f"({number}) * {size} + {column}"
        with self.engine.yield_memory():
            fetched = self.engine.fetch(select([named(number, "v")], self.name)).column("v")
            numbers: Ints = fetched.to_numpy().astype(np.int64)
            del fetched
            # Rows that were sorted are kept in their order, or nearly: runs are merged.
            numbers.sort(kind="stable")
            keys, content = np.divmod(numbers, contents)
            del numbers
            begins = np.flatnonzero(begin_runs(keys))
            keys = keys[begins]
            rank, first = rank_rows([content], [contents])
            content = content[first]
            tuples = np.diff(begins, append=len(rank))
            kind_of, example = _kinds_of_groups(rank, begins, tuples)
            place = run_places(begins[example], tuples[example])
            self._check_kinds(len(place), len(example))
            digits = _digits(content[rank[place]], sizes)
            cells = dict(zip([*self.other_columns, "n"], map(pa.array, digits), strict=True))
            codes = np.array(
                _digits(keys[example], [max(len(domain), 1) for domain in self.quasi]), np.int32
            )
            return Kinds(
                self.made_of(pa.table(cells)),
                codes.reshape(len(self.quasi), len(example)),
                np.repeat(np.arange(len(example)), tuples[example]),
                np.bincount(kind_of, minlength=len(example)).astype(np.int64, copy=False),
                pa.chunked_array([pa.array(keys[example])]),
            )

    def _check_kinds(self, tuples: int, kinds: int) -> None:
        """Refuse more than fit."""
        if tuples * _TUPLE + kinds * (8 * len(self.quasi) + _GROUP) > self.engine.memory:
            raise TooManyKinds(
                f"the table has {kinds:,} different groups of {tuples:,} tuples, too many for "
                "the memory limit; raise it, or judge a part of the columns"
            )

    def _kinds_by_engine(self, key: str) -> Kinds:
        engine = self.engine
        joins, summed, brought = self._fingerprint()
        grouped = (
            f"SELECT {key} AS k, CAST(SUM(n) AS BIGINT) AS n, {summed}, COUNT(*) AS m "
            f"FROM {self.name}{joins} GROUP BY {key}"
        )
        name = fresh("classes")
        sums = ", ".join(["n", *_SUMS])
        kinds = "MIN(k) AS k, CAST(COUNT(*) AS BIGINT) AS t, CAST(MAX(m) AS BIGINT) AS m"
        try:
            engine.materialize(name, f"SELECT {kinds} FROM ({grouped}) AS groups GROUP BY {sums}")
            size = engine.fetch(f"SELECT CAST(SUM(m) AS BIGINT) AS m, COUNT(*) AS k FROM {name}")
            self._check_kinds(size.column("m")[0].as_py() or 0, size.column("k")[0].as_py())
            kinds_fetched = engine.fetch(f"SELECT k, t FROM {name}").sort_by("k")
            numbered = fresh("kinds")
            engine.put(
                numbered,
                kinds_fetched.select(["k"]).append_column("kind", _up_to(kinds_fetched.num_rows)),
            )
            brought.append(numbered)
            joined = f"{self.name} JOIN {numbered} ON {key} = {numbered}.k"
            listed = ", ".join(
                ["kind", *self.other_columns, "n", *(["w"] if self.weighted else [])]
            )
            people = engine.fetch(f"SELECT {listed} FROM {joined}")
            least = [named(f"MIN({q})", q) for q in self.columns[: len(self.quasi)]]
            examples = engine.fetch(select(["kind", *least], joined, group=["kind"]))
            examples = examples.sort_by("kind")
        finally:
            for table in (name, *brought):
                engine.drop(table)
        codes = [examples.column(q).to_numpy() for q in self.columns[: len(self.quasi)]]
        return Kinds(
            self.made_of(people),
            np.array(codes, dtype=np.int32).reshape(len(codes), examples.num_rows),
            people.column("kind").to_numpy().astype(np.int64),
            kinds_fetched.column("t").to_numpy().astype(np.int64),
            kinds_fetched.column("k"),
        )

    def group_key(self) -> str:
        """SQL: the codes of a tuple's quasi-identifiers as one number."""
        space = prod(max(len(domain), 1) for domain in self.quasi)
        if space >= _WIDEST:
            raise ResourceError(
                "the quasi-identifiers have more than 1e37 combinations of values, too many to "
                "judge a table larger than memory by; use fewer columns or coarser domains"
            )
        kind = "BIGINT" if space < _WIDE else "DECIMAL(38, 0)"
        text = f"CAST(0 AS {kind})"
        for place, domain in enumerate(self.quasi):
            text = f"CAST({text} * {max(len(domain), 1)} + q{place} AS {kind})"
        return text

    def _fingerprint(self) -> tuple[str, str, list[str]]:
        """SQL: the tables of secret numbers, the sums of them over people; and those tables."""
        if self.memberships >= self._countable:
            raise ResourceError(
                f"{self.memberships:,} people are more than a table larger than memory can be "
                f"judged by ({self._countable:,}); judge parts of it"
            )
        joins, brought = "", []
        for column in self.other_columns:
            size = self.codes_in(column)
            secret = {name: pa.array([secrets.randbits(31) for _ in range(size)]) for name in _SUMS}
            brought.append(fresh("secrets"))
            self.engine.put(brought[-1], pa.table({"code": _up_to(size), **secret}))
            joins += f" JOIN {brought[-1]} ON {self.name}.{column} = {brought[-1]}.code"
        terms = {
            name: " + ".join(f"CAST(SUM(n * {table}.{name}) AS BIGINT)" for table in brought) or "0"
            for name in _SUMS
        }
        return joins, ", ".join(named(terms[name], name) for name in _SUMS), brought

    @property
    def _countable(self) -> int:
        """Of fewer people than these the engine can sum secret numbers."""
        return _MOST_PEOPLE // max(len(self.other_columns), 1)

    def codes_in(self, column: str) -> int:
        """How many codes a column besides the quasi-identifiers may hold."""
        if column == "p":
            assert self.labels is not None
            return len(self.labels)
        return self.sensitive[int(column[1:])].codes


def bytes_for(tuples: int, columns: int) -> int:
    """The bytes it takes to work on so many tuples in memory."""
    return tuples * (4 * columns + 16) * COPIES


def _kinds_of_groups(rank: Ints, begins: Ints, tuples: Ints) -> tuple[Ints, Ints]:
    """The kind of each group, and the first group of each kind, ascending.

    `rank` tells what each tuple holds besides its group, of which the first begins at `begins`; no
    two tuples of a group hold the same.
    """
    kind_of = np.empty(len(begins), dtype=np.int64)
    # Most groups are one tuple, which tells the kind.
    alone = np.flatnonzero(tuples == 1)
    content = rank[begins[alone]]
    first = np.full(int(rank.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[content[::-1]] = alone[::-1]
    kind_of[alone] = first[content]
    others = np.flatnonzero(tuples > 1)
    place = rank[run_places(begins[others], tuples[others])]
    starts = np.cumsum(tuples[others]) - tuples[others]
    collision = len(others) > 0
    while collision:
        drawn = np.frombuffer(secrets.token_bytes(16 * len(first)), np.uint64).reshape(2, -1)
        sums, checks = (np.add.reduceat(secret[place], starts) for secret in drawn)
        _, at, number = np.unique(sums, return_index=True, return_inverse=True)
        kind_of[others] = others[at][number]
        collision = bool((checks != checks[at][number]).any())
    # So far a kind is called by its first group.
    is_first = kind_of == np.arange(len(begins))
    return (np.cumsum(is_first) - 1)[kind_of], np.flatnonzero(is_first)


def _digits(numbers: Ints, sizes: Sequence[int]) -> list[Ints]:
    """Numbers taken apart, the first digit first; there are so many of each."""
    digits = []
    for size in reversed(sizes):
        numbers, digit = np.divmod(numbers, size)
        digits.append(digit)
    return digits[::-1]


def _up_to(number: int) -> pa.Array:
    return pa.array(np.arange(number, dtype=np.int64))


def _prime(least: int) -> int:
    """A prime at or above: a remainder by it depends on every column of a key."""
    number = max(least, 2)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def _runs(tuples: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Runs of buckets (first and last) with as many tuples as fit; a bucket is not divided."""
    first, inside = 0, 0
    for bucket, number in enumerate(tuples.tolist()):
        if inside and inside + number > most:
            yield first, bucket - 1
            first, inside = bucket, 0
        inside += number
    if inside:
        yield first, len(tuples) - 1
