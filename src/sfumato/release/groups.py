"""Groups: people who look alike in a release, and how often each sensitive value occurs there.

B groups by m values, kept sparse (a group shows few of a domain's values), with the number of
individuals of each group and the `case`: whether people have one value each, a set of values or a
multiset (then occurrences are counted, which may be more than people). `reference` holds the
weights that "table" priors and t-closeness refer to: by default the column sums, and the whole
table's counts, suppressed rows included, wherever a search makes the groups. It is fixed across a
search.

Where a release shows each person's values together, as every file of rows does, the groups also
have `lists`: their people by distinct list.

Groups are frozen. All that is known of them is given when they are made, what stands `beside` the
counts included. Other groups are made out of them in three ways only, and each keeps all that is
known: `take` (some of them), `merge` (put together), `relabel` (other codes of the same values).
The same groups of which more is known are `with_beside`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Case
from sfumato.counts.value_sets import code_sets
from sfumato.errors import InputError, did_you_mean
from sfumato.numbers import (
    Codes,
    Floats,
    Ints,
    offsets_of,
    rows_of,
    sums_by,
    tallied_offsets,
    weights_given,
    whole_numbers,
)
from sfumato.release.beside import Beside, Headcount, Inside, Protected, SeveralGroups
from sfumato.release.sparse import Lists, SparseCounts, summed
from sfumato.schema.domain import Domain

if TYPE_CHECKING:
    from sfumato.release.description import Regions
    from sfumato.release.guarantee import Guarantee


class Groups(SparseCounts):
    """Sparse counts n(g, s) of B groups over m sensitive values."""

    domain: Domain | None = None
    attribute: str | None = None
    lists: Lists | None = None  # several values, each person's published together
    beside: Beside = Beside()
    given_reference: Floats | None = None

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
        indptr = tallied_offsets(rows, len(dense))
        super().__init__(
            indptr.astype(np.int64),
            columns.astype(np.int32),
            dense[rows, columns],
            dense.shape[1],
            values=None if values is None else tuple(str(value) for value in values),
            sizes=None if sizes is None else whole_numbers(sizes, "sizes"),
            given_reference=None if reference is None else weights_given(reference, "reference"),
            domain=domain,
            attribute=attribute or (domain.name if domain is not None else None),
            case=case,
        )
        if self.sizes.shape != (len(self),):
            raise InputError(f"{len(self)} groups but {self.sizes.size} sizes")
        _check(self)

    @classmethod
    def from_sparse(
        cls,
        indptr: Ints,
        indices: Codes,
        data: Ints,
        width: int,
        *,
        values: tuple[str, ...] | None = None,
        sizes: Ints | None = None,
        reference: Floats | None = None,
        domain: Domain | None = None,
        attribute: str | None = None,
        case: Case | None = None,
        lists: Lists | None = None,
        beside: Beside | None = None,
    ) -> Groups:
        """Groups whose row g holds `data[indptr[g]:indptr[g + 1]]` at `indices` of `width`.

        Trusted and unchecked: searches make these by the thousand.
        """
        groups = cls.__new__(cls)
        SparseCounts.__init__(
            groups,
            indptr,
            indices,
            data,
            width,
            values=values,
            sizes=sizes,
            given_reference=reference,
            domain=domain,
            attribute=attribute or (domain.name if domain is not None else None),
            case=case,
            lists=lists,
            beside=beside,
        )
        return groups

    @classmethod
    def of_sizes(cls, sizes: Ints, beside: Beside | None = None) -> Groups:
        """Groups of which only the people are counted: there is no sensitive attribute."""
        none = np.zeros(len(sizes) + 1, dtype=np.int64)
        nothing = none[:0].astype(np.int32)
        return cls.from_sparse(none, nothing, none[:0], 0, sizes=sizes, beside=beside)

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
        people = [[str(value) for value in listed] for group in groups for listed in group]
        labels = (
            list(values)
            if values is not None
            else sorted({value for person in people for value in person})
        )
        code = {label: place for place, label in enumerate(labels)}
        unknown = next((value for person in people for value in person if value not in code), None)
        if unknown is not None:
            raise InputError(f"{unknown!r} is in a list, but is not one of the values")
        sizes = np.array([len(group) for group in groups], dtype=np.int64)
        if not len(sizes) or sizes.min() == 0:
            raise InputError("a group must have at least one individual")
        ends = offsets_of([len(person) for person in people])
        members = np.array([code[value] for person in people for value in person], dtype=np.int32)
        number, sets = code_sets(ends, members, repeated=repeated)
        group = np.repeat(np.arange(len(sizes)), sizes)
        lists = Lists.of_people(group, len(sizes), number, np.ones_like(group), sets)
        return cls.from_sparse(
            *lists.by_value(len(labels)),
            len(labels),
            values=tuple(labels),
            sizes=sizes,
            case="multiset" if repeated else "set",
            lists=lists,
        )

    # -- what stands beside the counts ------------------------------------------------------------

    @property
    def regions(self) -> Regions | None:
        return self.beside.regions

    @property
    def population(self) -> Floats | None:
        return self.beside.population

    @property
    def published(self) -> Ints | None:
        return self.beside.published

    @property
    def everyone(self) -> Groups | None:
        return self.beside.everyone

    @property
    def guarantee(self) -> Guarantee | None:
        return self.beside.guarantee

    @property
    def protected(self) -> Protected | None:
        return self.beside.protected

    @property
    def inside(self) -> Inside | None:
        return self.beside.inside

    @property
    def multiplicity(self) -> Ints | None:
        return self.beside.multiplicity

    @property
    def several(self) -> SeveralGroups | None:
        return self.beside.several

    @property
    def owners_unknown(self) -> bool:
        """Whether rows are published one by one, and nobody knows whose: sizes are of rows."""
        rows = self.beside.unlinked
        return rows is not None and rows.by_person is None

    @property
    def published_rows(self) -> Ints:
        """The rows of each group: its people, unless theirs are published one by one."""
        rows = self.beside.unlinked
        return self.sizes if rows is None else rows.by_row.sizes

    @property
    def own_people(self) -> Ints:
        """The people published with each group's own description."""
        return self.sizes if self.published is None else self.published

    def with_beside(self, beside: Beside) -> Groups:
        """The same groups, of which this is known besides: `replace(groups.beside, ...)`."""
        given = (beside.regions, beside.population, beside.published)
        if any(figures is not None and len(figures) != len(self) for figures in given):
            raise InputError(f"regions and population must be those of all {len(self)} groups")
        return self._with_beside(beside, self.given_reference)

    def unreferenced(self) -> Groups:
        """The same groups with their own sums as reference: what the published data tell."""
        rows = self.beside.unlinked
        beside = self.beside if rows is None else replace(self.beside, unlinked=rows.unreferenced())
        return self._with_beside(beside, None)

    def _with_beside(self, beside: Beside, reference: Floats | None) -> Groups:
        """The same counts, with all that was worked out from them alone."""
        known = {**vars(self), "beside": beside, "given_reference": reference}
        for derived in ("reference", "reference_share"):
            known.pop(derived, None)
        groups = Groups.__new__(Groups)
        SparseCounts.__init__(groups, **known)
        return groups

    # -- what follows from them -------------------------------------------------------------------

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The labels of the values."""
        if self.domain is not None:
            return self.domain.labels
        return tuple(str(place) for place in range(self.width))

    @cached_property
    def occurrences(self) -> Ints:
        """How often values occur in each group: its people, unless they have several each."""
        sums: Ints = self.sum_of(self.data)
        return sums

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
        return self.by_value() if self.given_reference is None else self.given_reference

    def by_value(self) -> Floats:
        """How often each value occurs in these groups, or in those they stand for.

        Among everyone where groups share people.
        """
        if self.everyone is not None:
            return self.everyone.by_value()
        many = self.multiplicity
        data = self.data if many is None else self.data * many[self.row]
        return np.bincount(self.indices, weights=data, minlength=self.width).astype(np.float64)

    # -- the three ways to other groups -----------------------------------------------------------

    def take(self, kept: Ints) -> Groups:
        """Some of the groups, by their positions, with the same reference."""
        return self._of_same_values(
            self.rows(kept),
            self.sizes[kept],
            None if self.lists is None else self.lists.take(kept),
            self.beside.take(kept, len(self)),
        )

    def merge(self, number: Ints, total: int) -> Groups:
        """Groups put together: group g becomes part of group `number[g]` of `total`.

        What the new groups publish is for their maker to say: they have no `regions`.
        """
        beside = self.beside.merge(number, total)
        placed = None if beside.unlinked is None else beside.unlinked.placed
        return self._of_same_values(
            summed(number[self.row], self.indices, self.data, total, self.width),
            sums_by(number, self.sizes, total) if placed is None else placed.sizes(total),
            None if self.lists is None else self.lists.merge(number, total),
            beside,
        )

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
        everyone = self.everyone
        if everyone is not None:
            everyone = everyone.relabel(codes, values, domain, reference)
        rows = self.beside.unlinked
        rows = rows and rows.relabel(codes, values, domain, reference)
        return Groups.from_sparse(
            self.indptr,
            codes[self.indices].astype(np.int32),
            self.data,
            len(values),
            values=values,
            sizes=self.sizes,
            reference=reference,
            domain=domain,
            attribute=self.attribute,
            case=self.case,
            lists=None if self.lists is None else self.lists.relabel(codes),
            beside=replace(self.beside, everyone=everyone, unlinked=rows),
        )

    def everybody(self) -> Groups:
        """All people of all groups, or of those they stand for, as one group."""
        if self.everyone is not None:
            return self.everyone
        whole, many = self, self.multiplicity
        if many is not None:
            whole = self._of_same_values(
                (self.indptr, self.indices, self.data * many[self.row]),
                self.sizes * many,
                None if self.lists is None else self.lists.weighted(many),
                replace(self.beside, multiplicity=None),
            )
        return whole.merge(np.zeros(len(self), dtype=np.int64), 1)

    def _of_same_values(
        self, cells: tuple[Ints, Codes, Ints], sizes: Ints, lists: Lists | None, beside: Beside
    ) -> Groups:
        """Other groups by the same values, with the same reference."""
        return Groups.from_sparse(
            *cells,
            self.width,
            values=self.values,
            sizes=sizes,
            reference=self.reference,
            domain=self.domain,
            attribute=self.attribute,
            case=self.case,
            lists=lists,
            beside=beside,
        )

    # -- people and values ------------------------------------------------------------------------

    def number(self, chosen: npt.NDArray[np.bool_] | None = None) -> int:
        """How many groups there are, or how many of them are chosen."""
        many = self.multiplicity
        if many is None:
            return len(self) if chosen is None else int(np.count_nonzero(chosen))
        return int((many if chosen is None else many[chosen]).sum())

    def people(self, chosen: npt.NDArray[np.bool_] | None = None) -> int:
        """How many people are in the groups, or in those that are chosen; nobody counts twice.

        The most there may be, where it is not known who is in several of them: `headcount` says so.
        """
        return self.headcount(chosen).number

    def headcount(self, chosen: npt.NDArray[np.bool_] | None = None) -> Headcount:
        """The same, and whether that is known."""
        people = self._people_of_all
        if self.several is not None:
            return self.several.count(people, chosen)
        return Headcount(int((people if chosen is None else people[chosen]).sum()))

    @property
    def fewest_people(self) -> int:
        """No fewer are in the groups: where it is not known who is in several, those of one."""
        whole = self.headcount()
        return int(self.own_people.max(initial=0)) if whole.at_most else whole.number

    @property
    def places(self) -> int:
        """People, one who is in several groups counted in each."""
        return int(self._people_of_all.sum())

    @property
    def _people_of_all(self) -> Ints:
        """The people published with each group's own description, in all that it stands for."""
        many = self.multiplicity
        return self.own_people if many is None else self.own_people * many

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
        row = rows_of(indptr)
        place = np.searchsorted(row * self.width + codes, self.row * self.width + self.indices)
        counted: Ints = people[place]
        return counted

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


# -- groups that somebody states in numbers, checked before anything is judged by them -------------


def _check(groups: Groups) -> None:
    """Refuse labels, sizes, a case or a reference that cannot be those of the counts."""
    if len(groups.values) != groups.width:
        raise InputError(f"{groups.width} columns of counts but {len(groups.values)} value labels")
    if groups.case not in get_args(Case):
        raise InputError(
            f"case {groups.case!r} is not known; {did_you_mean(groups.case, get_args(Case))}"
        )
    fewer = groups.case != "multiset" and bool((groups.largest > groups.sizes).any())
    if len(groups) and (groups.sizes.min() <= 0 or fewer):
        raise InputError(
            "a group must have at least one individual, and no fewer individuals than have "
            "any one value unless case is 'multiset'"
        )
    if groups.case == "single" and (groups.occurrences != groups.sizes).any():
        raise InputError("case 'single': the counts of a group must add up to its size")
    fine = np.isfinite(groups.reference).all() and not (groups.reference < 0).any()
    if groups.reference.shape != (groups.width,) or not fine:
        raise InputError(f"reference must hold {groups.width} non-negative weights")
