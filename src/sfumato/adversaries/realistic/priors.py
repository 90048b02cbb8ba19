"""Sensitive predicates, and the Dirichlet priors a realistic adversary has about them.

Priors: what she believes about the value before the release.

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
(N - 1 + C_g + k). A prior that differs *inside* a group changes p_in itself, since the people of a
group are then no longer alike to her: `cells.py`. An earlier release tells regions
instead of people: c_g(s) are then those of it who may fit, whose regions meet the group's; where
they lie inside it or are apart from it, as with the same hierarchies or finer ones, that is who
fits. Where nobody outside fits a group,
there is no saying what she believes: infinity. Merging two groups merges their priors too, so what
holds before need not hold after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.adversaries.locating.people import people_maybe_inside
from sfumato.adversaries.priors import (
    ByClass,
    EarlierRelease,
    OfTable,
    OutsideTable,
    PriorUse,
    Uniform,
    ValueCounts,
    ValueShares,
    groups_about,
    people_by_value,
)
from sfumato.errors import PolicyError, did_you_mean, quoted
from sfumato.numbers import Bools, Floats, Ints, fraction
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.release import Release
from sfumato.table import Table

# Sensitive predicates: which statements about a person must not become much more believable.
#
# "values": has s, for every single value. A list of sets: has one of these (ulcer or dyspepsia),
# or with {"not": ...} none of them (negative disclosure). "all": every subset of the values, for
# which single values and the complements of single values are enough: the rise of the belief in a
# set is at most the largest of its members', the fall of the doubt at most the largest when only
# one of the values outside it is left outside (for "any shape" the least frequent one). That is
# our finding, not the paper's; the tests enumerate it. All values of the table together are a set
# too: somebody who held others possible learns that nobody has them.
#
# Per person (the paper's Phi(u)): the schema's `protect` column holds a label for each person, and
# {"protect": {label: predicates}} says what each label protects. A group is checked on the union
# of what its members protect.

NOT, PROTECT = "not", "protect"
ListedValues = tuple[tuple[str, ...] | Mapping[str, tuple[str, ...]], ...]
Predicates = str | ListedValues | Mapping[str, Mapping[str, str | ListedValues]]


@dataclass(frozen=True)
class ValuePredicate:
    """A set of values by their codes, or with `negated` all values but these."""

    codes: frozenset[int]
    negated: bool = False

    def count(self, width: int) -> int:
        return width - len(self.codes) if self.negated else len(self.codes)

    def words(self, groups: Groups) -> str:
        named = " or ".join(repr(groups.values[code]) for code in sorted(self.codes))
        return f"not {named}" if self.negated else named


def normal(criterion: str, given: object) -> Predicates:
    """Predicates in their one form; a mistake is answered in one line."""
    if isinstance(given, Mapping) and PROTECT in given:
        by_label = given[PROTECT]
        if len(given) > 1 or not isinstance(by_label, Mapping) or not by_label:
            raise PolicyError(
                f"{criterion}: predicates of 'protect' must be a table: for each label of the "
                "protect column, what it protects"
            )
        return {
            PROTECT: {str(name): _plain(criterion, members) for name, members in by_label.items()}
        }
    if isinstance(given, str) and given == PROTECT:
        raise PolicyError(
            f"{criterion}: predicates = 'protect' does not say what each label of the protect "
            "column protects; give {protect: {label: predicates}}"
        )
    entries = [given] if isinstance(given, Mapping) else given
    if isinstance(entries, Sized) and not isinstance(entries, str) and len(entries) == 0:
        raise PolicyError(
            f"{criterion}: predicates = {quoted(given)} is empty: nothing is protected"
        )
    return _plain(criterion, entries)


def _plain(criterion: str, given: Any) -> str | ListedValues:
    known = given in ("values", "all") if isinstance(given, str) else False
    if not known and not isinstance(given, list | tuple | set | frozenset):
        raise PolicyError(
            f"{criterion}: predicates = {quoted(given)} is not known; use 'values', 'all', or "
            "a list of sets of values"
        )
    return given if isinstance(given, str) else tuple(_entry(criterion, member) for member in given)


def _entry(criterion: str, entry: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if isinstance(entry, Mapping):
        if set(entry) != {NOT}:
            raise PolicyError(
                f"{criterion}: predicates holds {entry!r}; a table there has the one key 'not'"
            )
        return {NOT: _values(criterion, entry[NOT])}
    return _values(criterion, entry)


def _values(criterion: str, entry: Any) -> tuple[str, ...]:
    listed = (entry,) if isinstance(entry, str) else entry
    if not isinstance(listed, list | tuple | set | frozenset) or not listed:
        raise PolicyError(
            f"{criterion}: predicates holds {entry!r}; it must be a value or a set of values"
        )
    return tuple(sorted({str(value) for value in listed}))


def per_person(predicates: Predicates) -> bool:
    """Whether they hang on the schema's protect column."""
    return isinstance(predicates, Mapping)


