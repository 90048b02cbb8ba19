"""Counts: the distinct (QI codes, sensitive codes) of a table and how many people have them.

This is all that anything downstream ever sees of the rows. One code column per QI, one per
sensitive attribute. A set-valued attribute (a list column, or several rows of one person) is coded
by its distinct *set*, with an index from sets to values, so that people are always `sum(n)`. The
same for multisets, where a value that somebody has twice counts twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.counts.owners import RowsByPerson
from sfumato.errors import SchemaError, did_you_mean
from sfumato.numbers import Codes, Ints, distinct, offsets_of, sums_by, taken_rows
from sfumato.schema.domain import Domain

if TYPE_CHECKING:
    from sfumato.counts.stored import StoredCounts

Answer = TypeVar("Answer")
Case = Literal["single", "set", "multiset"]
_LONG_RUN = 1 << 10  # numbers in order that are merged more quickly than sorted
_LOOKUP = 1 << 24  # key spaces up to here may be ranked by table look-up, larger ones by sorting


@dataclass(frozen=True)
class Sets:
    """Distinct sets of values: set i holds `members[offsets[i]:offsets[i + 1]]`, sorted.

    Where repetitions count, a member stands there as often as it occurs.
    """

    offsets: Ints
    members: Codes

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute: its values and, when people may have several, their distinct sets.

    `repeated`: a value that somebody has twice counts twice. `loose`: a group publishes its values
    in one bag, and not whose they are together.
    """

    domain: Domain
    sets: Sets | None = None
    repeated: bool = False
    loose: bool = False

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def codes(self) -> int:
        """How many codes there may be: of values or, where people have several, of sets."""
        return len(self.domain if self.sets is None else self.sets)

    @property
    def lists(self) -> Sets | None:
        """The distinct sets, where each person's is published whole."""
        return None if self.loose else self.sets

    @property
    def case(self) -> Case:
        """Whether people have one value each, a set of them, or a multiset."""
        if self.sets is None:
            return "single"
        return "multiset" if self.repeated else "set"


