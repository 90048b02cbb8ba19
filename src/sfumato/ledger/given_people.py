"""People who are given to a check of a new release: everybody of a table, of whatever size.

They are located in the new release as an adversary locates them. People of a table larger than
memory come part by part, and those who are exposed are summed up.

Stands apart: the other ways to judge a release (`check.py`) know its people or nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

import numpy as np

from sfumato.adversaries.composition.exposure import EarlierExposure, ExposureRule, expose
from sfumato.adversaries.locating.locate import IndexesOfReleases, Located, locate
from sfumato.adversaries.locating.target_parts import TargetParts
from sfumato.adversaries.locating.targets import Targets, refuse_published
from sfumato.numbers import Floats, Ints, distinct, rows_of, run_places
from sfumato.release.groups import Groups
from sfumato.release.release import Release

_CASE, _RELEASE, _VALUE = 256, 96, 40  # bytes of a case: its own, by release, by value


def people_given(given: object, releases: Sequence[Release], unknown: str) -> TargetParts:
    """People who are given, by the quasi-identifiers of all releases."""
    columns = tuple(dict.fromkeys(name for release in releases for name in release.regions.columns))
    widest = max(groups.width for release in releases for groups in release.by_attribute.values())
    needed = _CASE + _RELEASE * len(releases) + _VALUE * widest
    people = TargetParts.of(given, columns, None, unknown, needed)
    for part in islice(people, 1 if people.all_known else None):
        refuse_published(part, releases, unknown)
    return people


@dataclass(frozen=True)
class LocatedPeople:
    """Some of the people who are given: those `here` were located in the new release."""

    people: int
    here: Ints
    n: Floats  # of each case here
    indptr: Ints
    codes: Ints
    exposure: EarlierExposure

    @classmethod
    def of(
        cls,
        new: Release,
        earlier: Sequence[Release],
        people: Targets,
        name: str,
        indexes: IndexesOfReleases,
    ) -> LocatedPeople:
        groups, located = new.groups_for(name), locate(new, people, indexes=indexes)
        per_case = np.bincount(people.case, weights=people.people, minlength=people.cases)
        here = np.flatnonzero(np.diff(located.indptr))
        indptr, codes = _values_shown(groups, located, here)
        exposure = expose(groups, earlier, people, indexes=indexes)
        n = per_case[here].astype(np.float64)
        return cls(int(per_case.sum()), here, n, indptr, codes, exposure)

    def exposed(self, beside: Collection[int], rule: ExposureRule) -> int:
        one_each = np.arange(len(self.here) + 1)
        chosen = self.exposure.only(beside)
        return int(self.n[chosen.exposed(self.indptr, self.codes, one_each, self.here, rule)].sum())

    def figures(self, rule: ExposureRule) -> Ints:
        """All people, those judged, those exposed by the new release alone and by earlier ones."""
        alone = 0 if rule.drop else int(self.n[np.diff(self.indptr) <= rule.most].sum())
        before = int(self.n[self.exposure.exposed_already(rule)[self.here]].sum())
        return np.array([self.people, int(self.n.sum()), alone, before], dtype=np.int64)


AskedBeside = tuple[tuple[int, ...], ExposureRule]  # some of the earlier releases, and who counts


class ExposedGiven:
    """The people who are exposed beside some of the earlier releases, summed up over parts.

    Where people do not fit in memory at once, all that may be asked next is worked out in one go.
    """

    def __init__(self, parts: Iterable[LocatedPeople], rule: ExposureRule, earlier: int) -> None:
        self._parts, self._rule, self._earlier = parts, rule, earlier
        self._exposed: dict[AskedBeside, int] = {}
        self.figures = np.zeros(4, dtype=np.int64)
        several = not isinstance(parts, tuple)  # as they are where all of them fit
        self._first_asked: list[AskedBeside] = self._first() if several else []
        for part in parts:
            self.figures += part.figures(rule)
            for beside, counting in self._first_asked:
                self._add(part, (beside, counting))

    def _first(self) -> list[AskedBeside]:
        """What is asked of any, and of which release is to blame."""
        places = range(self._earlier)
        everyone, added = (replace(self._rule, counting=how) for how in ("all", "added"))
        left_out = [self._without([place]) for place in places]
        some = [(tuple(places), everyone), (tuple(places), added)]
        some += [((place,), everyone) for place in places]
        some += [(beside, self._rule) for beside in [tuple(places), (), *left_out]]
        return list(dict.fromkeys(some))

    def _pairs(self) -> list[AskedBeside]:
        """What is asked where no single release is to blame."""
        return [(self._without(pair), self._rule) for pair in combinations(range(self._earlier), 2)]

    def _without(self, left_out: Collection[int]) -> tuple[int, ...]:
        return tuple(place for place in range(self._earlier) if place not in left_out)

    def _add(self, part: LocatedPeople, asked: AskedBeside) -> None:
        self._exposed[asked] = self._exposed.get(asked, 0) + part.exposed(*asked)

    def counted(self, beside: Collection[int], rule: ExposureRule) -> tuple[int, int]:
        asked = (tuple(beside), rule)
        if asked not in self._exposed:
            pairs = self._pairs() if self._first_asked else []
            wanted = pairs if asked in pairs else [asked]
            for part in self._parts:
                for other in wanted:
                    self._add(part, other)
        return self._exposed[asked], self._exposed[asked]


@dataclass(frozen=True)
class LocatedParts:
    """The people who are given, located once more whenever they are asked for."""

    people: TargetParts
    new: Release
    earlier: Sequence[Release]
    name: str
    _indexes: IndexesOfReleases = field(default_factory=dict)

    def __iter__(self) -> Iterator[LocatedPeople]:
        for part in self.people:
            yield LocatedPeople.of(self.new, self.earlier, part, self.name, self._indexes)

    def exposed(self, rule: ExposureRule) -> ExposedGiven:
        parts = self if self.people.whole is None else tuple(self)
        return ExposedGiven(parts, rule, len(self.earlier))


def _values_shown(groups: Groups, located: Located, here: Ints) -> tuple[Ints, Ints]:
    """The values that the groups of each case show, each once."""
    fitting = located.take(here)
    many = groups.distinct[fitting.groups]
    stored = run_places(groups.indptr[fitting.groups], many)
    keys = distinct(
        np.repeat(rows_of(fitting.indptr), many) * groups.width + groups.indices[stored]
    )
    owner, codes = np.divmod(keys, groups.width)
    return np.searchsorted(owner, np.arange(len(here) + 1)).astype(np.int64), codes
