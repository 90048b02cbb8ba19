"""The people of a release with their true values, as far as they are known to the owner.

Of a release we made, its placement knows them; of another one, the original table. Where every
group shows a single combination of values the release itself tells them. People with equal values
in one group are one case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import Targets
from sfumato.adversaries.relative_threat.columns import recode
from sfumato.counts.counts import rank_rows
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Bools, Ints, offsets_of, sums_by
from sfumato.release.beside import Headcount
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.schema.domain import Domain
from sfumato.table import Table


@dataclass(frozen=True)
class People:
    """Distinct tuples of exact values `codes` (a row by column), and cases of people who have them.

    Case i: `n[i]` people of group `group[i]` (-1: of one of several) with tuple `tuples[i]` and
    sensitive value `s[i]`, sorted by tuple. `where` are the groups a tuple fits. `everybody` holds
    tuples, s and n of the whole table, suppressed people included: what the ideal learner sees.
    `persons` is how many people there are where some are in several cases, else None.
    """

    codes: Ints
    where: Located
    tuples: Ints
    s: Ints
    n: Ints
    group: Ints
    everybody: tuple[Ints, Ints, Ints]
    left_out: int = 0
    persons: int | None = None

    @property
    def total(self) -> int:
        return int(self.n.sum())

    def headcount(self, chosen: Bools) -> Headcount:
        """The people of some cases; at most so many where some are in several."""
        places = int(self.n[chosen].sum())
        if self.persons is None:
            return Headcount(places)
        return Headcount(min(places, self.persons), at_most=places > 1)


def people_of(
    release: Release,
    table: Table | None,
    groups: Groups,
    values: Domain,
    domains: Sequence[Domain],
) -> People | None:
    """Everybody whose true values are known; None where nobody's are."""
    placement = release.placement
    if placement is not None and (table is None or table is placement.table):
        known = placement.in_memory("asking what is believed of everybody")
        held, rows, n, group = known.table, known.tuples, known.n, known.groups
    elif table is not None:
        n = table.counts.in_memory("asking what is believed of everybody").n
        held, rows, group = table, np.arange(len(n)), None
    else:
        return _of_release(release, groups, domains)
    place = _attribute(held, values)
    counts = held.counts.in_memory("asking what is believed of everybody")
    names = [domain.name for domain in counts.quasi]
    wanted = [names.index(domain.name) for domain in domains]
    codes = np.array(
        [
            recode(domain.name, counts.codes[at], counts.quasi[at], domain)
            for at, domain in zip(wanted, domains, strict=True)
        ],
        dtype=np.int64,
    )
    number, first = rank_rows(codes.astype(np.int32), [len(domain) for domain in domains])
    distinct = np.ascontiguousarray(codes[:, first])
    s = recode(values.name, counts.values[place], counts.sensitive[place].domain, values)
    where = _where(release, distinct, domains, number[rows], group)
    if group is None:
        group = _only_group(where)[number[rows]]
        published = (np.diff(where.indptr) > 0)[number[rows]]
    else:
        published = group >= 0
    kept = np.array([number[rows], s[rows], group + 1], dtype=np.int64)[:, published]
    sizes = [len(first), len(values), len(groups) + 1]
    of_case, one = rank_rows(kept.astype(np.int32), sizes)
    summed = sums_by(of_case, n[published], len(one))
    tuples, s_of, group_of = kept[:, one]
    return People(
        distinct,
        where,
        tuples,
        s_of,
        summed,
        group_of - 1,
        (number, s, counts.n),
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


def _attribute(table: Table, values: Domain) -> int:
    names = [attribute.name for attribute in table.counts.sensitive]
    if values.name not in names:
        raise InputError(
            f"the table {table.source.label} lacks the sensitive column {values.name!r}; "
            f"{did_you_mean(values.name, names)}"
        )
    place = names.index(values.name)
    if table.counts.sensitive[place].sets is not None:
        raise InputError(
            f"people have several values of {values.name!r} each; relative threat is defined for "
            "one"
        )
    return place


def _where(
    release: Release, codes: Ints, domains: Sequence[Domain], of_row: Ints, group: Ints | None
) -> Located:
    """The groups each tuple fits; where groups are apart, the one its people went into."""
    if group is not None and release.disjoint:
        known = np.full(codes.shape[1], -1, dtype=np.int64)
        known[of_row] = group
        fits = known >= 0
        return Located(offsets_of(fits), known[fits])
    none = np.zeros(0, dtype=np.int64)
    return locate(release, Targets(tuple(domains), codes.astype(np.int32), none, none))


def _of_release(release: Release, groups: Groups, domains: Sequence[Domain]) -> People | None:
    """A release that hides nothing but who is who tells everybody's values."""
    if release.regions.exact:
        return None
    regions = release.regions.require_regions()
    rows = []
    for parts, shown, domain in zip(regions.parts, regions.codes, domains, strict=True):
        found = np.full(len(parts), -1, dtype=np.int64)
        for part in np.unique(shown).tolist():
            values = getattr(parts[part], "values", ())
            code = domain.code(next(iter(values))) if len(values) == 1 else None
            if code is None:
                return None
            found[part] = code
        rows.append(found[shown])
    codes = np.array(rows, dtype=np.int64).reshape(len(domains), len(groups))
    where = Located(np.arange(len(groups) + 1), np.arange(len(groups)))
    tuples, s, n = groups.row, groups.indices.astype(np.int64), groups.data
    persons = None if groups.several is None else groups.people()
    return People(codes, where, tuples, s, n, tuples, (tuples, s, n), persons=persons)
