"""The people of a release with their true values, and what stands for a value.

A table larger than memory is told by atoms. What a release says of a value it says of its whole
atom (`columns`), and so does everybody who learns from it: people whose values lie in the same
atoms are believed the same, and are one case. The engine sums them up, and only the cases come to
memory, as many as the release tells apart. The ideal learner, who saw the table, believes more of
single values; she needs no case, only counts by column, and what she is right about is summed up
part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.relative_threat.columns import recode
from sfumato.counts.counts import Attribute, Counts, TableCounts, rank_rows
from sfumato.counts.stored import StoredCounts, bytes_for
from sfumato.engines.base import Scratch, fresh, named, select
from sfumato.errors import InputError, ResourceError, did_you_mean
from sfumato.numbers import Bools, Codes, Floats, Ints, offsets_of, sums_by
from sfumato.release.beside import Headcount
from sfumato.release.build import joint_attribute
from sfumato.release.groups import Groups
from sfumato.release.made import Placement
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.table import Table

# What stands for a person's value: one value, a combination of several columns', or a whole list.
#
# The model has one sensitive attribute S with one value a person. Several columns are one S whose
# values are the combinations that occur; people with several values of a column have one list each,
# and the lists that occur are the values of S. What nobody has is not thought possible.

_TOGETHER = "judging combinations and lists of sensitive values"
_ASKING = "asking what is believed of everybody"
_ALL = "1 = 1"


@dataclass(frozen=True)
class States:
    """The values of S, the groups by them, and of lists what each holds (else None)."""

    columns: tuple[str, ...]
    values: Domain
    groups: Groups
    lists: tuple[tuple[str, ...], ...] | None = None

    @property
    def plain(self) -> bool:
        """Whether they are the values of one column as they stand."""
        return self.lists is None and len(self.columns) == 1

    def table(self, table: Table) -> Table:
        """A table whose only sensitive attribute is S."""
        if self.plain:
            return table
        counts = self.counts(table.counts.in_memory(_TOGETHER))
        return replace(table, counts=counts)

    def counts(self, counts: Counts) -> Counts:
        """The same of counts."""
        if self.plain:
            return counts
        domain, codes = _state_codes(counts, self.columns)
        return replace(counts, sensitive=(Attribute(domain),), values=codes[None])

    def of_tuples(self, counts: Counts) -> Ints:
        """S of each tuple."""
        own = self.counts(counts)
        place = own.attribute(self.values.name)
        return recode(self.values.name, own.values[place], own.sensitive[place].domain, self.values)


def states_of(groups: Groups, columns: Sequence[str], table: Table | None) -> States:
    """S of groups by one column, or by the combinations of several; with those of their table."""
    if groups.single_valued and len(columns) == 1:
        domain = groups.domain
        if domain is None:
            domain = Domain(columns[0], "categorical", groups.values)
        return States(tuple(columns), domain, groups)
    lists: dict[str, tuple[str, ...]] = {}
    name, texts = groups.attribute or columns[0], groups.values
    if groups.lists is not None:
        domain = groups.domain or Domain(name, "categorical", groups.values)
        lists = _lists(Attribute(domain, groups.lists.sets))
        texts, by_list = tuple(lists), groups.lists
        beside = replace(groups.beside, everyone=None)
        groups = Groups.from_sparse(
            by_list.indptr, by_list.indices, by_list.data, len(texts), values=texts, beside=beside
        )
    labels = set(texts)
    if table is not None:
        counts = _by_value(table.counts)
        labels |= set(_state_codes(counts, columns)[0].labels)
        if lists:
            lists |= _lists(counts.sensitive[counts.attribute(name)])
    values = Domain(name, "categorical", tuple(sorted(labels)))
    place = {text: code for code, text in enumerate(values.labels)}
    codes = np.array([place[text] for text in texts], dtype=np.int64)
    wider = groups.relabel(codes, values.labels, values)
    known = tuple(lists[text] for text in values.labels) if lists else None
    return States(tuple(columns), values, wider, known)


def _by_value(counts: TableCounts) -> Counts:
    """Everybody by all but quasi-identifiers, or by those besides where it fits anyway."""
    return counts.either(in_memory=lambda known: known, stored=lambda kept: kept.totals(_ALL))


def _state_codes(counts: Counts, columns: Sequence[str]) -> tuple[Domain, Codes]:
    """S of every tuple of a table."""
    places = [counts.attribute(name) for name in columns]
    if len(places) > 1:
        attribute, codes = joint_attribute(counts, places)
        return attribute.domain, codes
    attribute = counts.sensitive[places[0]]
    return Domain(attribute.name, "categorical", tuple(_lists(attribute))), counts.values[places[0]]


def _lists(attribute: Attribute) -> dict[str, tuple[str, ...]]:
    """The lists of an attribute by how they are written, in the order of their codes."""
    sets, labels = attribute.sets, attribute.domain.labels
    if sets is None:
        return {f"{{{label}}}": (label,) for label in labels}
    ends = sets.offsets.tolist()
    lists = [
        tuple(sorted(labels[member] for member in sets.members[start:stop]))
        for start, stop in pairwise(ends)
    ]
    written = {"{" + ", ".join(listed) + "}": listed for listed in lists}
    if len(written) < len(lists):
        raise InputError(
            f"two different lists of {attribute.name!r} are written alike, for a value holds a "
            "comma; write its values without"
        )
    return written


# The people of a release with their true values, as far as they are known to the owner.
#
# Of a release we made, its placement knows them; of another one, the original table. Where every
# group shows a single combination of values the release itself tells them. People with equal values
# in one group are one case.


@dataclass(frozen=True)
class Everybody:
    """The whole table, suppressed people included, as the ideal learner counts it.

    `seen` are people by value of S, `by_column` those by S and the codes of each column.
    """

    seen: Floats
    by_column: tuple[Floats, ...]

    @classmethod
    def of(
        cls, values: Domain, domains: Sequence[Domain], codes: Ints, s: Ints, n: Ints
    ) -> Everybody:
        seen = np.bincount(s, weights=n, minlength=len(values)).astype(np.float64)
        pairs = zip(domains, codes, strict=True)
        return cls(seen, tuple(_by_code(values, domain, row, s, n) for domain, row in pairs))

    def unused(self, column: int) -> int:
        """How many values of a column nobody has."""
        return int(np.count_nonzero(self.by_column[column].sum(axis=0) == 0))


def _by_code(values: Domain, domain: Domain, codes: Ints, s: Ints, n: Ints) -> Floats:
    size = len(values) * len(domain)
    people = np.bincount(s * len(domain) + codes, weights=n, minlength=size)
    return people.reshape(len(values), len(domain)).astype(np.float64)


# Codes, S and number of some people, their values as they are.
TruePeople = tuple[Ints, Ints, Ints]


@dataclass(frozen=True)
class People:
    """Distinct tuples of exact values `codes` (a row by column), and cases of people who have them.

    Case i: `n[i]` people of group `group[i]` (-1: of one of several) with tuple `tuples[i]` and
    sensitive value `s[i]`, sorted by tuple. `where` are the groups a tuple fits. `persons` is how
    many people there are where some are in several cases, else None.

    `parts`, of a table larger than memory: published people with their own values, part by part;
    `codes` then are those of a value in the same atom.
    """

    codes: Ints
    where: Located
    tuples: Ints
    s: Ints
    n: Ints
    group: Ints
    everybody: Everybody
    left_out: int = 0
    persons: int | None = None
    parts: Callable[[], Iterator[TruePeople]] | None = None

    @property
    def total(self) -> int:
        return int(self.n.sum())

    def require_each(self) -> People:
        """These, if every case is told by its own values."""
        if self.parts is None:
            return self
        raise ResourceError(
            "a row for every case needs everybody's tuple in memory, and the table is larger than "
            "memory; raise the memory limit, or use a part of the rows"
        )

    def headcount(self, chosen: Bools) -> Headcount:
        """The people of some cases; at most so many where some are in several."""
        places = int(self.n[chosen].sum())
        if self.persons is None:
            return Headcount(places)
        return Headcount(min(places, self.persons), at_most=places > 1)


def people_of(
    release: Release,
    table: Table | None,
    states: States,
    domains: Sequence[Domain],
    own: Placement | None = None,
    atom_codes: Sequence[Ints] | None = None,
) -> People | None:
    """Everybody whose true values are known; None where nobody's are.

    `own`: every tuple of a table with the one group it is in, though its values may fit others.
    `atom_codes`: for every code of each column the first that is believed the same; None: none is.
    """
    groups, values = states.groups, states.values
    placement = release.placement
    if own is None and atom_codes is not None:
        large = placement.table if placement is not None and table is None else table
        if large is not None and isinstance(large.counts, StoredCounts):
            return _by_atoms(release, large, large.counts, states, domains, atom_codes)
    if own is not None:
        original, rows, n, group = own.table, own.tuples, own.n, own.groups
    elif placement is not None and (table is None or table is placement.table):
        known = placement.in_memory(_ASKING)
        original, rows, n, group = known.table, known.tuples, known.n, known.groups
    elif table is not None:
        n = table.counts.in_memory(_ASKING).n
        original, rows, group = table, np.arange(len(n)), None
    else:
        return _of_release(release, groups, values, domains)
    for name in states.columns:
        _check_attribute(original, name, states)
    counts = original.counts.in_memory(_ASKING)
    names = [domain.name for domain in counts.quasi]
    wanted = [names.index(domain.name) for domain in domains]
    codes = np.array(
        [
            recode(domain.name, counts.codes[at], counts.quasi[at], domain)
            for at, domain in zip(wanted, domains, strict=True)
        ],
        dtype=np.int64,
    )
    told_apart, sizes = codes.astype(np.int32), [len(domain) for domain in domains]
    if own is not None:
        in_group = np.zeros(len(counts.n), dtype=np.int32)
        in_group[own.tuples] = own.groups + 1
        told_apart, sizes = np.vstack([told_apart, in_group]), [*sizes, len(groups) + 1]
    number, first = rank_rows(told_apart, sizes)
    distinct = np.ascontiguousarray(codes[:, first])
    s = states.of_tuples(counts)
    where = _where(release, distinct, domains, number[rows], group, apart=own is not None)
    if group is None:
        group = _only_group(where)[number[rows]]
        published = (np.diff(where.indptr) > 0)[number[rows]]
    else:
        published = group >= 0
    kept = np.array([number[rows], s[rows], group + 1], dtype=np.int64)[:, published]
    sizes = [len(first), len(values), len(groups) + 1]
    of_case, of_each = rank_rows(kept.astype(np.int32), sizes)
    summed = sums_by(of_case, n[published], len(of_each))
    tuples, s_of, group_of = kept[:, of_each]
    return People(
        distinct,
        where,
        tuples,
        s_of,
        summed,
        group_of - 1,
        Everybody.of(values, domains, codes, s, counts.n),
        int(n[~published].sum()),
        counts.people if counts.extra_memberships else None,
    )


def _only_group(where: Located) -> Ints:
    """The group of tuples that fit only one, -1 for others."""
    many = np.diff(where.indptr)
    if not len(where.groups):
        return np.full(len(many), -1, dtype=np.int64)
    first = where.groups[np.minimum(where.indptr[:-1], len(where.groups) - 1)]
    return np.where(many == 1, first, -1)


def _check_attribute(table: Table, column: str, states: States) -> None:
    names = [attribute.name for attribute in table.counts.sensitive]
    if column not in names:
        raise InputError(
            f"the table {table.source.label} lacks the sensitive column {column!r}; "
            f"{did_you_mean(column, names)}"
        )
    if states.plain and table.counts.sensitive[names.index(column)].sets is not None:
        raise InputError(
            f"people of the table {table.source.label} have several values of {column!r} each, "
            "those of the release one"
        )


def _where(
    release: Release,
    codes: Ints,
    domains: Sequence[Domain],
    of_row: Ints,
    group: Ints | None,
    *,
    apart: bool,
) -> Located:
    """The groups each tuple fits; where groups, or tuples, are apart, the one it went into."""
    if group is not None and (apart or release.disjoint):
        known = np.full(codes.shape[1], -1, dtype=np.int64)
        known[of_row] = group
        fits = known >= 0
        return Located(offsets_of(fits), known[fits])
    return _located(release, codes, domains)


def _located(release: Release, codes: Ints, domains: Sequence[Domain]) -> Located:
    none = np.zeros(0, dtype=np.int64)
    return locate(release, Targets(tuple(domains), codes.astype(np.int32), none, none))


def _of_release(
    release: Release, groups: Groups, values: Domain, domains: Sequence[Domain]
) -> People | None:
    """A release that hides nothing but who is who tells everybody's values."""
    if release.regions.exact:
        return None
    regions = release.regions.require_regions()
    rows = []
    for parts, part_of_group, domain in zip(regions.parts, regions.codes, domains, strict=True):
        code_of_part = np.full(len(parts), -1, dtype=np.int64)
        for part in np.unique(part_of_group).tolist():
            inside = getattr(parts[part], "values", ())
            code = domain.code(next(iter(inside))) if len(inside) == 1 else None
            if code is None:
                return None
            code_of_part[part] = code
        rows.append(code_of_part[part_of_group])
    codes = np.array(rows, dtype=np.int64).reshape(len(domains), len(groups))
    where = Located(np.arange(len(groups) + 1), np.arange(len(groups)))
    tuples, s, n = groups.row, groups.indices.astype(np.int64), groups.data
    persons = None if groups.several is None else groups.people()
    everybody = Everybody.of(values, domains, codes[:, tuples], s, n)
    return People(codes, where, tuples, s, n, tuples, everybody, persons=persons)


