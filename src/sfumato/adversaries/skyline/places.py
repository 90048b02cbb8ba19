"""Which groups of a release somebody may be in of whom something is known.

What is placed is a person; a row of hers where rows are published one by one (`RowPlaces`); and
where a pseudonym links rows a person again, by as many of her rows as are known
(`SignaturePlaces`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from sfumato.adversaries.base import ALTERED
from sfumato.adversaries.locating.locate import locate
from sfumato.adversaries.locating.targets import UNKNOWN, Targets, read_targets, refuse_published
from sfumato.adversaries.skyline.facts import Described
from sfumato.adversaries.skyline.knowledge import column_of
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import Bools, rows_of
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.linked import LinkedPlacement
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.schema.region import codes_inside

GROUP = "group"  # people of groups that publish nothing are told by their group's number
FittingPeople = dict[
    int, dict[int, int]
]  # by group: whom somebody may be there, and how many such there are


def have_room(placed: Sequence[int], rooms: Sequence[FittingPeople]) -> bool:
    """Whether everybody placed in a group may be somebody of it, each somebody else."""
    return all(
        _seated([room[group] for room, own in zip(rooms, placed, strict=True) if own == group])
        for group in set(placed)
    )


def _seated(wanted: Sequence[dict[int, int]]) -> bool:
    taken: dict[int, list[int]] = defaultdict(list)

    def seat(person: int, tried: set[int]) -> bool:
        """On a free place; or on one whose owner finds another."""
        for place, many in wanted[person].items():
            if place in tried:
                continue
            tried.add(place)
            if len(taken[place]) == many:
                leaving = next((other for other in taken[place] if seat(other, tried)), None)
                if leaving is None:
                    continue
                taken[place].remove(leaving)
            taken[place].append(person)
            return True
        return False

    return all(seat(person, set()) for person in range(len(wanted)))


class Unit(NamedTuple):
    """By what somebody is placed: a description, or several rows; `whole`: all that she has."""

    rows: tuple[Described, ...]
    whole: bool = False


class NumberedPlaces:
    """Groups that publish nothing: people are told by the number of their group."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def units(self, rows: Sequence[Described], *, whole: bool) -> list[Unit]:
        """Those of a person that are placed each by itself."""
        return _one_description(rows)

    def fitting(self, unit: Unit) -> FittingPeople:
        """The groups that a unit may be in."""
        return self.room(*unit.rows)

    def groups(self, value: str, sensitive: str | None) -> Groups:
        return self._groups

    def room(self, described: Described) -> FittingPeople:
        """The groups that somebody may be in, and how many people there fit the description."""
        number = described.get(GROUP)
        if set(described) != {GROUP} or not str(number).isdecimal():
            raise InputError('these groups publish nothing; tell people by them: {"group": 0}')
        if int(str(number)) >= len(self._groups):
            raise InputError(f"there is no group {number} among {len(self._groups):,}, from 0")
        group = int(str(number))
        return {group: {0: int(self._groups.sizes[group])}}


