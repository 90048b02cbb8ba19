"""Groups: people who look alike in a release, and how often each sensitive value occurs there.

B groups by m values, kept sparse (a group shows few of a domain's values), with the number of
individuals of each group and the `case`: whether people have one value each, a set of values or a
multiset (then occurrences are counted, which may be more than people). `reference` holds the
weights that "table" priors and t-closeness refer to: by default the column sums, and the whole
table's counts, suppressed rows included, wherever a search makes the groups. It is fixed across a
search.

Where a release shows each person's values together, as every file of rows does, the groups also
have `lists`: their people by distinct list. Groups are made out of groups in three ways only, and
each keeps all that is known: `take` (some of them), `merge` (put together), `relabel` (other codes
of the same values).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Case
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError
from sfumato.numbers import Floats, Ints
from sfumato.release.lists import Lists
from sfumato.release.several_groups import Headcount, SeveralGroups
from sfumato.release.sparse import SparseCounts, summed
from sfumato.release.stated import check_groups, numbers, whole_numbers
from sfumato.schema.domain import Domain

if TYPE_CHECKING:
    from sfumato.release.guarantee import Guarantee
    from sfumato.release.membership import Inside
    from sfumato.release.regions import Regions


class Groups(SparseCounts):
    """Sparse counts n(g, s) of B groups over m sensitive values.

    For criteria that need them: `regions`; `population`, the summed survey weights; `guarantee`
    of noisy counts; `protected`, the protect column's labels and which of them each group has.
    Where groups share people (wildcard matching), `published` are the people published with each
    group's own description, by default its size, and `everyone` all people as one group: the
    groups do not add up to them.
    """

    regions: Regions | None = None
    population: Floats | None = None
    published: Ints | None = None
    everyone: Groups | None = None
    guarantee: Guarantee | None = None
    protected: tuple[tuple[str, ...], npt.NDArray[np.bool_]] | None = None
    lists: Lists | None = None  # several values, each person's published together
    inside: Inside | None = None  # who is in them, private
    several: SeveralGroups | None = None  # people who are in several of them
    times: Ints | None = None  # how many groups each stands for, where equal ones are told once

    def __init__(
        self,
        counts: npt.ArrayLike,
        values: Sequence[str] | None = None,
        sizes: npt.ArrayLike | None = None,
        reference: npt.ArrayLike | None = None,
        *,
        case: Case | None = None,
        domain: Domain | None = None,
        attribute: str | None = None,
    ) -> None:
        dense = whole_numbers(counts, "counts")
        if dense.ndim != 2:
            raise InputError(f"counts must be groups by values, not of shape {dense.shape}")
        rows, columns = np.nonzero(dense)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
        self._set(
            indptr.astype(np.int64),
            columns.astype(np.int32),
            dense[rows, columns],
            dense.shape[1],
            None if sizes is None else whole_numbers(sizes, "sizes"),
            None if reference is None else numbers(reference, "reference"),
            domain,
            attribute,
            case,
        )
        if self.sizes.shape != (len(self),):
            raise InputError(f"{len(self)} groups but {self.sizes.size} sizes")
        if values is not None:
            self.values = tuple(str(value) for value in values)
        check_groups(self)

    @classmethod
    def from_sparse(
        cls,
        indptr: Ints,
        indices: npt.NDArray[np.int32],
        data: Ints,
        width: int,
        *,
        sizes: Ints | None = None,
        reference: Floats | None = None,
        domain: Domain | None = None,
        attribute: str | None = None,
        case: Case | None = None,
        lists: Lists | None = None,
    ) -> Groups:
        """Groups whose row g holds `data[indptr[g]:indptr[g + 1]]` at `indices` of `width`.

        Trusted and unchecked: searches make these by the thousand.
        """
        groups = cls.__new__(cls)
        groups._set(indptr, indices, data, width, sizes, reference, domain, attribute, case)
        if lists is not None:
            groups.lists = lists
        return groups

    @classmethod
    def of_lists(
        cls,
        groups: Sequence[Sequence[Sequence[str]]],
        values: Sequence[str] | None = None,
        *,
        repeated: bool = False,
    ) -> Groups:
        """Groups of people whose lists of values are published whole: a list for each person.

        `repeated`: a value that somebody has twice counts twice.

        >>> Groups.of_lists([[["HIV", "TB"], ["flu"], []]]).counts_of(0)
        {'HIV': 1, 'TB': 1, 'flu': 1}
        """
        people = [[str(one) for one in listed] for group in groups for listed in group]
        labels = list(values) if values is not None else sorted({v for one in people for v in one})
        code = {label: place for place, label in enumerate(labels)}
        unknown = next((one for listed in people for one in listed if one not in code), None)
        if unknown is not None:
            raise InputError(f"{unknown!r} is in a list, but is not one of the values")
        sizes = np.array([len(group) for group in groups], dtype=np.int64)
        if not len(sizes) or sizes.min() == 0:
            raise InputError("a group must have at least one individual")
        ends = np.concatenate([[0], np.cumsum([len(one) for one in people])]).astype(np.int64)
        members = np.array([code[one] for listed in people for one in listed], dtype=np.int32)
        number, sets = code_sets(ends, members, repeated=repeated)
        group = np.repeat(np.arange(len(sizes)), sizes)
        lists = Lists.of_people(group, len(sizes), number, np.ones_like(group), sets)
        made = cls.from_sparse(
            *lists.by_value(len(labels)),
            len(labels),
            sizes=sizes,
            case="multiset" if repeated else "set",
            lists=lists,
        )
        made.values = tuple(labels)
        return made

    def _set(
        self,
        indptr: Ints,
        indices: npt.NDArray[np.int32],
        data: Ints,
        width: int,
        sizes: Ints | None,
        reference: Floats | None,
        domain: Domain | None,
        attribute: str | None,
        case: Case | None,
    ) -> None:
        self.indptr, self.indices, self.data, self.width = indptr, indices, data, width
        self.domain = domain
        self.attribute = attribute or (domain.name if domain is not None else None)
        if sizes is not None:
            self.sizes = sizes
        if reference is not None:
            self.reference = reference
        if case is not None:
            self.case = case

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The labels of the values."""
        if self.domain is not None:
            return self.domain.labels
        return tuple(str(place) for place in range(self.width))

    @cached_property
    def occurrences(self) -> Ints:
        """How often values occur in each group: its people, unless they have several each."""
        found: Ints = self.sum_of(self.data)
        return found

    @cached_property
    def sizes(self) -> Ints:
        """The individuals of each group."""
        return self.occurrences

    @cached_property
    def case(self) -> Case:
        """Whether people have one value each, a set or a multiset; "set" where nobody said which.

        Whoever makes groups of a table passes the table's: sums cannot tell a person with two
        values beside one with none from two people with one value each.
        """
        if self.occurrences is self.sizes or (self.occurrences == self.sizes).all():
            return "single"
        return "set"

    @cached_property
    def reference(self) -> Floats:
        """The weights that "the whole table" stands for."""
        return self.by_value()

    def by_value(self) -> Floats:
        """How often each value occurs in these groups, or in those they stand for.

        Among everyone where groups share people.
        """
        if self.everyone is not None:
            return self.everyone.by_value()
        data = self.data if self.times is None else self.data * self.times[self.row]
        return np.bincount(self.indices, weights=data, minlength=self.width).astype(np.float64)

    def described(
        self,
        regions: Regions | None,
        population: Floats | None = None,
        guarantee: Guarantee | None = None,
        published: Ints | None = None,
        several: SeveralGroups | None = None,
    ) -> Groups:
        """The same groups with what they publish and whom of the population they stand for."""
        given = (regions, population, published)
        if any(one is not None and len(one) != len(self) for one in given):
            raise InputError(f"regions and population must be those of all {len(self)} groups")
        groups = copy.copy(self)
        groups.regions, groups.population = regions, population
        groups.guarantee, groups.published = guarantee, published
        groups.several = several
        return groups

    def sharing(self, everyone: Groups) -> Groups:
        """The same groups, which share people: everyone of them, as one group."""
        groups = copy.copy(self)
        groups.everyone = everyone
        return groups

    def unreferenced(self) -> Groups:
        """The same groups with their own sums as reference: what the published data tell."""
        groups = copy.copy(self)
        for known in ("reference", "reference_share"):
            groups.__dict__.pop(known, None)
        return groups

    def refer_to(self, reference: Floats) -> Groups:
        """The same groups with these weights as reference."""
        groups = self.unreferenced()
        groups.reference = reference
        return groups

    def take(self, kept: Ints) -> Groups:
        """Some of the groups, by their positions, with the same reference."""
        groups = Groups.from_sparse(
            *self.rows(kept),
            self.width,
            sizes=self.sizes[kept],
            reference=self.reference,
            domain=self.domain,
            attribute=self.attribute,
            case=self.case,
            lists=None if self.lists is None else self.lists.take(kept),
        )
        groups.values, groups.guarantee = self.values, self.guarantee
        groups.regions = None if self.regions is None else self.regions.take(kept)
        groups.population = None if self.population is None else self.population[kept]
        groups.published = None if self.published is None else self.published[kept]
        groups.everyone = self.everyone
        groups.inside = None if self.inside is None else self.inside.take(kept)
        groups.times = None if self.times is None else self.times[kept]
        groups.several = None if self.several is None else self.several.take(kept, len(self))
        if self.protected is not None:
            groups.protected = self.protected[0], self.protected[1][kept]
        return groups

    def merge(self, number: Ints, total: int) -> Groups:
        """Groups put together: group g becomes part of group `number[g]` of `total`.

        What the new groups publish is for their maker to say: they have no `regions`.
        """
        if self.times is not None:
            raise InputError("groups that each stand for many cannot be put together")
        groups = Groups.from_sparse(
            *summed(number[self.row], self.indices, self.data, total, self.width),
            self.width,
            sizes=np.bincount(number, weights=self.sizes, minlength=total).astype(np.int64),
            reference=self.reference,
            domain=self.domain,
            attribute=self.attribute,
            case=self.case,
            lists=None if self.lists is None else self.lists.merge(number, total),
        )
        groups.values, groups.guarantee = self.values, self.guarantee
        if self.population is not None:
            summed_up = np.bincount(number, weights=self.population, minlength=total)
            groups.population = summed_up.astype(np.float64)
        if self.published is not None:
            own = np.bincount(number, weights=self.published, minlength=total)
            groups.published = own.astype(np.int64)
        groups.everyone = self.everyone
        groups.inside = None if self.inside is None else self.inside.merge(number, total)
        groups.several = None if self.several is None else self.several.merge(number)
        if self.protected is not None:
            labels, present = self.protected
            together = np.zeros((total, present.shape[1]), dtype=bool)
            np.logical_or.at(together, number, present)
            groups.protected = labels, together
        return groups

    def everybody(self) -> Groups:
        """All people of all groups, or of those they stand for, as one group."""
        whole, lists = self, self.lists
        if self.everyone is not None:
            return self.everyone
        if self.times is not None:
            whole = copy.copy(self)
            whole.times, whole.data = None, self.data * self.times[self.row]
            whole.sizes, whole.case = self.sizes * self.times, self.case
            whole.lists = None if lists is None else lists.weighted(self.times)
        return whole.merge(np.zeros(len(self), dtype=np.int64), 1)

    def relabel(
        self,
        codes: Ints,
        values: tuple[str, ...],
        domain: Domain | None,
        reference: Floats | None = None,
    ) -> Groups:
        """The same groups with value v at `codes[v]` of `values`; each value that occurs has one.

        `reference` is the new one, by default the column sums.
        """
        groups = Groups.from_sparse(
            self.indptr,
            codes[self.indices].astype(np.int32),
            self.data,
            len(values),
            sizes=self.sizes,
            reference=reference,
            domain=domain,
            attribute=self.attribute,
            case=self.case,
            lists=None if self.lists is None else self.lists.relabel(codes),
        )
        groups.values, groups.guarantee = values, self.guarantee
        groups.regions, groups.population = self.regions, self.population
        groups.protected, groups.inside = self.protected, self.inside
        groups.times, groups.published = self.times, self.published
        groups.several = self.several
        if self.everyone is not None:
            groups.everyone = self.everyone.relabel(codes, values, domain, reference)
        return groups

    def number(self, chosen: npt.NDArray[np.bool_] | None = None) -> int:
        """How many groups there are, or how many of them are chosen."""
        if self.times is None:
            return len(self) if chosen is None else int(np.count_nonzero(chosen))
        return int((self.times if chosen is None else self.times[chosen]).sum())

    def people(self, chosen: npt.NDArray[np.bool_] | None = None) -> int:
        """How many people are in the groups, or in those that are chosen; nobody counts twice.

        The most there may be, where it is not known who is in several of them: `headcount` says so.
        """
        return self.headcount(chosen).number

    def headcount(self, chosen: npt.NDArray[np.bool_] | None = None) -> Headcount:
        """The same, and whether that is known."""
        people = self.own_people if self.times is None else self.own_people * self.times
        if self.several is not None:
            return self.several.count(people, chosen)
        return Headcount(int((people if chosen is None else people[chosen]).sum()))

    @property
    def places(self) -> int:
        """People, one who is in several groups counted in each."""
        people = self.own_people if self.times is None else self.own_people * self.times
        return int(people.sum())

    @property
    def own_people(self) -> Ints:
        """The people published with each group's own description."""
        return self.sizes if self.published is None else self.published

    @property
    def single_valued(self) -> bool:
        """Whether every individual has exactly one value."""
        return self.case == "single"

    @property
    def linked(self) -> bool:
        """Whether each person's several values are published together."""
        return self.lists is not None

    @cached_property
    def having(self) -> Ints:
        """For each stored count how many people have the value; occurrences, if that is all."""
        if self.lists is None or self.case != "multiset":
            return self.data
        indptr, codes, people = self.lists.by_value(self.width, once=True)
        row = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(indptr))
        place = np.searchsorted(row * self.width + codes, self.row * self.width + self.indices)
        found: Ints = people[place]
        return found

    @cached_property
    def share(self) -> Floats:
        """n(g, s) / n(g) for each stored count."""
        return self.data / self.sizes[self.row]

    @cached_property
    def reference_share(self) -> Floats:
        total = self.reference.sum()
        return self.reference / total if total > 0 else self.reference

    def counts_of(self, group: int) -> dict[str, int]:
        """The counts of one group by value."""
        low, high = self.indptr[group], self.indptr[group + 1]
        return {
            self.values[code]: int(n)
            for code, n in zip(self.indices[low:high], self.data[low:high], strict=True)
        }

    def __repr__(self) -> str:
        smallest = int(self.sizes.min()) if len(self) else 0
        return (
            f"{self.number():,} groups of {self.people():,} people, smallest {smallest}, "
            f"{self.width} values"
        )
