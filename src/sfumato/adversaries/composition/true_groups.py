"""In which group is she really? Only the owner knows, who still has what the release was made of.

Experiments that assume an adversary finds the right group ask this, and so does whoever wants to
know how often the nearest centroid is that of the right group. People with equal values may be in
several groups; nobody can say which of them a given one is, so she is dealt to one by chance, in
proportion to how many of them it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.adversaries.composition.alike_people import OTHERS, SEVERAL, people_alike
from sfumato.adversaries.locating.locate import Located, locate
from sfumato.adversaries.locating.targets import Targets, targets_of
from sfumato.counts.counts import Counts, rank_rows
from sfumato.errors import InputError
from sfumato.numbers import Codes, Floats, Ints, offsets_of, rows_of
from sfumato.release.beside import Inside, PeopleAlike, PlacedMembers
from sfumato.release.groups import Groups
from sfumato.release.made import MadeHere, Placement, ReadFrom
from sfumato.release.release import Release
from sfumato.release.summing import group_counts
from sfumato.schema.domain import Domain
from sfumato.table import Table


class TrueGroups:
    """For every row of the targets, the groups that hold people with its values, and how many.

    `known[r]` says which distinct combination row r has (-1: none of the table's); combination t
    has `n[bounds[t]:bounds[t + 1]]` people in `groups`, -1 where they were suppressed.
    """

    def __init__(self, release: Release, attribute: str, targets: Targets) -> None:
        placement = _placement(release)
        counts = placement.counts
        place = counts.attribute(attribute)
        pairs = [(counts.quasi[c], counts.codes[c]) for c in range(len(counts.quasi))]
        asked = [
            (targets.domains[c], targets.codes[c][targets.case])
            for c in (targets.columns.index(domain.name) for domain in counts.quasi)
        ]
        if targets.truth is not None:
            pairs.append((counts.sensitive[place].domain, counts.values[place]))
            asked.append(targets.truth)
        number = _match(pairs, asked)
        of_tuple, self.known = number[: len(counts)], number[len(counts) :]
        combination = of_tuple[placement.tuples]
        order = np.lexsort((placement.groups, combination))
        self.groups, self.n = placement.groups[order], placement.n[order]
        total = int(number.max(initial=-1)) + 1
        self.bounds = np.searchsorted(combination[order], np.arange(total + 1))

    def draw(self, seed: int) -> Located:
        """One group for every row, drawn among those of its people; none if suppressed or unknown.

        Rows must stand for one person each.
        """
        people = offsets_of(self.n)
        first, last = people[self.bounds[self.known]], people[self.bounds[self.known + 1]]
        chance = np.random.default_rng(seed).random(len(self.known))
        ticket = first + np.floor(chance * (last - first)).astype(np.int64)
        piece = np.searchsorted(people, ticket, "right") - 1
        there = last > first
        group = np.full(len(self.known), -1, dtype=np.int64)
        group[there] = self.groups[piece[there]]
        indptr = offsets_of(group >= 0)
        return Located(indptr, group[group >= 0])

    def right(self, placement: Located, case: Ints) -> Floats:
        """For each row, the share of its people whose own group is among those found; NaN if
        nobody of its values is published."""
        combinations = len(self.bounds) - 1
        owner = rows_of(self.bounds)
        kept = self.groups >= 0
        published = np.bincount(owner[kept], weights=self.n[kept], minlength=combinations)
        # Each row's combination against each row's case: pairs that occur, once.
        pairs, row = np.unique(np.vstack([self.known, case]), axis=1, return_inverse=True)
        located = placement.take(pairs[1])
        width = int(max(self.groups.max(initial=0), placement.groups.max(initial=0))) + 1
        true, piece = np.unique(owner[kept] * width + self.groups[kept], return_inverse=True)
        people = np.append(np.bincount(piece, weights=self.n[kept], minlength=len(true)), 0)
        asked = np.repeat(pairs[0], np.diff(located.indptr)) * width + located.groups
        place = np.searchsorted(true, asked)
        hit = np.where(np.append(true, -1)[place] == asked, people[place], 0)
        hits = np.bincount(rows_of(located.indptr), weights=hit, minlength=pairs.shape[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Floats = (hits / published[pairs[0]])[row.ravel()]
        return share


def _placement(release: Release) -> Placement:
    if release.placement is None:
        raise InputError(
            f"{release.label} was read from a file, which does not tell who is in which group; "
            "locate='oracle' needs a release just made, use locate='nearest'"
        )
    return release.placement.in_memory("telling who is in which group")


def _match(pairs: list[tuple[Domain, Codes]], asked: list[tuple[Domain, Codes]]) -> Ints:
    """Number the combinations of the table's tuples and of the targets' rows together."""
    rows, sizes = [], []
    for (domain, codes), (target_domain, row) in zip(pairs, asked, strict=True):
        known = [domain.code(value) for value in target_domain.values]
        numbers = np.array([len(domain) if code is None else code for code in known], np.int32)
        rows.append(np.concatenate([codes, numbers[row]]))
        sizes.append(len(domain) + 1)
    return rank_rows(np.vstack(rows), sizes)[0]


def with_people_of(release: Release, table: Table, earlier: Sequence[Release] = ()) -> Release:
    """A release that was read, and who is in which of its groups by the table it was made of.

    Known where groups are apart and the table's people who fit them are those they count, value by
    value; otherwise the release is as before, and a note says why. Where the table says
    who lives together, that is known then, too. Of linked rows the table is kept, for whoever finds
    people by all of theirs (`linked_exposure.py`). Of a table larger than memory those are known
    whom this release and the `earlier` ones tell apart.
    """
    made = release.made
    known = release.inside() is not None
    if isinstance(made, MadeHere) or (known and table.households is None):
        return release
    if release.by_row is not None and isinstance(made, ReadFrom):
        release = replace(release, made=replace(made, linked_table=table))
        if table.households is None or made.households is not None:
            return release
    inside = _inside_by_table(release, table, earlier)
    if isinstance(inside, Inside) and isinstance(made, ReadFrom):
        households = made.households
        if table.households is not None and not table.counts.of_rows:
            households = PlacedMembers.of(table.households, inside)
        return replace(release, made=replace(made, people=inside, households=households))
    if isinstance(inside, PeopleAlike) and isinstance(made, ReadFrom):
        return replace(release, made=replace(made, representatives=inside))
    if known:
        return release
    note = f"the table {table.source.label} does not tell who is in which group: {inside}"
    return replace(release, notes=(*release.notes, note))


def _inside_by_table(
    release: Release, table: Table, earlier: Sequence[Release]
) -> Inside | PeopleAlike | str:
    """Who is in which group, or why that is not known."""
    stored = table.counts.either(in_memory=lambda _: None, stored=lambda stored: stored)
    if release.groups.multiplicity is not None:
        return "the release is larger than memory, and tells one group of each kind"
    if not release.regions.generalizes or not release.disjoint or release.shares_people:
        return "people may fit several groups"
    if stored is not None:
        return people_alike(release, stored, earlier)
    counts = table.counts.in_memory("telling who of a table is in which group")
    located = locate(release, targets_of(counts))
    many = np.diff(located.indptr)
    if (many > 1).any():
        return SEVERAL
    of_case = np.full(len(many), -1, dtype=np.int64)
    of_case[many == 1] = located.groups
    group = of_case[counts.group_of[0]]
    kept = np.flatnonzero(group >= 0)
    if not _counts_alike(release, counts.take(kept), group[kept]):
        return OTHERS
    order = kept[np.argsort(group[kept], kind="stable")]
    indptr = np.searchsorted(group[order], np.arange(len(release.groups) + 1)).astype(np.int64)
    return Inside(counts, indptr, order, counts.n[order])


def _counts_alike(release: Release, counts: Counts, group: Ints) -> bool:
    """Whether these people in these groups have the values the groups show."""
    names = [attribute.name for attribute in counts.sensitive]
    for name, groups in release.by_attribute.items():
        if name not in names:
            return False
        made = group_counts(counts, group, len(groups), names.index(name))
        if (made.sizes != groups.sizes).any() or _cells(made) != _cells(groups):
            return False
    return True


def _cells(groups: Groups) -> dict[tuple[int, str], int]:
    labels = [groups.values[code] for code in groups.indices.tolist()]
    cells = zip(groups.row.tolist(), labels, groups.data.tolist(), strict=True)
    return {(g, label): int(n) for g, label, n in cells if n}
