"""View: what a utility measure sees of a release of ours and of the table behind it.

An estimate from a region assumes each covered value equally likely (`Shares`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.counts.counts import Counts, TableCounts
from sfumato.errors import InputError, ResourceError
from sfumato.numbers import Bools, Codes, Floats, Ints
from sfumato.release.description import Description, Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.release.summing import spread
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Coverage, Region, cover
from sfumato.table import Table

# Shares: how much of what each region of a column covers has some property.
#
# The one assumption every estimate from a generalized release makes: a person behind a region has
# each of the covered values with equal chance.

_BLOCK_CELLS = 1 << 24


class Shares:
    """Sums over the values each region covers, vectorised over regions with gaps as well."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._gapped = np.array(list(coverage.gaps), dtype=np.int64)
        lists = list(coverage.gaps.values())
        self._codes = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
        lengths = np.array([len(codes) for codes in lists], dtype=np.int64)
        self._starts = np.cumsum(lengths) - lengths

    def total(self, weights: npt.NDArray[np.float64] | Bools) -> Floats:
        """The summed weight of the codes each region covers."""
        running = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
        sums: Floats = running[self._coverage.last + 1] - running[self._coverage.first]
        if len(self._gapped):
            numbers = np.asarray(weights, dtype=np.float64)[self._codes]
            sums[self._gapped] = np.add.reduceat(numbers, self._starts)
        return sums

    def mean(self, weights: npt.NDArray[np.float64] | Bools) -> Floats:
        """The mean weight; of a yes-or-no property, the share of covered values that have it."""
        return self.total(weights) / self._coverage.count


def holders(coverage: Coverage, parts: Ints, codes: Ints) -> Bools:
    """Whether each of these regions (rows) covers each of these codes (columns)."""
    inside: Bools = (coverage.first[parts][:, None] <= codes) & (
        codes <= coverage.last[parts][:, None]
    )
    for row, part in enumerate(parts.tolist() if coverage.gaps else ()):
        if part in coverage.gaps:
            inside[row] = np.isin(codes, coverage.gaps[part])
    return inside


def blocks(length: int, width: int) -> Iterator[slice]:
    """Ranges of rows of which each row takes `width` cells, a comfortable number at a time."""
    step = max(1, _BLOCK_CELLS // max(width, 1))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


@dataclass(frozen=True)
class PeopleByGroup:
    """`n[i]` people of the table's tuple `tuples[i]` are in group `groups[i]`; -1: suppressed."""

    tuples: Ints
    groups: Ints
    n: Ints


@dataclass(frozen=True)
class Tally:
    """`n[i]` people of group `groups[i]` have the sensitive value `values[i]`, of `width` values.

    Sorted by group, then value, each pair once.
    """

    groups: Ints
    values: Ints | Codes
    n: Ints
    width: int

    @classmethod
    def held_by(cls, groups: Groups) -> Tally:
        """What groups of people with one value each hold already, and need not count again."""
        row, values, n = groups.row, groups.indices, groups.data
        same_group = row[1:] == row[:-1]
        if (same_group & (values[1:] < values[:-1])).any():
            order = np.lexsort((values, row))  # of equal groups, in which each stands at its place
            values, n = values[order], n[order]
        return cls(row, values, n, groups.width)

    def look_up(self, groups: Ints, values: Ints) -> Ints:
        """How many people of each of these groups have that value."""
        if len(self.n) == 0:
            return np.zeros(len(groups), dtype=np.int64)
        keys, wanted = self.groups * self.width + self.values, groups * self.width + values
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, self.n[place], 0)


@dataclass(frozen=True)
class PublishedSums:
    """All that is known of groups which are too many for memory: sums over the published ones.

    `margins`: people by the region they are shown with, column after column; `parts`: the regions.
    """

    number: int
    people: int
    squares: float
    margins: Ints
    parts: Sequence[Sequence[Region]]