# -- of a table larger than memory --------------------------------------------------------------


def _by_atoms(
    release: Release,
    table: Table,
    stored: StoredCounts,
    states: States,
    domains: Sequence[Domain],
    atom_codes: Sequence[Ints],
) -> People | None:
    """Everybody, those as one case whom no belief tells apart."""
    for name in states.columns:
        _check_attribute(table, name, states)
    made_here = release.placement is not None and release.placement.table is table
    if made_here and release.suppressed and not release.disjoint:
        raise ResourceError(
            f"{_ASKING} needs everybody's own group where groups overlap and people are "
            "suppressed, and the table is larger than memory; raise the memory limit"
        )
    names = [domain.name for domain in stored.quasi]
    columns = [_StoredColumn.of(stored, names.index(domain.name), domain) for domain in domains]
    asked = [stored.attribute(name) for name in states.columns]
    by_atoms = replace(table, counts=_summed_up(stored, columns, atom_codes, asked))
    people = people_of(release, by_atoms, states, domains)
    assert people is not None

    def parts() -> Iterator[TruePeople]:
        for part in stored.parts():
            codes = np.array([column.codes(part) for column in columns], dtype=np.int64)
            s, n = states.of_tuples(part), part.n
            if people.left_out:
                fits = np.diff(_located(release, codes, domains).indptr) > 0
                codes, s, n = codes[:, fits], s[fits], n[fits]
            yield codes, s, n

    persons = stored.people if stored.extra_memberships else None
    everybody = _counted(stored, columns, states)
    return replace(people, everybody=everybody, persons=persons, parts=parts)


