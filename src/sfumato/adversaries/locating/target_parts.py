"""Everybody of a table as targets, also where the table does not fit in memory.

Whoever asks takes one part of the people after another and adds up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.adversaries.locating.targets import (
    UNKNOWN,
    Targets,
    Truth,
    check_table,
    read_targets,
    targets_of_counts,
)
from sfumato.counts.counts import Counts
from sfumato.counts.stored import StoredCounts
from sfumato.numbers import distinct, offsets_of
from sfumato.table import Table


def unknown_notes(columns: Mapping[str, int], everybody: int) -> tuple[str, ...]:
    """What must be told where columns are not known of so many of all people."""
    if not columns:
        return ()
    of_whom = [
        f"{name!r} of {'anybody' if n == everybody else f'{n:,} of {everybody:,} people'}"
        for name, n in columns.items()
    ]
    return (
        f"not known: {', '.join(of_whom)}; whoever it is not known of may be in any group that "
        "fits the rest",
    )


@dataclass(frozen=True)
class TargetParts:
    """All people who are given, as many at a time as fit in memory: whoever asks adds up.

    Of a table larger than memory those who agree in all of its columns are in one part; who agree
    in those that are known here may be in several.
    """

    whole: Targets | None
    _table: Table | None = None
    _columns: tuple[str, ...] = ()
    _truth: Truth = None
    _unknown: str = UNKNOWN
    _bytes: int = 1  # that are needed of each case

    @classmethod
    def of(
        cls, given: object, columns: Sequence[str], truth: Truth, unknown: str, needed: int
    ) -> TargetParts:
        """As `read_targets`; so many bytes are `needed` to work on a case."""
        if not isinstance(given, Table) or given.counts.fits_memory:
            return cls(read_targets(given, columns, truth, unknown))
        check_table(given, columns, truth)
        return cls(None, given, tuple(columns), truth, unknown, needed)

    def __iter__(self) -> Iterator[Targets]:
        if self.whole is not None:
            yield self.whole
            return
        assert self._table is not None
        yield from self._table.counts.either(
            in_memory=lambda counts: iter([self._targets(counts)]), stored=self._fetched
        )

    def _targets(self, counts: Counts) -> Targets:
        return targets_of_counts(counts, self._columns, self._truth, self._unknown)

    def _fetched(self, stored: StoredCounts) -> Iterator[Targets]:
        # A half of what we may take is for the part that cases are of.
        step = max(1, stored.engine.memory // 2 // self._bytes)
        with stored.engine.yield_memory():
            for counts in stored.parts(beside=stored.engine.memory // 2):
                number, first = counts.group_of
                in_order = np.argsort(number, kind="stable")
                begins = offsets_of(np.bincount(number, minlength=len(first)))
                # Cut where another combination of values begins: whoever has one is told once.
                steps = np.searchsorted(begins, np.arange(0, len(counts), step))
                for start, stop in pairwise(distinct(np.append(begins[steps], len(counts)))):
                    yield self._targets(counts.take(in_order[start:stop]))
                del counts  # before the next ones come

    @cached_property
    def _not_known(self) -> tuple[dict[str, int], int, int]:
        """Of how many people each column is unknown, how many these are, and of how many."""
        if self.all_known and self._table is not None:
            return {}, 0, self._table.counts.people
        columns: Counter[str] = Counter()
        partly, everybody = 0, 0
        for part in self:
            columns.update(part.unknown_columns())
            partly += part.partly_known
            everybody += int(part.people.sum())
        in_order = self.whole.columns if self.whole is not None else self._columns
        return {name: columns[name] for name in in_order if columns[name]}, partly, everybody

    @property
    def all_known(self) -> bool:
        """Whether all is known of everybody of a table, as far as its columns tell."""
        if self._table is None:
            return False
        domains = {domain.name: domain for domain in self._table.counts.quasi}
        return all(
            name in domains and domains[name].code(self._unknown) is None for name in self._columns
        )

    @property
    def partly_known(self) -> int:
        return self._not_known[1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be told of people of whom not everything is known."""
        columns, _, everybody = self._not_known
        return unknown_notes(columns, everybody)
