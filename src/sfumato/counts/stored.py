"""Held: counts too many for memory, kept by the engine and asked for by SQL.

It answers like Counts wherever only domains or totals matter. Whoever asks for the tuples
themselves gets an error that says so: nothing is worked out on a part of the people. What is made
for tables of any size asks for `histograms` (people by the codes of one column and their sensitive
values, node by node) or for the tuples `within` some bounds, of which there must be few enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.counts import Attribute, Counts
from sfumato.engines.base import Engine
from sfumato.engines.sql import named, select
from sfumato.errors import ResourceError
from sfumato.numbers import Codes, Ints
from sfumato.schema.domain import Domain

# Searching a tuple takes a few copies of it: sorted, by node, with counts on both sides of a cut.
COPIES = 7
SMALL = 1 << 15  # codes that a SMALLINT holds
_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A name for a table of the engine's that no other table has."""
    return f"{name}_{next(_numbers)}"


class Held(Counts):
    """Distinct tuples in an engine's table: columns q0, q1, ... s0, ... p, n and w.

    q are the codes of the QIs, s those of the sensitive attributes, p the protect column's, n
    people and w their summed weights. `shared` lists the places of people who have several, by a
    number for each of them and the codes there; None where there are none, or too many.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        quasi: tuple[Domain, ...],
        sensitive: tuple[Attribute, ...],
        *,
        labels: Domain | None = None,
        weighted: bool = False,
        spanning: int = 0,
        shared: pa.Table | None = None,
    ) -> None:
        for field, given in {
            "engine": engine,
            "name": name,
            "quasi": quasi,
            "sensitive": sensitive,
            "labels": labels,
            "weighted": weighted,
            "spanning": spanning,
            "shared": shared,
        }.items():
            object.__setattr__(self, field, given)

    engine: Engine
    name: str
    labels: Domain | None
    weighted: bool
    shared: pa.Table | None

    # -- what does not fit ------------------------------------------------------------------------

    def _refuse(self) -> NoReturn:
        size = bytes_for(len(self), len(self.columns))
        raise ResourceError(
            f"this needs all {len(self):,} distinct tuples of the table in memory, about "
            f"{size / 1e9:,.1f} GB; raise the memory limit, or use a part of the rows"
        )

    @property
    def codes(self) -> Codes:
        self._refuse()

    @property
    def values(self) -> Codes:
        self._refuse()

    @property
    def n(self) -> Ints:
        self._refuse()

    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        if self.weighted:
            self._refuse()
        return None

    @property
    def protect(self) -> tuple[Domain, Codes] | None:
        if self.labels is not None:
            self._refuse()
        return None

    def __repr__(self) -> str:
        return f"Held({len(self):,} distinct tuples of {self.people:,} people)"

    # -- what does --------------------------------------------------------------------------------

    @cached_property
    def _size(self) -> tuple[int, int]:
        found = self.engine.fetch(
            f"SELECT COUNT(*) AS t, CAST(SUM(n) AS BIGINT) AS n FROM {self.name}"
        )
        return int(found.column("t")[0].as_py()), int(found.column("n")[0].as_py() or 0)

    def __len__(self) -> int:
        return self._size[0]

    @property
    def people(self) -> int:
        return self._size[1] - self.spanning

    @property
    def places(self) -> int:
        """People, one who is in several groups counted in each."""
        return self._size[1]

    @property
    def columns(self) -> list[str]:
        """The code columns: of quasi-identifiers, of sensitive attributes, of protection."""
        own = [f"q{place}" for place in range(len(self.quasi))]
        own += [f"s{place}" for place in range(len(self.sensitive))]
        return [*own, *(["p"] if self.labels is not None else [])]

    @property
    def shown(self) -> list[str]:
        """The columns besides the quasi-identifiers: what else is to be known of people."""
        return self.columns[len(self.quasi) :]

    @property
    def sums(self) -> list[str]:
        """SQL aggregates: people and, where there are any, their weights."""
        summed = ["CAST(SUM(n) AS BIGINT) AS n"]
        return [*summed, "SUM(w) AS w"] if self.weighted else summed

    def having(self, column: str, size: int) -> Ints:
        found = self.engine.fetch(select([column, *self.sums], self.name, group=[column]))
        people = np.zeros(size, dtype=np.int64)
        people[found.column(column).to_numpy()] = found.column("n").to_numpy()
        return people

    def by_code(self, column: int) -> Ints:
        return self.having(f"q{column}", len(self.quasi[column]))

    def by_value(self, attribute: int) -> Ints:
        described = self.sensitive[attribute]
        size = len(described.domain if described.sets is None else described.sets)
        return self.having(f"s{attribute}", size)

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
        """Counts from columns named like the held ones; those that are missing hold zeros."""

        def stack(names: Sequence[str]) -> Codes:
            found = np.zeros((len(names), table.num_rows), dtype=np.int32)
            for place, name in enumerate(names):
                if name in table.schema.names:
                    found[place] = table.column(name).to_numpy()
            return found

        quasi, sensitive = len(self.quasi), len(self.sensitive)
        return Counts(
            quasi=self.quasi,
            sensitive=self.sensitive,
            codes=stack(self.columns[:quasi]),
            values=stack(self.columns[quasi : quasi + sensitive]),
            n=table.column("n").to_numpy().astype(np.int64),
            weights=table.column("w").to_numpy().astype(np.float64) if self.weighted else None,
            protect=None if self.labels is None else (self.labels, stack(["p"])[0]),
            spanning=self.spanning,
        )

    def numbered(self, node: str, where: str) -> tuple[Counts, Ints]:
        """The tuples that a condition selects, in the order of an SQL expression's numbers."""
        listed = [named(node, "node"), *self.columns, "n", *self._weight]
        found = self.engine.fetch(f"{select(listed, self.name)} WHERE {where}")
        number = found.column("node").to_numpy().astype(np.int32)
        order = np.argsort(number, kind="stable")
        return self.made_of(found).take(order), number[order].astype(np.int64)

    def in_order(self, number: str) -> Held:
        """The same tuples sorted by an SQL expression, which is a column `b` of theirs.

        Whoever asks for one number after another then reads each tuple once.
        """
        name = fresh("tuples")
        listed = select([named(f"CAST({number} AS INT)", "b"), "*"], self.name)
        self.engine.materialize(name, f"{listed} ORDER BY b", large=True)
        return Held(
            self.engine,
            name,
            self.quasi,
            self.sensitive,
            labels=self.labels,
            weighted=self.weighted,
            spanning=self.spanning,
        )

    def totals(self, where: str) -> Counts:
        """The people that a condition selects by all but their quasi-identifiers."""
        grouped = select([*self.shown, *self.sums], f"{self.name} WHERE {where}", group=self.shown)
        return self.made_of(self.engine.fetch(grouped))

    def histograms(self, node: str, target: str | None = None) -> pa.Table:
        """People by node, one QI's code (the others NULL) and whatever else is known of them.

        `node` is an SQL expression, NULL for those left out. `t` counts the tuples. One pass serves
        all columns. With a `target` column, also by that.
        """
        quasi, shown = self.columns[: len(self.quasi)], self.shown
        listed = [named(node, "node"), *self.columns, "n", *self._weight]
        if target is not None:
            listed.append(named(target, "target"))
            shown = [*shown, "target"]
        placed = f"({select(listed, self.name)}) AS placed WHERE node IS NOT NULL"
        sets = ", ".join(f"(node, {', '.join([one, *shown])})" for one in quasi)
        told = ", ".join(["node", *quasi, *shown, *self.sums, "CAST(COUNT(*) AS BIGINT) AS t"])
        return self.engine.fetch(f"SELECT {told} FROM {placed} GROUP BY GROUPING SETS ({sets})")

    @property
    def _weight(self) -> list[str]:
        return ["w"] if self.weighted else []


def bytes_for(tuples: int, columns: int) -> int:
    """The bytes it takes to work on so many tuples in memory."""
    return tuples * (4 * columns + 16) * COPIES


def fits(held: Held) -> bool:
    """Whether the tuples may be brought to memory."""
    return bytes_for(len(held), len(held.columns)) <= held.engine.memory
