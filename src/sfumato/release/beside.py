"""What stands beside the counts of groups: what they publish, whom they hold, what they stand for.

Who is inside each group is private; a bucketized release publishes it. Criteria that ask what
somebody could learn of a *person* need it, since people of one group differ in what else is known
about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts, rank_rows
from sfumato.counts.households import Members
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError
from sfumato.numbers import Bools, Floats, Ints, rows_of, sums_by, taken_rows, tallied_offsets

if TYPE_CHECKING:
    from sfumato.perturbation.base import Perturbation
    from sfumato.release.description import Regions
    from sfumato.release.groups import Groups
    from sfumato.release.guarantee import Guarantee
    from sfumato.release.release import Release
    from sfumato.release.unlinked import UnlinkedRows

# People who are in several groups: one whose rows differ in their quasi-identifiers.
#
# Sizes count her in each of her groups, and so they must: in each she hides among so many. Whoever
# tells how many *people* something concerns counts her once, if it concerns her in any of them.


@dataclass(frozen=True)
class Headcount:
    """How many people; `at_most`: so many or fewer, since who is in several groups is not known."""

    number: int
    at_most: bool = False

    def __str__(self) -> str:
        return f"{'at most ' if self.at_most else ''}{self.number:,}"


@dataclass(frozen=True)
class SeveralGroups:
    """Who is in several groups: `person[i]` is in group `group[i]`, persons in order.

    `everybody` is how many people there are. Where only that is known both lists are None; where
    not even that is, because some of the groups were left out, it is None too. `distinct`: whoever
    is in two groups that become one counts once there, since groups count distinct people.
    """

    everybody: int | None
    person: Ints | None = None
    group: Ints | None = None
    distinct: bool = False

    @classmethod
    def of_rows(cls, counts: Counts, group: Ints) -> SeveralGroups:
        """Everybody who has a row in a group, where rows are published one by one; `group` is that
        of each tuple, -1: none."""
        total = int(group.max(initial=-1)) + 1
        person, groups = counts.rows_by_person.groups_of(group, total)
        everybody = int(np.count_nonzero(np.bincount(person)))
        return cls(everybody, person, groups, distinct=True)

    @property
    def listed(self) -> bool:
        """Whether it is known who is in several groups, not only how many people there are."""
        return self.person is not None

    def count(self, people: Ints, chosen: Bools | None) -> Headcount:
        """Distinct people of the chosen groups, of which each has so many, or of all of them."""
        places = int((people if chosen is None else people[chosen]).sum())
        if self.person is not None and self.group is not None:
            here = self.person if chosen is None else self.person[chosen[self.group]]
            if self.distinct:  # everybody is listed, whatever the groups count
                return Headcount(len(np.unique(here)))
            return Headcount(places - len(here) + len(np.unique(here)))
        if self.everybody is None:
            return Headcount(places, at_most=places > 0)
        if chosen is None or chosen.all():
            return Headcount(self.everybody)
        return Headcount(min(places, self.everybody), at_most=places > 1)

    def lesser(self, per_group: Floats) -> float:
        """The sum over people of all but the largest of their groups' figures."""
        assert self.person is not None
        assert self.group is not None
        if not len(self.person):
            return 0.0
        figures = per_group[self.group]
        first = np.flatnonzero(np.diff(self.person, prepend=-1))
        return float(figures.sum() - np.maximum.reduceat(figures, first).sum())

    def take(self, kept: Ints, total: int) -> SeveralGroups:
        """Some of so many groups, by their positions."""
        if self.person is None or self.group is None:
            return self if len(kept) == total else SeveralGroups(None)
        place = np.full(total, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        here = place[self.group]
        return replace(self, everybody=None, person=self.person[here >= 0], group=here[here >= 0])

    def merge(self, number: Ints) -> SeveralGroups:
        """Groups put together: group g becomes part of group `number[g]`."""
        if self.person is None or self.group is None:
            return self
        group = number[self.group]
        if not self.distinct:
            return replace(self, group=group)
        once = np.unique(np.stack([self.person, group]), axis=1)
        return replace(self, person=once[0], group=once[1])


@dataclass(frozen=True)
class CountedRegister:
    """How many people of a register fit each group, where an engine has counted them already.

    `everybody` are the people of the register, `outside` those who fit no group.
    """

    people: Ints
    everybody: int
    outside: int

    def take(self, kept: Ints, multiplicity: Ints | None) -> CountedRegister:
        """Of some groups: who fits none but others fits none of these."""
        times = np.ones(len(self.people), dtype=np.int64) if multiplicity is None else multiplicity
        people = self.people[kept]
        elsewhere = int(self.people @ times) - int(people @ times[kept])
        return CountedRegister(people, self.everybody, self.outside + elsewhere)

    def merge(self, number: Ints, total: int) -> CountedRegister:
        """Of groups put together: nobody fits two of them."""
        return CountedRegister(sums_by(number, self.people, total), self.everybody, self.outside)


Protected = tuple[tuple[str, ...], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Inside:
    """Group g holds `n[i]` people of tuple `tuples[i]` of `counts`, i from indptr[g] on."""

    counts: Counts
    indptr: Ints
    tuples: Ints
    n: Ints

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, kept: Ints) -> Inside:
        """Some of the groups, by their positions."""
        indptr, places = taken_rows(self.indptr, kept)
        return Inside(self.counts, indptr, self.tuples[places], self.n[places])

    def merge(self, number: Ints, total: int) -> Inside:
        """Groups put together: group g becomes part of group `number[g]` of `total`."""
        order = np.argsort(number, kind="stable")
        first = np.searchsorted(number[order], np.arange(total + 1)).astype(np.int64)
        return self.take(order).together(first)

    def together(self, first: Ints) -> Inside:
        """Runs of groups as one group each: those from first[i] up to first[i + 1]."""
        return Inside(self.counts, self.indptr[first], self.tuples, self.n)


@dataclass(frozen=True)
class PeopleAlike:
    """Who is inside groups, each person for all in her group whom `earlier` releases, too, do not
    tell apart: of a table larger than memory."""

    inside: Inside
    earlier: tuple[Release, ...]

    def beside(self, releases: Sequence[Release]) -> Inside | None:
        """Who is inside, for whoever holds these; None if some were not looked up."""
        known = {id(release) for release in self.earlier}
        return self.inside if all(id(release) in known for release in releases) else None


@dataclass(frozen=True)
class OwnedRows:
    """Row i is published in group `group[i]` and is one of `person[i]`: private."""

    person: Ints
    group: Ints


@dataclass(frozen=True)
class PlacedMembers:
    """Who lives together, and in which groups they are: private.

    `person[i]` is of kind `kind[i]`: people of one kind have equal quasi-identifiers, or publish
    equal rows. Of kind `placed[j]` group `group[j]` has `n[j]` people; where rows are published one
    by one, as many rows of each of them. `household` is that of each person.
    """

    person: Ints
    kind: Ints
    household: Ints
    placed: Ints
    group: Ints
    n: Ints

    @classmethod
    def of(cls, members: Members, inside: Inside) -> PlacedMembers:
        """Members of households, by the quasi-identifiers of whoever is in groups."""
        counts = inside.counts
        stacked = np.hstack([members.codes, counts.codes[:, inside.tuples]])
        number, _ = rank_rows(stacked, [len(domain) for domain in counts.quasi])
        kind, placed = np.split(number.astype(np.int64), [members.codes.shape[1]])
        groups = rows_of(inside.indptr)
        return cls(members.person, kind, members.household, placed, groups, inside.n)

    @classmethod
    def of_rows(cls, rows: OwnedRows, household: Ints) -> PlacedMembers:
        """Members of households, by the groups of all rows of each."""
        person, nth_person = np.unique(rows.person, return_inverse=True)
        order = np.argsort(nth_person, kind="stable")
        offsets = tallied_offsets(nth_person, len(person))
        kind, kinds = code_sets(offsets, rows.group[order].astype(np.int32), repeated=True)
        group = kinds.members.astype(np.int64)
        placed, n = rows_of(kinds.offsets), np.ones(len(group), dtype=np.int64)
        return cls(person, kind.astype(np.int64), household, placed, group, n)

    @property
    def kinds(self) -> int:
        """How many kinds there are."""
        return int(max(self.kind.max(initial=-1), self.placed.max(initial=-1))) + 1

    def renumbered(self, number: Ints) -> PlacedMembers:
        """Group g is now group `number[g]`, or left out where that is -1."""
        group = number[self.group]
        kept = group >= 0
        return replace(self, placed=self.placed[kept], group=group[kept], n=self.n[kept])


@dataclass(frozen=True)
class Beside:
    """What is known of groups besides their counts, for whoever needs it.

    `regions` are what they publish of quasi-identifiers; `population` the summed survey weights;
    `guarantee` that of noisy counts; `protected` the protect column's labels and which of them each
    group has; `inside` who is in them (private), `several` who is in several of them. Where groups
    share people (wildcard matching), `published` are the people published with each group's own
    description, by default its size, and `everyone` all people as one group: the groups do not add
    up to them. Where equal groups are told once, `multiplicity` is how many each stands for. Where
    people's rows are published one by one, `unlinked` are the values of rows and of people.
    `perturbed` is what was done to the values that are counted. `register`: who of a register fits
    each group, where regions are not at hand to look them up in.
    """

    regions: Regions | None = None
    population: Floats | None = None
    published: Ints | None = None
    everyone: Groups | None = None
    guarantee: Guarantee | None = None
    protected: Protected | None = None
    inside: Inside | None = None
    several: SeveralGroups | None = None
    multiplicity: Ints | None = None
    unlinked: UnlinkedRows | None = None
    perturbed: Perturbation | None = None
    register: CountedRegister | None = None

    @property
    def altered_by_chance(self) -> bool:
        """Whether the values that are counted are not people's own, but drawn."""
        return self.perturbed is not None and self.perturbed.by_chance

    def take(self, kept: Ints, total: int) -> Beside:
        """Of some of `total` groups, by their positions."""
        protected = self.protected
        return Beside(
            regions=None if self.regions is None else self.regions.take(kept),
            population=None if self.population is None else self.population[kept],
            published=None if self.published is None else self.published[kept],
            everyone=self.everyone,
            guarantee=self.guarantee,
            protected=None if protected is None else (protected[0], protected[1][kept]),
            inside=None if self.inside is None else self.inside.take(kept),
            several=None if self.several is None else self.several.take(kept, total),
            multiplicity=None if self.multiplicity is None else self.multiplicity[kept],
            unlinked=None if self.unlinked is None else self.unlinked.take(kept),
            perturbed=self.perturbed,
            register=None if self.register is None else self.register.take(kept, self.multiplicity),
        )

    def merge(self, number: Ints, total: int) -> Beside:
        """Of groups put together; what these publish is for their maker to say."""
        if self.multiplicity is not None:
            raise InputError("groups that each stand for many cannot be put together")
        population: Floats | None = None
        unlinked = None if self.unlinked is None else self.unlinked.merge(number, total)
        if self.population is not None and unlinked is not None and unlinked.placed is not None:
            population = unlinked.population(total)
        elif self.population is not None:
            summed_up = np.bincount(number, weights=self.population, minlength=total)
            population = summed_up.astype(np.float64)
        protected = self.protected
        if protected is not None:
            together = np.zeros((total, protected[1].shape[1]), dtype=bool)
            np.logical_or.at(together, number, protected[1])
            protected = protected[0], together
        return Beside(
            population=population,
            published=None if self.published is None else sums_by(number, self.published, total),
            everyone=self.everyone,
            guarantee=self.guarantee,
            protected=protected,
            inside=None if self.inside is None else self.inside.merge(number, total),
            several=None if self.several is None else self.several.merge(number),
            unlinked=unlinked,
            perturbed=self.perturbed,
            register=None if self.register is None else self.register.merge(number, total),
        )