class ReleasePlaces:
    """A release: people are told by their quasi-identifiers."""

    of_several_rows: ClassVar[bool] = False

    def __init__(self, release: Release) -> None:
        release.refuse_wildcards()
        if release.regions.noisy:
            raise InputError(
                "counts of a randomised release are noisy; it carries its own guarantee"
            )
        if release.several is not None and not self.of_several_rows:
            raise InputError(
                f"{release.label} has people whose rows are in several groups, and what these tell "
                "together is not worked out; keep one row a person"
            )
        self._release = release

    def units(self, rows: Sequence[Described], *, whole: bool) -> list[Unit]:
        """Those of a person that are placed each by itself."""
        return _one_description(rows)

    def fitting(self, unit: Unit) -> FittingPeople:
        """The groups that a unit may be in."""
        return self.room(*unit.rows)

    def groups(self, value: str, sensitive: str | None) -> Groups:
        """Those by the sensitive column that has the value, unless it is named."""
        columns = list(self._release.schema.sensitive) if sensitive is None else [sensitive]
        if not columns:
            raise InputError("the release has no sensitive column")
        return self._release.groups_for(column_of(self._release, value, columns))

    def room(self, described: Described) -> FittingPeople:
        """The groups that somebody may be in, and how many people there fit the description."""
        regions, sizes = self._release.regions, self._release.groups.published_rows
        asked, known = self._read(described)
        if asked is not None and regions.centroids:
            return {group: {0: int(sizes[group])} for group in locate(self._release, asked).groups}
        if (buckets := regions.buckets) is not None:
            fits = np.ones(len(buckets.n), dtype=bool)
            for at in known:
                assert asked is not None
                code = buckets.domains[at].code(asked.domains[at].values[0])
                fits &= buckets.codes[at] == (-1 if code is None else code)
            listed: FittingPeople = {}
            bucket = rows_of(buckets.indptr)
            for place in np.flatnonzero(fits).tolist():
                listed.setdefault(int(bucket[place]), {})[place] = int(buckets.n[place])
            return listed
        inside = self._inside(regions.require_regions(), asked, known)
        return {int(group): {0: int(sizes[group])} for group in np.flatnonzero(inside)}

    def _read(self, described: Described) -> tuple[Targets | None, list[int]]:
        """A description, None where nothing is known, and the columns of which something is."""
        regions = self._release.regions
        for name in described:
            if name not in regions.columns:
                raise InputError(
                    f"{name!r} is not a quasi-identifier of {self._release.label}; "
                    f"{did_you_mean(name, regions.columns)}"
                )
        if not described:
            return None, []
        asked = read_targets([dict(described)], regions.columns)
        refuse_published(asked, [self._release], UNKNOWN)
        columns = range(len(regions.columns))
        return asked, [at for at in columns if asked.known is None or asked.known[at, 0]]

    def _inside(self, regions: Regions, asked: Targets | None, known: Sequence[int]) -> Bools:
        """Which regions contain what is known."""
        inside = np.ones(len(regions), dtype=bool)
        for at in known:
            assert asked is not None
            meant = codes_inside(regions.parts[at], np.unique(regions.codes[at]), asked.domains[at])
            inside &= np.isin(regions.codes[at], [part for part, codes in meant if codes])
        return inside


def _one_description(rows: Sequence[Described]) -> list[Unit]:
    if len(rows) > 1:
        raise InputError(
            "somebody is told by several rows, and this release publishes one of each person; "
            "describe that one"
        )
    return [Unit(tuple(rows))]


class RowPlaces(ReleasePlaces):
    """Rows published one by one: everybody's known rows are placed each by itself."""

    of_several_rows = True

    def groups(self, value: str, sensitive: str | None) -> Groups:
        """By the values of rows."""
        groups = super().groups(value, sensitive)
        if groups.beside.altered_by_chance:
            raise InputError(ALTERED)
        assert groups.beside.unlinked is not None
        return groups.beside.unlinked.by_row

    def units(self, rows: Sequence[Described], *, whole: bool) -> list[Unit]:
        return [Unit((row,)) for row in rows]


class SignaturePlaces(ReleasePlaces):
    """Linked rows: whose signature contains the rows that are known of somebody may be hers."""

    def __init__(self, release: Release, signatures: Signatures) -> None:
        super().__init__(release)
        made = release.placement
        if isinstance(made, LinkedPlacement) and made.linked.some_cut:
            raise InputError(
                f"the rows of some people of {release.label} were cut into several pseudonyms, or "
                "some of hers left out: what hers tell together is not worked out"
            )
        self._signatures = signatures

    def units(self, rows: Sequence[Described], *, whole: bool) -> list[Unit]:
        return [Unit(tuple(rows), whole)]

    def fitting(self, unit: Unit) -> FittingPeople:
        signatures, sets = self._signatures, self._signatures.sets
        inside = [self._inside(signatures.rows, *self._read(row)) for row in unit.rows]
        lengths = np.diff(sets.offsets)
        contained = lengths == len(unit.rows) if unit.whole else lengths >= len(unit.rows)
        for fits in inside:
            contained &= np.logical_or.reduceat(fits[sets.members], sets.offsets[:-1])
        room: FittingPeople = {}
        for group in np.flatnonzero(contained).tolist():
            rows = sets.members[sets.offsets[group] : sets.offsets[group + 1]]
            kinds, many = np.unique(rows, return_counts=True)
            seats = dict(zip(kinds.tolist(), many.tolist(), strict=True))
            # Each known row is another row of the signature.
            wanted = [{kind: n for kind, n in seats.items() if fits[kind]} for fits in inside]
            if _seated(wanted):
                room[group] = {0: int(signatures.people[group])}
        return room


Places = NumberedPlaces | ReleasePlaces


def places_of(subject: Release | Groups) -> Places:
    """How people are told in groups, or in a release of its kind."""
    if isinstance(subject, Groups):
        return NumberedPlaces(subject)
    if isinstance(subject.regions, Signatures):
        return SignaturePlaces(subject, subject.regions)
    return ReleasePlaces(subject) if subject.groups.beside.unlinked is None else RowPlaces(subject)
