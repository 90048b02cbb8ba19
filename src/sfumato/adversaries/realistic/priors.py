"""Priors: what a realistic adversary believes about the sensitive value before the release.

A prior is a Dirichlet distribution: a shape (the share of each value) and a stubbornness (how much
outside data stands behind it). Shapes a data owner can give: "uniform"; "table", the table's own
distribution; shares that sum to 1; counts, or an earlier release or outside table whose counts are
taken. From counts the paper's recipe makes count + 1 for each value: what somebody believes who
began with no opinion, D(1, ..., 1), and then saw that data; its stubbornness is their sum, the
size of the data plus one for each value. Values only the outside data has keep their weight.

One prior per region. When the outside table has the release's quasi-identifiers, she reads it at
the release's own granularity: of the people who fit a group's region, c_g(s) have s, and her prior
about that group is D(c_g(s) + 1). People of different regions are independent under her prior, and
within a group all have the same one, so a group's people and her outside people of that region are
exchangeable, and each group's formulas hold with its own prior: p_out = (a - 1 + c_g(s) + 1) /
(N - 1 + C_g + k). A prior that differs *inside* a group would change p_in itself, since the people
of a group are then no longer alike to her: that is out of scope. An earlier release tells regions
instead of people: c_g(s) are then those of it who may fit, whose regions meet the group's; where
they lie inside it or are apart from it, as with the same hierarchies or finer ones, that is who
fits. Where nobody outside fits a group,
there is no saying what she believes: infinity. Merging two groups merges their priors too, so what
holds before need not hold after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.adversaries.locating.population import count_behind, people_maybe_inside
from sfumato.adversaries.realistic.predicates import ValuePredicate
from sfumato.errors import PolicyError, did_you_mean, name_some
from sfumato.numbers import Floats, Ints, fraction
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table.load import Table

NAME = "realistic adversary"
_ROUNDING = Fraction(1, 10**9)  # shares written as floats may miss 1 by this much


@dataclass(frozen=True)
class SharedPrior:
    """One prior for all groups.

    `shares` of each value of the groups, None for any shape; `totals`: the stubbornness to try
    (None is infinite), the largest first. Shares sum to less than 1 when the outside data has
    further values.
    """

    width: int
    shares: tuple[Fraction, ...] | None
    totals: tuple[Fraction | None, ...]

    @cached_property
    def floats(self) -> Floats:
        """The shares; and what lies outside each."""
        assert self.shares is not None
        return np.array(
            [[float(p) for p in self.shares], [float(1 - p) for p in self.shares]], dtype=np.float64
        )

    def of(self, group: int) -> SharedPrior:
        """The prior about one group."""
        return self

    def weights(self, values: ValuePredicate, total: Fraction | None) -> tuple[Fraction, Fraction]:
        """Weight inside and outside a set of values, as shares where the total is infinite.

        Of any shape the worst has the least weight inside, 1 for each value.
        """
        if self.shares is None:
            assert total is not None
            many = values.count(self.width)
            inside = Fraction(many) if many < self.width else total
            return inside, total - inside
        scale = Fraction(1) if total is None else total
        share = sum((self.shares[code] for code in values.codes), Fraction(0))
        inside, rest = share * scale, (1 - share) * scale
        return (rest, inside) if values.negated else (inside, rest)


@dataclass(frozen=True)
class RegionalPrior:
    """A prior per group: people outside who fit its region, by value.

    `outside[g, s]` counts them, `others[g]` those with values the groups do not have (`further`
    such values). `given` is a stubbornness to use instead of theirs. `at_most`: smaller ones too.
    """

    outside: Ints
    others: Ints
    further: int
    given: Fraction | None
    infinite: bool
    at_most: bool

    @cached_property
    def covered(self) -> Ints:
        """How many people outside fit each group."""
        people: Ints = self.outside.sum(axis=1) + self.others
        return people

    @cached_property
    def sizes(self) -> Ints:
        """The weight of each group's prior: the people, and one for each value."""
        whole: Ints = self.covered + self.outside.shape[1] + self.further
        return whole

    def of(self, group: int) -> SharedPrior:
        """The prior about one group."""
        counts = self.outside[group].tolist()
        size = int(self.sizes[group])
        shares = tuple(Fraction(c + 1, size) for c in counts)
        total = None if self.infinite else self.given or Fraction(size)
        return SharedPrior(len(counts), shares, totals_of(shares, total, self.at_most))


def totals_of(
    shares: tuple[Fraction, ...], total: Fraction | None, at_most: bool
) -> tuple[Fraction | None, ...]:
    """The stubbornness to check: it and, if smaller ones count, the smallest admissible one.

    "At most sigma" is covered neither by sigma alone nor by infinity (None). Ratios are monotone in
    sigma, so the two ends are enough. Admissible: every value has a weight of at least 1.
    """
    if not at_most:
        return (total,)
    least = 1 / min(share for share in shares if share > 0)
    return (total, least) if total is None or least < total else (total,)


