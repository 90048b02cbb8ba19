"""Mondrian releases by brute force: explicit people, every split, criteria from the definitions.

Nothing here asks a criterion or the search: groups are judged by tests/oracles/criteria_oracle.py,
and whether a split is left is found by trying them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise, product

import sfumato as sf
from sfumato.criteria.base import Criterion
from sfumato.release.description import Regions
from sfumato.release.release import Release
from sfumato.schema.region import Region, Value
from sfumato.table import Table
from tests.oracles import criteria_oracle as oracle


@dataclass(frozen=True)
class Person:
    """Her codes of the quasi-identifiers and her values of the one sensitive column."""

    quasi: tuple[int, ...]
    values: frozenset[int]


Group = list[Person]


def people_of(release: Release) -> list[Group]:
    """Who is in which group, by the release's own private record."""
    placement = release.placement
    assert placement is not None
    counts = placement.counts
    groups: list[Group] = [[] for _ in range(len(release.groups))]
    for place, group, n in zip(placement.tuples, placement.groups, placement.n, strict=True):
        person = Person(tuple(counts.codes[:, place].tolist()), values_of(placement.table, place))
        groups[group] += [person] * int(n)
    return groups


def everybody(table: Table) -> Group:
    counts = table.counts
    return [
        Person(tuple(counts.codes[:, place].tolist()), values_of(table, place))
        for place in range(len(counts))
        for _ in range(counts.n[place])
    ]


def values_of(table: Table, place: int) -> frozenset[int]:
    attribute, code = table.counts.sensitive[0], int(table.counts.values[0, place])
    if attribute.sets is None:
        return frozenset({code})
    held = attribute.sets.members[attribute.sets.offsets[code] : attribute.sets.offsets[code + 1]]
    return frozenset(held.tolist())


# -- criteria -------------------------------------------------------------------------------------


def satisfies(criterion: Criterion, held: Sequence[frozenset[int]], weights: list[int]) -> bool:
    """Whether a group whose people hold these values satisfies a criterion, by its definition."""
    if isinstance(criterion, sf.KAnonymity):
        return oracle.k_anonymous(range(len(held)), criterion.k)
    if isinstance(criterion, sf.AlphaK):
        having = [sum(value in one for one in held) for value in range(len(weights))]
        share = Fraction(max(having), len(held))
        return len(held) >= criterion.k and share <= Fraction(str(criterion.alpha))
    members = [value for one in held for value in one]
    if isinstance(criterion, sf.DistinctDiversity):
        return oracle.distinct_values(members) >= criterion.l
    if isinstance(criterion, sf.EntropyDiversity):
        return oracle.entropy_diverse(members, Fraction(str(criterion.l)))
    if isinstance(criterion, sf.RecursiveDiversity):
        return oracle.recursive_diverse(members, Fraction(str(criterion.c)), criterion.l)
    if isinstance(criterion, sf.BetaLikeness):
        return oracle.beta_like(members, weights, Fraction(str(criterion.beta)), enhanced=False)
    assert isinstance(criterion, sf.TCloseness)
    ordered = criterion.distance == "ordered"
    ground = oracle.ordered_ground(weights) if ordered else oracle.equal_ground(len(weights))
    moved = oracle.earth_mover(
        oracle.distribution(members, len(weights)), oracle.normalized(weights), ground
    )
    return moved <= Fraction(str(criterion.t))


def is_safe(group: Group, require: Sequence[Criterion], weights: list[int]) -> bool:
    held = [person.values for person in group]
    return all(satisfies(criterion, held, weights) for criterion in require)


def weights_of(table: Table) -> list[int]:
    """How many people of the whole table have each value."""
    people = everybody(table)
    size = len(table.counts.sensitive[0].domain)
    return [sum(value in person.values for person in people) for value in range(size)]


# -- splits ---------------------------------------------------------------------------------------


def is_nested(table: Table, column: int) -> bool:
    """Words and masks with a hierarchy fall apart along it; all else is cut between two values."""
    domain = table.counts.quasi[column]
    recipe = table.schema.hierarchies.get(domain.name)
    return recipe is not None and (domain.kind == "categorical" or recipe.kind == "mask")


def all_splits(table: Table, group: Group, require: Sequence[Criterion]) -> Iterator[list[Group]]:
    """Every split of a group that strict Mondrian may make."""
    for column in range(len(table.counts.quasi)):
        first, others = column_splits(table, group, column, require)
        yield from first + others


def column_splits(
    table: Table, group: Group, column: int, require: Sequence[Criterion]
) -> tuple[list[list[Group]], list[list[Group]]]:
    """The splits along one column: those that come first, and the others.

    First the one nearest to half, of equals the lower cut. Where some lack a value that others
    have, first all who lack it apart from the others; else they stay with those above the
    cut, or else below, if on either side as many have it as a group needs.
    """
    if is_nested(table, column):
        return [parts for parts in [_along_hierarchy(table, group, column)] if parts], []
    lacking = [person for person in group if lacks(table, column, person)]
    having = [person for person in group if not lacks(table, column, person)]
    if not lacking or not having:
        found = _cuts(table, group, column)
        return found[:1], found[1:]
    needed = max(2, *(criterion.fewest_people for criterion in require))
    cuts = [cut for cut in _cuts(table, having, column) if min(map(len, cut)) >= needed]
    above = [[below, [*over, *lacking]] for below, over in cuts]
    below = [[[*under, *lacking], over] for under, over in cuts]
    median = _cuts(table, having, column)[:1]
    if not median or cuts[:1] != median:  # the median has too few on one side
        return [[having, lacking]], _nearest_first(table, column, cuts, above, below)
    rest = _nearest_first(table, column, cuts[1:], above[1:], below[1:])
    return [[having, lacking], above[0], below[0]], rest