@dataclass(frozen=True)
class _StoredColumn:
    """A quasi-identifier of a stored table: where it is, and its codes as those of a domain."""

    place: int
    domain: Domain
    code_of: Ints

    @classmethod
    def of(cls, stored: StoredCounts, place: int, domain: Domain) -> _StoredColumn:
        used = np.flatnonzero(stored.by_code(place)).astype(np.int32)
        code_of = np.zeros(len(stored.quasi[place]), dtype=np.int64)
        code_of[used] = recode(domain.name, used, stored.quasi[place], domain)
        return cls(place, domain, code_of)

    def codes(self, part: Counts) -> Ints:
        codes: Ints = self.code_of[part.codes[self.place]]
        return codes


def _summed_up(
    stored: StoredCounts,
    columns: Sequence[_StoredColumn],
    atom_codes: Sequence[Ints],
    asked: Sequence[int],
) -> Counts:
    """The people by what is believed the same of them, and the sensitive columns asked about."""
    engine, name = stored.engine, fresh("atoms")
    with Scratch(engine) as scratch:
        joins, own = stored.name, []
        for at, (quasi, first) in enumerate(zip(columns, atom_codes, strict=True)):
            atoms = pa.table(
                {
                    "code": pa.array(np.arange(len(quasi.code_of), dtype=np.int32)),
                    "atom": pa.array(first[quasi.code_of].astype(np.int32)),
                }
            )
            small = scratch.put("atoms_of", atoms)
            joins += f" JOIN {small} ON {stored.name}.q{quasi.place} = {small}.code"
            own.append((f"{small}.atom", f"q{at}"))
        own += [(f"{stored.name}.s{place}", f"s{at}") for at, place in enumerate(asked)]
        listed = [named(text, column) for text, column in own]
        summed_up = select([*listed, *stored.sums], joins, group=[text for text, _ in own])
        engine.materialize(name, summed_up, large=True)
        scratch.names.append(name)
        domains = tuple(column.domain for column in columns)
        sensitive = tuple(stored.sensitive[place] for place in asked)
        summed = replace(
            stored,
            name=name,
            quasi=domains,
            sensitive=sensitive,
            labels=None,
            several=None,
            shared=None,
        )
        if not summed.fits:
            size = bytes_for(len(summed), len(summed.columns))
            raise ResourceError(
                f"{_ASKING} needs the {len(summed):,} tuples that the release and what is asked "
                f"tell apart in memory, about {size / 1e9:,.1f} GB; raise the memory limit, or "
                "publish coarser regions"
            )
        return summed.whole()


def _counted(stored: StoredCounts, columns: Sequence[_StoredColumn], states: States) -> Everybody:
    """What the ideal learner counts, in one pass for all columns."""
    values, by_value = states.values, stored.totals(_ALL)
    seen = np.bincount(states.of_tuples(by_value), weights=by_value.n, minlength=len(values))
    counted, by_column = stored.histograms("0"), []
    for column in columns:
        own = f"q{column.place}"
        rows = counted.filter(counted.column(own).is_valid()).drop_columns(
            [q for q in stored.columns[: len(stored.quasi)] if q != own]
        )
        part = stored.made_of(rows)
        codes, s = column.codes(part), states.of_tuples(part)
        by_column.append(_by_code(values, column.domain, codes, s, part.n))
    return Everybody(seen.astype(np.float64), tuple(by_column))