def shares_of(shape: Mapping[str, Any]) -> tuple[dict[str, Fraction], Fraction | None]:
    """Shares by value and, if they were counts, their stubbornness.

    Whole numbers throughout, or any number above 1: counts. Otherwise shares.
    """
    if not shape:
        raise PolicyError(f"{NAME}: shape is empty; give a share or count for each value")
    for value, number in shape.items():
        fine = isinstance(number, int | float | Fraction) and not isinstance(number, bool)
        if not fine or not abs(number) < float("inf"):
            raise PolicyError(f"{NAME}: shape of {value!r} = {number!r} is not a number")
        if number < 0:
            raise PolicyError(
                f"{NAME}: shape of {value!r} = {number!r} is negative; give shares from 0 to 1 or "
                "whole counts"
            )
    exact = {str(value): fraction(number) for value, number in shape.items()}
    whole = all(isinstance(number, int) for number in shape.values())
    if whole or max(exact.values()) > 1:
        broken = [value for value, number in exact.items() if number.denominator != 1]
        if broken:
            raise PolicyError(
                f"{NAME}: shape of {broken[0]!r} = {float(exact[broken[0]]):g} is neither a share "
                "nor a count: numbers above 1 are counts, which are whole"
            )
        total = sum(exact.values(), Fraction(len(exact)))
        return {value: (number + 1) / total for value, number in exact.items()}, total
    total = sum(exact.values(), Fraction(0))
    if abs(total - 1) > _ROUNDING:
        raise PolicyError(
            f"{NAME}: the shares of shape sum to {float(total):.10g}, not to 1; correct them, or "
            "give counts, which are whole numbers"
        )
    return {value: number / total for value, number in exact.items()}, None


def counts_in(outside: Release | Table, attribute: str | None) -> dict[str, int]:
    """How often each value of the attribute occurs in an earlier release or outside table."""
    if isinstance(outside, Table):
        place = outside.counts.sensitive[_place(outside, attribute)]
        if place.sets is not None:
            raise PolicyError(f"{NAME}: people of the outside table have several values each")
        n = outside.counts.by_value(_place(outside, attribute))
        return dict(zip(place.domain.labels, n.tolist(), strict=True))
    groups = _groups_of(outside, attribute)
    # A value that it does not show nobody has read in it.
    counted = zip(groups.values, groups.by_value().astype(np.int64).tolist(), strict=True)
    return {value: n for value, n in counted if n}


def _groups_of(outside: Release, attribute: str | None) -> Groups:
    names = list(outside.by_attribute)
    name = names[0] if attribute is None and len(names) == 1 else attribute
    if name not in names or outside.by_attribute[name].width == 0:
        raise PolicyError(f"{NAME}: the earlier release has no sensitive column {name!r}")
    return outside.by_attribute[name]


def _place(outside: Table, attribute: str | None, who: str = NAME) -> int:
    names = [one.name for one in outside.counts.sensitive]
    name = names[0] if attribute is None and len(names) == 1 else attribute
    if name not in names:
        raise PolicyError(
            f"{who}: the outside table has no sensitive column {name!r}; read it with a schema "
            "that names it"
        )
    return names.index(name)


def check_values(
    shares: Mapping[str, Fraction], values: tuple[str, ...], attribute: str | None
) -> None:
    """An explicit shape names values of the column only."""
    strange = [value for value in shares if value not in set(values)]
    if strange:
        raise PolicyError(
            f"{NAME}: shape names {name_some(strange)}, not a value of "
            f"{attribute or 'the sensitive column'!r}; {did_you_mean(strange[0], values)}"
        )


def by_region(
    groups: Groups,
    outside: Table | Release,
    given: Fraction | None,
    infinite: bool,
    at_most: bool,
) -> RegionalPrior:
    """Count the outside people of each group's region by value."""
    assert groups.regions is not None
    ours = {value: code for code, value in enumerate(groups.values)}
    found = np.zeros((len(groups), groups.width), dtype=np.int64)
    others = np.zeros(len(groups), dtype=np.int64)
    further = 0
    for value, fitting in _fitting(groups.regions, outside, groups.attribute):
        if value in ours:
            found[:, ours[value]] = fitting
        else:
            others += fitting
            further += 1
    return RegionalPrior(found, others, further, given, infinite, at_most)


def _fitting(
    regions: Regions, outside: Table | Release, attribute: str | None
) -> Iterator[tuple[str, Ints]]:
    if isinstance(outside, Table):
        yield from people_by_value(regions, outside, attribute)
        return
    theirs = _groups_of(outside, attribute)
    maybe = people_maybe_inside(regions, outside, theirs)
    for code, value in enumerate(theirs.values):
        if maybe[:, code].any():
            yield value, maybe[:, code]


def people_by_value(
    regions: Regions, outside: Table, attribute: str | None, who: str = NAME
) -> Iterator[tuple[str, Ints]]:
    """Every value of an outside table's attribute, and how many people with it fit each region."""
    place = _place(outside, attribute, who)
    counts = outside.counts.in_memory(f"the outside table of the {who}")
    described = counts.sensitive[place]
    if described.sets is not None:
        raise PolicyError(f"{who}: people of the outside table have several values each")
    codes = counts.values[place]
    for code, value in enumerate(described.domain.labels):
        part = replace(outside, counts=counts.take(np.flatnonzero(codes == code)))
        nobody = len(part.counts) == 0
        yield value, np.zeros(len(regions), np.int64) if nobody else count_behind(regions, part)