class View:
    """A release for measuring. Whatever is costly is made when first asked for.

    `disjoint`: no combination of QI values fits two groups. `covering`: everybody's values lie in
    the regions of her group; false where a release publishes centroids or noise, to which measures
    of widening do not apply. Sums are made of whole people, so that they do not depend on the
    order of groups.
    """

    def __init__(
        self,
        counts: TableCounts,
        levels: tuple[Levels, ...],
        regions: Description | Callable[[], Regions],
        sizes: Ints | PublishedSums,
        pieces: Callable[[], PeopleByGroup],
        coverage: Callable[[int], Coverage] | None = None,
        margins: Callable[[], Ints] | None = None,
        tallied: Callable[[], Tally] | None = None,
        *,
        disjoint: bool = False,
        covering: bool = True,
    ) -> None:
        self.counts = counts
        self.levels = levels
        self._regions = regions
        self._sizes = sizes
        self.people = counts.memberships
        published = sizes.people if isinstance(sizes, PublishedSums) else int(sizes.sum())
        self.suppressed = self.people - published
        self.disjoint = disjoint
        self.covering = covering
        self._pieces = pieces
        self._coverage = coverage
        self._margins = margins
        self._tallied = tallied
        self._covered: dict[int, Coverage] = {}

    @property
    def tuples(self) -> Counts:
        """The table's tuples, for measures that compare with everybody's own values."""
        return self.counts.in_memory("comparing a release with everybody's own values")

    @property
    def sizes(self) -> Ints:
        """The people of each group."""
        if isinstance(self._sizes, PublishedSums):
            raise ResourceError(
                f"this needs all {self._sizes.number:,} groups of a release in memory; raise the "
                "memory limit, or name another utility"
            )
        return self._sizes

    @property
    def number(self) -> int:
        """How many groups there are."""
        return self._sizes.number if isinstance(self._sizes, PublishedSums) else len(self._sizes)

    @property
    def squares(self) -> float:
        """The sum over groups of their squared sizes."""
        if isinstance(self._sizes, PublishedSums):
            return self._sizes.squares
        return dot(self.weights, self.weights)

    @property
    def parts(self) -> Sequence[Sequence[Region]]:
        """Of each column, the distinct regions that groups may show."""
        return self._sizes.parts if isinstance(self._sizes, PublishedSums) else self.regions.parts

    @cached_property
    def regions(self) -> Regions:
        return self._regions() if callable(self._regions) else self._regions.require_regions()

    @cached_property
    def pieces(self) -> PeopleByGroup:
        return self._pieces()

    @cached_property
    def weights(self) -> Floats:
        """The sizes of the groups as floats, for sums over people."""
        return self.sizes.astype(np.float64)

    def coverage(self, column: int) -> Coverage:
        """Which domain values each distinct region of a QI column stands for."""
        if self._coverage is not None:
            return self._coverage(column)
        if column not in self._covered:
            self._covered[column] = cover(self.counts.quasi[column], self.regions.parts[column])
        return self._covered[column]

    @cached_property
    def margins(self) -> Ints:
        """How many published people each region is shown of, column after column."""
        if isinstance(self._sizes, PublishedSums):
            return self._sizes.margins
        if self._margins is not None:
            return self._margins()
        regions = self.regions
        people = [
            np.bincount(codes, self.sizes, minlength=len(parts))
            for parts, codes in zip(regions.parts, regions.codes, strict=True)
        ]
        return np.concatenate(people).astype(np.int64)

    def total(self, figures: list[Floats]) -> float:
        """Sum over published people and QI columns of a figure per distinct region."""
        return _weighed(np.concatenate(figures), self.margins)

    def totals(self, figures: list[Floats]) -> list[float]:
        """The same, each column's alone."""
        ends = np.cumsum([len(figure) for figure in figures])
        people = np.split(self.margins, ends[:-1])
        return [_weighed(figure, having) for figure, having in zip(figures, people, strict=True)]

    @property
    def exact(self) -> bool:
        """Whether the release publishes the exact quasi-identifiers of its people."""
        return not callable(self._regions) and self._regions.exact

    @property
    def kept_by_engine(self) -> bool:
        """Whether buckets list more people than fit in memory, so that none can be looked at."""
        return self.exact and not self.counts.fits_memory

    @property
    def points(self) -> bool:
        """Whether groups show a point that their people are near to, and need not have."""
        return not callable(self._regions) and self._regions.centroids

    @property
    def bags(self) -> bool:
        """Whether buckets publish the values of people who have several, and not whose they are."""
        return self.exact and any(a.sets is not None and a.loose for a in self.counts.sensitive)

    @cached_property
    def bag(self) -> Tally:
        """How often each value of the first sensitive attribute occurs in each group."""
        attribute, people = self.counts.sensitive[0], self.tally
        groups, values, n = spread(attribute, people.values, people.groups, people.n)
        return tally(groups, values, n, len(attribute.domain))

    @cached_property
    def tally(self) -> Tally:
        """The published groups' people by their value of the first sensitive attribute."""
        if self._tallied is not None:
            return self._tallied()
        pieces, value = self.pieces, first_values(self.tuples)
        kept = pieces.groups >= 0
        return tally(
            pieces.groups[kept],
            value[pieces.tuples[kept]].astype(np.int64),
            pieces.n[kept],
            first_width(self.counts),
        )