def asked(predicates: Predicates, groups: Groups) -> list[tuple[ValuePredicate, Bools | None]]:
    """The sets to check, by the codes of the groups' values, and in which groups (None: all)."""
    if not isinstance(predicates, Mapping):
        return [(values, None) for values in _sets(predicates, groups)]
    assert groups.protected is not None
    labels, present = groups.protected
    by_label = predicates[PROTECT]
    masks: dict[ValuePredicate, Bools] = {}
    for place, label in enumerate(labels):
        if label not in by_label:
            raise PolicyError(
                f"predicates of 'protect' do not say what {label!r} protects; give it a list of "
                "sets of values, empty for nothing"
            )
        for values in _sets(by_label[label], groups):
            here = present[:, place]
            masks[values] = masks[values] | here if values in masks else here
    return list(masks.items())


def _sets(predicates: str | ListedValues, groups: Groups) -> list[ValuePredicate]:
    if isinstance(predicates, str):
        all_codes = range(groups.width)
        single = [ValuePredicate(frozenset({code})) for code in all_codes]
        if predicates == "values" or groups.width == 1:
            return single
        others = [ValuePredicate(frozenset({code}), negated=True) for code in all_codes]
        return [*single, *others, ValuePredicate(frozenset(all_codes))]
    codes = {value: code for code, value in enumerate(groups.values)}
    value_predicates = []
    for entry in predicates:
        negated = isinstance(entry, Mapping)
        values = entry[NOT] if isinstance(entry, Mapping) else entry
        for value in values:
            if value not in codes:
                raise PolicyError(
                    f"predicates names {value!r}, not a value of "
                    f"{groups.attribute or 'the sensitive column'!r}; {did_you_mean(value, codes)}"
                )
        value_predicates.append(
            ValuePredicate(frozenset(codes[value] for value in values), negated)
        )
    return value_predicates


def in_question(predicates: Predicates, groups: Groups, group: int) -> Iterator[ValuePredicate]:
    """The sets to check in one group."""
    if not isinstance(predicates, str):
        for values, where in asked(predicates, groups):
            if where is None or where[group]:
                yield values
        return
    low, high = groups.indptr[group], groups.indptr[group + 1]
    for code in groups.indices[low:high].tolist():
        yield ValuePredicate(frozenset({code}))
    if predicates == "all" and groups.width > 1:
        for code in range(groups.width):
            yield ValuePredicate(frozenset({code}), negated=True)
        yield ValuePredicate(frozenset(range(groups.width)))


NAME = "realistic adversary"
SHAPE = PriorUse(
    NAME,
    (Uniform, OfTable, ValueShares, ValueCounts, ByClass, OutsideTable, EarlierRelease),
    word="shape",
    nobody=True,
)


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


def shares_of(
    prior: ValueShares | ValueCounts, values: tuple[str, ...]
) -> tuple[dict[str, Fraction], Fraction | None]:
    """Shares by value and, if they were counts, their stubbornness.

    Of counts a value nobody was seen with has the 1 of no opinion.
    """
    exact = {value: fraction(number) for value, number in prior.weights.items()}
    if isinstance(prior, ValueShares):
        whole = sum(exact.values(), Fraction(0))
        return {value: number / whole for value, number in exact.items()}, None
    seen = {**dict.fromkeys(values, Fraction(0)), **exact}
    total = sum(seen.values(), Fraction(len(seen)))
    return {value: (number + 1) / total for value, number in seen.items()}, total


def by_region(
    groups: Groups,
    outside: Table | Release,
    given: Fraction | None,
    infinite: bool,
    at_most: bool,
) -> RegionalPrior:
    """Count the outside people of each group's region by value."""
    assert groups.regions is not None
    code_of = {value: code for code, value in enumerate(groups.values)}
    people = np.zeros((len(groups), groups.width), dtype=np.int64)
    others = np.zeros(len(groups), dtype=np.int64)
    further = 0
    for value, fitting in _fitting(groups.regions, outside, groups.attribute):
        if value in code_of:
            people[:, code_of[value]] = fitting
        else:
            others += fitting
            further += 1
    return RegionalPrior(people, others, further, given, infinite, at_most)


def _fitting(
    regions: Regions, outside: Table | Release, attribute: str | None
) -> Iterator[tuple[str, Ints]]:
    if isinstance(outside, Table):
        yield from people_by_value(regions, outside, attribute, SHAPE)
        return
    outside_groups = groups_about(outside, attribute, SHAPE)
    maybe = people_maybe_inside(regions, outside, outside_groups)
    for code, value in enumerate(outside_groups.values):
        if maybe[:, code].any():
            yield value, maybe[:, code]
