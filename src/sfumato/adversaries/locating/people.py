"""The people an adversary looks for, and those of a population who could be behind a group.

Targets are the people she looks for, by what she knows of them.

Whatever she holds (a table, a frame, a list of people) becomes codes once, and people with equal
known values are one case: everything after asks about cases, and each row takes its case's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.counts.counts import Counts, rank_rows
from sfumato.engines.base import name_meant
from sfumato.errors import InputError, name_some
from sfumato.numbers import Codes, Floats, Ints, run_places, sums_by, tallied_offsets
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain, build_domain
from sfumato.schema.region import Region, codes_inside, contains_region, overlaps
from sfumato.table import Table

# Who of a population could be behind each group of a release.
#
# Somebody who holds a register of the population (voters, patients, members) asks of each group:
# how many of them fit its description? Two sources answer. A population table is counted: people
# whose QI values lie in the group's region, column by column. Survey weights are summed: each
# record stands for so many people.
#
# The population must contain the release, so a group of f people has F >= f. Where a source says
# less (an incomplete or outdated register, weights below 1) it is wrong about that group; the
# fewest people there can be, F = f, is then used, which errs to unsafe, and the shortfall is told.
#
# The population may be another release: who of it may fit a group, and who must.
#
# Where regions overlap somebody may fit several groups, and a register tells who fits where: if
# one group takes all of those who also fit another, the other is left with fewer than fit it. How
# likely each is to be behind a group follows from counting all ways to place people, which nobody
# can do for a large table; but whoever fits this group alone is at least as likely to be in it as
# anybody (swap the two: what the other one fits besides, only she may leave). So a row is hers
# with a chance of at most 1 / max(f, those who fit no other group), and these are counted: an
# upper bound of the risk.

# People of another release, as far as it tells who they are: who may fit a group, and who must.
#
# A release about the population, or an earlier one, publishes regions instead of values. Somebody
# published with a region *must* fit a group whose region contains it, and *may* fit one whose
# region it meets. Whoever needs candidates counts those who must fit, the fewest there can be;
# whoever has formed an opinion about the people of a group formed it from those who may.

_AT_ONCE = 1 << 22  # pairs of groups compared at once


def people_surely_inside(regions: Regions, outside: Release, *, alone: bool = False) -> Ints:
    """How many people of a release are published with regions inside each group's.

    `alone`: only those whose regions meet no other group's.
    """
    theirs = _regions(outside)
    missing = [column for column in regions.columns if column not in theirs.columns]
    if missing:
        raise InputError(
            f"the population {outside.label} lacks quasi-identifiers of the release: "
            f"{name_some(missing)}"
        )
    people = outside.groups.sizes
    if alone:
        met = np.zeros(len(theirs), dtype=np.int64)
        for _, other in _pairs(regions, theirs, overlaps):
            np.add.at(met, other, 1)
        people = np.where(met == 1, people, 0)
    total = np.zeros(len(regions), dtype=np.int64)
    for group, other in _pairs(regions, theirs, contains_region):
        np.add.at(total, group, people[other])
    return total


def people_maybe_inside(regions: Regions, outside: Release, groups: Groups) -> Ints:
    """How many people of an earlier release may fit each group: a row by group, by value.

    `groups` are the earlier release's, about the attribute that is asked for. Columns that it does
    not publish rule nobody out.
    """
    theirs = _regions(outside)
    if not any(column in theirs.columns for column in regions.columns):
        raise InputError(
            f"{outside.label} has none of the quasi-identifiers {name_some(regions.columns)}"
        )
    total = np.zeros(len(regions) * groups.width, dtype=np.int64)
    for group, other in _pairs(regions, theirs, overlaps):
        many = groups.distinct[other]
        stored = run_places(groups.indptr[other], many)
        key = np.repeat(group, many) * groups.width + groups.indices[stored]
        np.add.at(total, key, groups.data[stored].astype(np.int64))
    return total.reshape(len(regions), groups.width)


def _regions(outside: Release) -> Regions:
    outside.refuse_wildcards()
    if outside.regions.exact:
        raise InputError(f"{outside.label} is bucketized and shows no regions to compare")
    return outside.regions.require_regions()


def _pairs(
    ours: Regions, theirs: Regions, fit: Callable[[Region, Region], bool]
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of groups that fit in every column both have, some of ours at a time."""
    columns = []
    for place, name in enumerate(ours.columns):
        if name in theirs.columns:
            at = theirs.columns.index(name)
            mine, my = np.unique(ours.codes[place], return_inverse=True)
            other, their = np.unique(theirs.codes[at], return_inverse=True)
            parts = [theirs.parts[at][part] for part in other.tolist()]
            fits = [fit(ours.parts[place][one], part) for one in mine.tolist() for part in parts]
            columns.append((np.array(fits, bool).reshape(len(mine), len(other)), my, their))
    step = max(1, _AT_ONCE // max(len(theirs), 1))
    for start in range(0, len(ours), step):
        some = np.arange(start, min(start + step, len(ours)))
        both = np.ones((len(some), len(theirs)), dtype=bool)
        for table, my, their in columns:
            both &= table[my[some][:, None], their]
        group, other = np.nonzero(both)
        yield some[group], other


_BLOCK = 1 << 16  # population tuples matched at once
_SLACK = 1e-9  # sums of weights are floats


@dataclass(frozen=True)
class PopulationPerGroup:
    """People of the population per group, at least as many as the group has, and the shortfalls."""

    people: Floats
    uncovered: int

    @classmethod
    def of(
        cls, people: npt.NDArray[np.float64 | np.int64], sizes: Ints, *, alone: bool = False
    ) -> PopulationPerGroup:
        """`alone`: people who fit another group too are left out, so fewer are no shortfall."""
        short = (people < sizes * (1 - _SLACK)) & (not alone)
        return cls(np.maximum(people, sizes).astype(np.float64), int(short.sum()))

    def note(self, source: str) -> str:
        """What must be told of groups with more people than the population has for them."""
        if not self.uncovered:
            return ""
        return (
            f"{source} does not contain the release: {self.uncovered:,} of {len(self.people):,} "
            "groups have more people than it has for them; there the population is taken to be "
            "the group itself, the fewest it can be"
        )


def count_behind(regions: Regions, population: Table, *, alone: bool = False) -> Ints:
    """How many people of the population table fit each group's region; `alone`: and no other's.

    Works on distinct tuples of the population. Groups are a tree of their columns' parts; a tuple
    walks down all branches that contain it, so columns whose parts do not overlap cost one step.
    """
    codes, domains, n = _distinct(regions.columns, population)
    inside = [
        _PartsOfValues.of(parts, shown, domain)
        for parts, shown, domain in zip(regions.parts, regions.codes, domains, strict=True)
    ]
    order = sorted(range(len(inside)), key=lambda column: inside[column].overlap)
    branch = np.zeros(len(regions), dtype=np.int64)
    known: list[Ints] = []
    for column in order:
        keys, branch = np.unique(
            branch * len(regions.parts[column]) + regions.codes[column], return_inverse=True
        )
        known.append(keys)
    total = np.zeros(len(known[-1]), dtype=np.float64)
    for start in range(0, len(n), _BLOCK):
        who = np.arange(start, min(start + _BLOCK, len(n)))
        at = np.zeros(len(who), dtype=np.int64)
        for column, keys in zip(order, known, strict=True):
            who, at, part = inside[column].step(codes[column], who, at)
            key = at * len(regions.parts[column]) + part
            place = np.searchsorted(keys, key)
            there = keys[np.minimum(place, len(keys) - 1)] == key
            who, at = who[there], place[there]
        if alone:
            once = np.bincount(who - start)[who - start] == 1
            who, at = who[once], at[once]
        total += np.bincount(at, weights=n[who], minlength=len(total))
    return total[branch].astype(np.int64)


def _distinct(columns: Sequence[str], population: Table) -> tuple[Codes, list[Domain], Ints]:
    """The population's distinct tuples of these columns, and how many people have each."""
    counts = population.counts.in_memory("looking people up in a population")
    place = {domain.name: number for number, domain in enumerate(counts.quasi)}
    missing = [column for column in columns if column not in place]
    if missing:
        raise InputError(
            f"the population {population.source.label} lacks quasi-identifiers of the release: "
            f"{name_some(missing)}; read it with a schema that names them in quasi"
        )
    if counts.extra_memberships:
        raise InputError(
            f"the population {population.source.label} lists people under several combinations of "
            f"quasi-identifiers ({counts.extra_memberships:,} more places than people); keep one "
            "row each"
        )
    wanted = [place[column] for column in columns]
    codes, domains = counts.codes[wanted], [counts.quasi[number] for number in wanted]
    number, first = rank_rows(codes, [len(domain) for domain in domains])
    n = sums_by(number, counts.n, len(first))
    return codes[:, first], domains, n


@dataclass(frozen=True)
class _PartsOfValues:
    """One column: the parts that contain value v are `parts[offsets[v]:offsets[v + 1]]`."""

    offsets: Ints
    parts: Ints

    @classmethod
    def of(cls, parts: Sequence[Region], shown: Codes, domain: Domain) -> _PartsOfValues:
        found = codes_inside(parts, np.unique(shown), domain)
        part_of = np.repeat(
            np.array([number for number, _ in found], dtype=np.int64),
            [len(values) for _, values in found],
        )
        value = np.concatenate(
            [np.array([], dtype=np.int64), *(np.asarray(values, np.int64) for _, values in found)]
        )
        offsets = tallied_offsets(value, len(domain))
        return cls(offsets, part_of[np.argsort(value, kind="stable")])

    @property
    def overlap(self) -> float:
        """Parts per value, on average."""
        return len(self.parts) / max(len(self.offsets) - 1, 1)

    def step(self, codes: npt.NDArray[np.int32], who: Ints, at: Ints) -> tuple[Ints, Ints, Ints]:
        """Each tuple, and its place in the tree, once for each part that contains its value."""
        value = codes[who]
        length = self.offsets[value + 1] - self.offsets[value]
        places = run_places(self.offsets[value], length)
        return np.repeat(who, length), np.repeat(at, length), self.parts[places]


Truth = str | Sequence[Any] | None


@dataclass(frozen=True)
class Targets:
    """Distinct cases of known values, and the rows that have them.

    `codes[c, i]` is what case i has in column c. Row r is of case `case[r]` and stands for
    `people[r]` people; `truth` holds their sensitive values, row by row, where they are told.
    """

    domains: tuple[Domain, ...]
    codes: Codes
    case: Ints
    people: Ints
    truth: tuple[Domain, Codes] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(domain.name for domain in self.domains)

    @property
    def cases(self) -> int:
        return int(self.codes.shape[1])

    def of(self, columns: Sequence[str]) -> tuple[Targets, Ints]:
        """The cases by some of the columns, without rows, and which of them each case is."""
        missing = [name for name in columns if name not in self.columns]
        if missing:
            raise _lacking(missing, "the people")
        wanted = [self.columns.index(name) for name in columns]
        domains = tuple(self.domains[place] for place in wanted)
        codes = self.codes[wanted]
        if len(wanted) == len(self.domains):
            number = first = np.arange(self.cases)
        else:
            number, first = rank_rows(codes, [len(domain) for domain in domains])
        none = np.zeros(0, dtype=np.int64)
        return Targets(domains, np.ascontiguousarray(codes[:, first]), none, none), number

    def one_by_one(self) -> Targets:
        """The same people, each a row and a case of her own."""
        rows = np.repeat(np.arange(len(self.people)), self.people)
        truth = None if self.truth is None else (self.truth[0], self.truth[1][rows])
        codes = np.ascontiguousarray(self.codes[:, self.case[rows]])
        return Targets(self.domains, codes, np.arange(len(rows)), np.ones_like(rows), truth)


def read_targets(given: object, columns: Sequence[str], truth: Truth = None) -> Targets:
    """Targets from a Table, anything that is an Arrow table or frame, or a list of mappings.

    `truth` names the column of their true values, or lists them in the order of the rows.
    """
    if isinstance(given, Table):
        return _of_table(given, columns, truth)
    rows = _rows(given, columns, truth)
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise _lacking(missing, "the targets")
    coded = [_encode(name, rows.column(name)) for name in columns]
    domains = tuple(domain for domain, _ in coded)
    codes = np.vstack([codes for _, codes in coded])
    case, first = rank_rows(codes, [len(domain) for domain in domains])
    people = np.ones(rows.num_rows, dtype=np.int64)
    return Targets(domains, codes[:, first], case, people, _truth(rows, truth))


def targets_of(counts: Counts, columns: Sequence[str] | None = None) -> Targets:
    """The people of a table's counts, a row for each distinct combination of their QIs."""
    names = [domain.name for domain in counts.quasi]
    wanted = list(range(len(names))) if columns is None else [names.index(n) for n in columns]
    domains = tuple(counts.quasi[place] for place in wanted)
    case, first = rank_rows(counts.codes[wanted], [len(domain) for domain in domains])
    people = sums_by(case, counts.n, len(first))
    codes = np.ascontiguousarray(counts.codes[wanted][:, first])
    return Targets(domains, codes, np.arange(len(first)), people)


def _of_table(table: Table, columns: Sequence[str], truth: Truth) -> Targets:
    counts = table.counts.in_memory("an attack on everybody of a table")
    label = table.source.label
    names = [domain.name for domain in counts.quasi]
    missing = [name for name in columns if name not in names]
    if missing:
        raise _lacking(missing, label)
    if counts.extra_memberships:
        raise InputError(
            f"{label} lists people under several combinations of quasi-identifiers "
            f"({counts.extra_memberships:,} more places than people); keep one row each"
        )
    if truth is None:
        return targets_of(counts, columns)
    if not isinstance(truth, str):
        raise InputError(
            "truth lists values, but a Table has no order of rows; name its sensitive column"
        )
    place = counts.attribute(truth)
    attribute = counts.sensitive[place]
    if attribute.sets is not None:
        raise InputError(
            f"truth: people have several values of {truth!r} each; the attack asks for one"
        )
    wanted = [names.index(name) for name in columns]
    domains = tuple(counts.quasi[number] for number in wanted)
    case, first = rank_rows(counts.codes[wanted], [len(domain) for domain in domains])
    codes = np.ascontiguousarray(counts.codes[wanted][:, first])
    return Targets(domains, codes, case, counts.n, (attribute.domain, counts.values[place]))


def _lacking(missing: Sequence[str], label: str) -> InputError:
    return InputError(
        f"{label}: quasi-identifiers of the releases are not there: {name_some(missing)}; an "
        "adversary locates people by all of them, so give every target a value (or NULL)"
    )


def _rows(given: object, columns: Sequence[str], truth: Truth) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(one, Mapping) for one in given):
        wanted = [*columns, *([truth] if isinstance(truth, str) else [])]
        without = {name: sum(name not in one for one in given) for name in wanted}
        short = {name: n for name, n in without.items() if n}
        if short:
            name, n = next(iter(short.items()))
            raise InputError(
                f"{n:,} of {len(given):,} targets have no {name!r}; an adversary locates people "
                "by all quasi-identifiers, so give every target a value (or None)"
            )
        return pa.table({name: _array(name, [one[name] for one in given]) for name in wanted})
    raise InputError(
        f"targets: {type(given).__name__} is not allowed; give a Table, an Arrow table or frame, "
        "or a list of mappings from column to value"
    )


def _array(name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"targets: column {name!r} mixes kinds of values; use one") from None


def _encode(name: str, column: pa.ChunkedArray) -> tuple[Domain, Codes]:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what combining nothing, or very much, returns
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    coded = array.dictionary_encode(null_encoding="encode")
    try:
        # Text that is a number throughout is one: a range contains no text.
        domain, code_of = build_domain(name, coded.dictionary, untyped=True)
    except InputError:
        domain, code_of = build_domain(name, coded.dictionary, untyped=False)
    return domain, code_of[coded.indices.to_numpy()]


def _truth(rows: pa.Table, truth: Truth) -> tuple[Domain, Codes] | None:
    if truth is None:
        return None
    if isinstance(truth, str):
        if truth not in rows.column_names:
            raise InputError(
                f"truth: column {truth!r} is not in the targets; "
                f"{name_meant(truth, rows.column_names)}"
            )
        return _encode(truth, rows.column(truth))
    values = list(truth)
    if len(values) != rows.num_rows:
        raise InputError(f"truth: {len(values):,} values for {rows.num_rows:,} targets")
    return _encode("truth", pa.chunked_array([_array("truth", values)]))