def dot(first: Floats, second: Floats) -> float:
    """The inner product without BLAS, whose threads cost more than they give on such lengths."""
    return float(np.einsum("i,i->", first, second))


def _weighed(figures: Floats, people: Ints) -> float:
    total = dot(figures, people.astype(np.float64))
    if np.isnan(total):  # a region that nobody is shown with may have no figure
        there = np.flatnonzero(people)
        total = dot(figures[there], people[there].astype(np.float64))
    return total


def first_values(counts: Counts) -> Codes:
    """Each tuple's code of the first sensitive attribute; a set of values is one code."""
    return counts.values[0] if counts.sensitive else np.zeros(len(counts), dtype=np.int32)


def first_width(counts: TableCounts) -> int:
    """How many codes the first sensitive attribute has; 1 when there is none."""
    if not counts.sensitive:
        return 1
    return counts.sensitive[0].codes


def tally(groups: Ints, values: Ints, n: Ints, width: int) -> Tally:
    """Sum people by group and value."""
    keys, inverse = np.unique(groups * width + values, return_inverse=True)
    summed = np.bincount(inverse, weights=n, minlength=len(keys)).astype(np.int64)
    group, value = np.divmod(keys, width)
    return Tally(group, value, summed, width)


def view_with_table(release: Release, table: Table) -> View:
    """The view of a release that was read, beside its table; who is in which group is not known."""
    regions, quasi = release.regions.each_region, table.counts.quasi
    names = [domain.name for domain in quasi]
    if regions is None or sorted(names) != sorted(regions.columns):
        raise InputError("the table and the release do not have the same quasi-identifiers")
    order = [regions.columns.index(name) for name in names]
    published = Regions(
        tuple(names), tuple(regions.parts[place] for place in order), regions.codes[order]
    )

    def unknown() -> PeopleByGroup:
        raise InputError("who is in which group of a release that was read is not known")

    return View(
        table.counts,
        tuple(table.levels[name] for name in names),
        published,
        release.groups.published_rows,
        unknown,
        disjoint=release.disjoint,
        covering=release.regions.generalizes,
    )


def view_of(release: Release) -> View:
    """The view of a release of ours; one read from a file has no original to compare with."""
    release = release.by_row or release  # linked rows cost what each of them lost
    placement = release.placement
    if release.regions.noisy:
        raise InputError(
            "a randomised release keeps nothing of its table to compare it with; its notes tell "
            "how far noise moves a count"
        )
    if placement is None:
        raise InputError(
            "utility needs the original table: measure the release that anonymize returned"
        )
    table = placement.table

    def pieces() -> PeopleByGroup:
        known = placement.in_memory("comparing everybody with what is published of her")
        return PeopleByGroup(known.tuples, known.groups, known.n)

    def tallied() -> Tally:
        if not placement.fits_memory and release.groups.multiplicity is None:
            for attribute in table.counts.sensitive[:1]:
                if attribute.sets is None:
                    return Tally.held_by(release.groups_for(attribute.name))
        groups, values, n = placement.published_values("counting what groups publish")
        first = values[0] if len(values) else np.zeros(len(n), dtype=np.int32)
        return tally(groups, first.astype(np.int64), n, first_width(table.counts))

    sizes = release.groups.published_rows
    kinds = release.groups.multiplicity
    return View(
        table.counts,
        tuple(table.levels[domain.name] for domain in table.counts.quasi),
        release.regions,
        sizes if kinds is None else _summed(sizes, kinds),
        pieces,
        tallied=tallied,
        disjoint=release.disjoint,
        covering=release.regions.contains_people,
    )


def _summed(sizes: Ints, multiplicity: Ints) -> PublishedSums:
    """Of groups that each stand for so many: nothing but how many there are, and of what size."""
    none = np.zeros(0, dtype=np.int64)
    squares = dot((sizes * multiplicity).astype(np.float64), sizes.astype(np.float64))
    return PublishedSums(
        int(multiplicity.sum()), int((sizes * multiplicity).sum()), squares, none, ()
    )