def lacks(table: Table, column: int, person: Person) -> bool:
    """Whether a person has no value in a column that is cut: NULL is nobody's neighbour there."""
    value = table.counts.quasi[column].values[person.quasi[column]]
    return value is None and not is_nested(table, column)


def _along_hierarchy(table: Table, group: Group, column: int) -> list[Group]:
    for level in reversed(table.levels[table.counts.quasi[column].name].levels):
        parts: dict[int, Group] = {}
        for person in group:
            parts.setdefault(int(level.codes[person.quasi[column]]), []).append(person)
        if len(parts) > 1:
            return list(parts.values())
    return []


def _cuts(table: Table, group: Group, column: int) -> list[list[Group]]:
    """Every cut between two values, the one nearest to half first, of equals the lower one."""
    codes = sorted({person.quasi[column] for person in group})
    found = [
        [
            [person for person in group if person.quasi[column] <= cut],
            [person for person in group if person.quasi[column] > cut],
        ]
        for cut, following in pairwise(codes)
        if is_cut(table, column, cut, following)
    ]
    return sorted(found, key=lambda parts: _rank(table, column, parts))


def _rank(table: Table, column: int, parts: list[Group]) -> tuple[bool, int]:
    below = max(person.quasi[column] for person in parts[0])
    above = min(person.quasi[column] for person in parts[1])
    return is_told_by_one(table, column, below, above), abs(len(parts[0]) - len(parts[1]))


def _nearest_first(
    table: Table, column: int, cuts: list[list[Group]], *ways: list[list[Group]]
) -> list[list[Group]]:
    """Cuts in several ways each: the nearest to half first, of equals all cuts in one way first."""
    ranked = [
        (_rank(table, column, cut), number, place, way[place])
        for number, way in enumerate(ways)
        for place, cut in enumerate(cuts)
    ]
    return [parts for *_, parts in sorted(ranked, key=lambda one: one[:3])]


# -- bounds: which cuts of numbers and dates may be told ------------------------------------------


def is_cut(table: Table, column: int, below: int, above: int) -> bool:
    """Whether a group may be cut between two neighbouring values."""
    if table.counts.quasi[column].kind not in ("numeric", "date"):
        return True
    return any(bounds_in(table, column, code) for code in range(below, above))


def is_told_by_one(table: Table, column: int, below: int, above: int) -> bool:
    """Whether every bound between two codes is the value of exactly one person."""
    domain = table.counts.quasi[column]
    if domain.kind not in ("numeric", "date"):
        return False
    told = [bounds_in(table, column, code) for code in range(below, above)]
    return all(has_one_person(table, column, bound) for bounds in told for bound in bounds)


def bounds_in(table: Table, column: int, code: int) -> list[Value]:
    """The bounds that may be told between a value and the next.

    Of a hierarchy: the ends of its finest labels. Otherwise somewhere in the middle, if two values
    are more than a unit (1, a day, .01 in these tables) apart; else the upper value.
    """
    domain = table.counts.quasi[column]
    low, high = domain.values[code], domain.values[code + 1]
    recipe = table.schema.hierarchies.get(domain.name)
    if recipe is None or recipe.kind == "suppression":
        unit = Fraction(1) if isinstance(high, int | date) else Fraction(1, 100)
        apart = (high - low).days if isinstance(high, date) else Fraction(str(high - low))
        return ["in the middle"] if apart > unit else [high]
    finest = table.levels[domain.name][1]
    left, right = (finest.regions[finest.codes[one]] for one in (code, code + 1))
    return [] if left == right else [left.high, right.low]


def has_one_person(table: Table, column: int, bound: Value) -> bool:
    values, counts = table.counts.quasi[column].values, table.counts
    codes = zip(counts.codes[column].tolist(), counts.n.tolist(), strict=True)
    return sum(n for code, n in codes if values[code] == bound) == 1


def partition(
    table: Table, require: Sequence[Criterion], order: Callable[[int], Sequence[int]]
) -> Iterator[Group]:
    """Strict Mondrian told plainly; `order` gives the order of columns for a group's size.

    First the median (or the hierarchy split) of each column in turn, those without a value
    apart or on either side of it; then each one's other cuts.
    """
    weights = weights_of(table)

    def refine(group: Group) -> Iterator[Group]:
        tried = [column_splits(table, group, column, require) for column in order(len(group))]
        for parts in [p for first, _ in tried for p in first] + [p for _, o in tried for p in o]:
            if all(is_safe(part, require, weights) for part in parts):
                for part in parts:
                    yield from refine(part)
                return
        yield group

    return refine(everybody(table))


# -- regions --------------------------------------------------------------------------------------


def regions_of(release: Release, group: int) -> list[Region]:
    assert isinstance(release.regions, Regions)
    return [
        parts[code]
        for parts, code in zip(release.regions.parts, release.regions.codes[:, group], strict=True)
    ]


def lies_inside(table: Table, person: Person, regions: Sequence[Region]) -> bool:
    return all(
        region.contains(domain.values[code])
        for domain, code, region in zip(table.counts.quasi, person.quasi, regions, strict=True)
    )


def fitting(release: Release, table: Table) -> dict[tuple[Value, ...], int]:
    """For every combination of domain values: how many groups it fits."""
    groups = [regions_of(release, group) for group in range(len(release.groups))]
    found = {}
    for values in product(*(domain.values for domain in table.counts.quasi)):
        found[values] = sum(
            all(region.contains(value) for region, value in zip(regions, values, strict=True))
            for regions in groups
        )
    return found