@dataclass(frozen=True)
class SeveralTuples:
    """People who are in several tuples: `person[i]` is in `tuples[i]`, persons in order."""

    person: Ints
    tuples: Ints

    @property
    def extra(self) -> int:
        """How many more places than people."""
        return len(self.person) - len(distinct(self.person))

    def take(self, kept: Ints, total: int) -> SeveralTuples:
        """Only the tuples at these positions, of so many."""
        place = np.full(total, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        here = place[self.tuples]
        return SeveralTuples(self.person[here >= 0], here[here >= 0])


class TableCounts(ABC):
    """The people of a table by quasi-identifiers and sensitive values, wherever they are counted.

    In memory (`Counts`) or with the engine (`StoredCounts`): who asks need not know. What is worked
    out part by part asks for `parts`, of which there is one in memory; what truly needs every tuple
    at once says so (`in_memory`); what goes two ways names both (`either`). `extra_memberships` is
    how many more (person, QIs) pairs there are than people: a person whose rows differ in their
    QIs is in several groups. `several` tells whose those are, None where nobody knows.
    """

    fits_memory: ClassVar[bool]

    quasi: tuple[Domain, ...]
    sensitive: tuple[Attribute, ...]
    extra_memberships: int
    several: SeveralTuples | None

    @abstractmethod
    def __len__(self) -> int:
        """The number of distinct tuples."""

    @property
    @abstractmethod
    def memberships(self) -> int:
        """People, one who is in several groups counted in each."""

    @property
    def people(self) -> int:
        return self.memberships - self.extra_memberships

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether there are survey weights."""

    @property
    def of_rows(self) -> bool:
        """Whether people's rows are counted one by one, and it is known whose each is."""
        return False

    @abstractmethod
    def by_code(self, column: int) -> Ints:
        """How many people have each value of a quasi-identifier."""

    def people_by_code(self, column: int) -> Ints:
        """The same, also where people have several rows, and those are counted."""
        return self.by_code(column)

    @abstractmethod
    def by_value(self, attribute: int) -> Ints:
        """How many people have each value of a sensitive attribute, or each set of values."""

    @abstractmethod
    def parts(self, *, beside: int = 0) -> Iterator[Counts]:
        """All tuples, as many at a time as fit in memory; those of one group together.

        `beside`: the bytes that whoever asks holds besides.
        """

    @abstractmethod
    def in_memory(self, why: str) -> Counts:
        """All tuples at once; an error that says what to do where they do not fit.

        `why` is what needs them: the subject of that error's sentence.
        """

    @abstractmethod
    def either(
        self, *, in_memory: Callable[[Counts], Answer], stored: Callable[[StoredCounts], Answer]
    ) -> Answer:
        """The answer of the way that is for these counts."""

    def attribute(self, name: str) -> int:
        """The position of a sensitive attribute."""
        names = [attribute.name for attribute in self.sensitive]
        if name not in names:
            raise SchemaError(f"{name!r} is not a sensitive column; {did_you_mean(name, names)}")
        return names.index(name)


@dataclass(frozen=True)
class Counts(TableCounts):
    """Compact distinct tuples of a table, in memory.

    `codes` has one row per QI and one column per tuple; `values` likewise for the sensitive
    attributes. `weights` are summed survey weights. `owner`: where people's rows are published one
    by one, n counts rows, and this says whose each is, rows in the order of tuples, people as 0, 1,
    2, ...; whoever counts people then counts distinct ones (`counts/owners.py`), and `weights` are
    those of each person.
    """

    fits_memory: ClassVar[bool] = True

    quasi: tuple[Domain, ...]
    sensitive: tuple[Attribute, ...]
    codes: Codes
    values: Codes
    n: Ints
    weights: npt.NDArray[np.float64] | None = None
    protect: tuple[Domain, Codes] | None = None
    extra_memberships: int = 0
    several: SeveralTuples | None = None
    owner: Codes | None = None

    def __len__(self) -> int:
        return len(self.n)

    @property
    def memberships(self) -> int:
        return int(self.n.sum())

    @property
    def weighted(self) -> bool:
        return self.weights is not None

    @property
    def of_rows(self) -> bool:
        return self.owner is not None

    def by_code(self, column: int) -> Ints:
        return sums_by(self.codes[column], self.n, len(self.quasi[column]))

    def people_by_code(self, column: int) -> Ints:
        if self.owner is None:
            return self.by_code(column)
        return self.rows_by_person.count(self.codes[column], len(self.quasi[column]))

    def by_value(self, attribute: int) -> Ints:
        return sums_by(self.values[attribute], self.n, self.sensitive[attribute].codes)

    def parts(self, *, beside: int = 0) -> Iterator[Counts]:
        yield self

    def in_memory(self, why: str) -> Counts:
        return self

    def either(
        self, *, in_memory: Callable[[Counts], Answer], stored: Callable[[StoredCounts], Answer]
    ) -> Answer:
        return in_memory(self)

    def loosened(self) -> Counts:
        """The same people, of whom groups publish their values in one bag each."""
        loose = tuple(replace(attribute, loose=True) for attribute in self.sensitive)
        return replace(self, sensitive=loose)

    def take(self, kept: Ints) -> Counts:
        """Only the tuples at these positions."""
        several = None if self.several is None else self.several.take(kept, len(self))
        extra = self.extra_memberships if several is None else several.extra
        owner, weights = self.owner, self.weights
        if owner is not None:
            owner = owner[taken_rows(offsets_of(self.n), kept)[1]]
            extra = len(owner) - int(np.count_nonzero(np.bincount(owner)))
        return replace(
            self,
            codes=self.codes.take(kept, axis=1),  # several times as fast as an index
            values=self.values.take(kept, axis=1),
            n=self.n[kept],
            weights=weights if weights is None or owner is not None else weights[kept],
            protect=None if self.protect is None else (self.protect[0], self.protect[1][kept]),
            extra_memberships=extra,
            several=several,
            owner=owner,
        )

    def row_by_row(self) -> Counts:
        """Every row a tuple of its own, in the order of owners, who are told apart no more."""
        rows = replace(self, owner=None, weights=None).take(np.repeat(np.arange(len(self)), self.n))
        return replace(rows, n=np.ones(len(rows), dtype=np.int64), extra_memberships=0)

    def compact(self) -> Counts:
        """The same counts with every distinct tuple once, in the order of their codes.

        Engines return groups in any order; what is made of them by chance must depend on the seed
        alone. Tuples repeat where raw values share a code ("1" and "1.0", or a sensitive level).
        """
        extra = [] if self.protect is None else [self.protect[1]]
        rows = [*self.codes, *self.values, *extra]
        number, first = rank_rows(rows or self.codes, [int(row.max(initial=0)) + 1 for row in rows])
        if len(first) == len(self) and self.several is None and self.owner is None:
            return self.take(first)  # no tuple is there twice
        summed = sums_by(number, self.n, len(first))
        weights = self.weights
        if weights is not None and self.owner is None:
            weights = np.bincount(number, weights=weights, minlength=len(first)).astype(np.float64)
        several = self.several and SeveralTuples(self.several.person, number[self.several.tuples])
        owner = self.owner
        if owner is not None:
            owner = owner[np.argsort(np.repeat(number, self.n), kind="stable")]
        return replace(
            replace(self, owner=None, weights=None).take(first),
            n=summed,
            weights=weights,
            extra_memberships=self.extra_memberships,
            several=several,
            owner=owner,
        )

    def with_several(self, person: Ints, codes: Codes) -> Counts:
        """The same counts with who is in several tuples, a column for each place of theirs.

        `codes`: of quasi-identifiers, of sensitive attributes and of protection, each a row.
        """
        extra = [] if self.protect is None else [self.protect[1][None, :]]
        tuple_codes = np.hstack([np.vstack([self.codes, self.values, *extra]), codes])
        number, first = rank_rows(tuple_codes, [int(row.max(initial=0)) + 1 for row in tuple_codes])
        tuples = np.zeros(len(first), dtype=np.int64)
        tuples[number[: len(self)]] = np.arange(len(self))
        order = np.argsort(person, kind="stable")
        there = tuples[number[len(self) :]]
        return replace(self, several=SeveralTuples(person[order], there[order]))

    @cached_property
    def rows_by_person(self) -> RowsByPerson:
        """The tuples of each person's rows, where people have several."""
        assert self.owner is not None
        return RowsByPerson.of(self.n, self.owner)

    def population(
        self, group: Ints, total: int, tuples: Ints | None = None, n: Ints | None = None
    ) -> npt.NDArray[np.float64] | None:
        """What the survey weights of each of `total` groups' people add up to, hers once where
        somebody has several rows there; None without any.

        `group` is that of each tuple, or of n people of each of these `tuples`; -1: none.
        """
        if self.weights is None:
            return None
        kept = np.flatnonzero(group >= 0)
        placed = kept if tuples is None else tuples[kept]
        group = group[kept].astype(np.int64)
        if self.owner is not None:
            rows = taken_rows(offsets_of(self.n), placed)[1]
            people = len(self.weights)
            pairs = distinct(np.repeat(group, self.n[placed]) * people + self.owner[rows])
            group, person = np.divmod(pairs, people)
            weights = self.weights[person]
        else:
            weights = self.weights[placed]
            if n is not None:
                weights = weights * (n[kept] / self.n[placed])
        return np.bincount(group, weights, minlength=total).astype(np.float64)

    def people_by_value(
        self, attribute: int, group: Ints, code: Codes | None = None
    ) -> tuple[Ints, Codes, Ints]:
        """Group, value and how many people have it there, where people have several rows.

        `group` is that of each tuple, -1: none. `code`: the values by other codes.
        """
        values = self.values[attribute] if code is None else code[self.values[attribute]]
        placed = np.flatnonzero(group >= 0)
        group, values = group[placed], values[placed]
        sizes = [int(numbers.max(initial=0)) + 1 for numbers in (group, values)]
        number, first = rank_rows([group, values], sizes)
        cell = np.full(len(self), -1, dtype=np.int32)
        cell[placed] = number
        return group[first], values[first], self.rows_by_person.count(cell, len(first))

    @cached_property
    def group_of(self) -> tuple[Ints, Ints]:
        """Each tuple's group (equal QI codes), and one tuple of each group.

        Groups are numbered in the order of their QI codes, so the numbering says nothing about
        the order of rows.
        """
        return rank_rows(self.codes, [len(domain) for domain in self.quasi])


def rank_rows(
    codes: npt.NDArray[np.integer[Any]] | Sequence[Codes | Ints], sizes: Sequence[int]
) -> tuple[Ints, Ints]:
    """Number the distinct columns of `codes` in lexicographic order.

    Returns each column's number and the position of one column for each number.
    """
    width = codes.shape[1] if isinstance(codes, np.ndarray) else len(codes[0])
    key = np.zeros(width, dtype=np.int64)
    space = 1
    for row, size in zip(codes, sizes, strict=True):
        if space * max(size, 1) >= 1 << 62:  # fold what we have into a dense numbering first
            key, first = _rank(key, space)
            space = len(first)
        key = key * size + row
        space *= max(size, 1)
    return _rank(key, space)


def _rank(key: Ints, space: int) -> tuple[Ints, Ints]:
    total = len(key)
    if space <= min(_LOOKUP, 16 * total + 4096):
        first = np.full(space, -1, dtype=np.int64)
        first[key] = np.arange(total, dtype=np.int64)
        used = first >= 0
        number = np.cumsum(used, dtype=np.int64) - 1
        return number[key], first[used]
    breaks = np.count_nonzero(key[1:] < key[:-1])
    if not breaks:  # as the tuples of a table are
        begins = begin_runs(key)
        return np.cumsum(begins, dtype=np.int64) - 1, np.flatnonzero(begins)
    bits = total.bit_length()
    if space >= 1 << (62 - bits):
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return number.astype(np.int64), first.astype(np.int64)
    # Plain numbers, each with its place as the last digits, are sorted many times as fast as places
    # by their numbers. Where they come in long runs, as an engine gives back what was sorted, those
    # are merged.
    runs = breaks * _LONG_RUN < total
    packed = np.sort((key << bits) | np.arange(total), kind="stable" if runs else None)
    order = packed & ((1 << bits) - 1)
    packed >>= bits
    begins = begin_runs(packed)
    number = np.empty(total, dtype=np.int64)
    number[order] = np.cumsum(begins, dtype=np.int64) - 1
    return number, order[begins]


def begin_runs(numbers: Ints) -> npt.NDArray[np.bool_]:
    """Where another number stands than just before."""
    begins = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return begins
