"""What an observer expects of each class, and what the class leaks: how it differs from that.

One distribution for all classes, or priors that differ from class to class: P(T | Q), an estimate
of somebody's, or P(T | fewer).

*Fewer columns*: she knows the target's age already and has read off how the target attribute is
distributed at that age; what the release adds is what the other columns tell. Counted from the
release itself: all groups that show the same cells in those columns, together. Where such cells
overlap without being equal (Mondrian's often do) nobody can say which groups those are.

*Listed*: a distribution for each class, by the cells it publishes. *Outside table*: the people of
it who fit a class, in the columns it has. *Earlier release*: its groups that show what the class
shows, in the columns both have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.priors import (
    ByClass,
    EarlierRelease,
    FewerColumns,
    OfTable,
    OutsideTable,
    PriorNumber,
    PriorUse,
    Uniform,
    ValueCounts,
    ValueShares,
    check_values,
    groups_about,
    people_by_value,
)
from sfumato.errors import InputError, did_you_mean, name_some
from sfumato.numbers import Floats, Ints, fraction, rows_of, sums_by, tallied_offsets
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.overlap import no_overlap
from sfumato.release.release import Release
from sfumato.schema.region import meaning
from sfumato.table import Table

NAME = "observer"
OBSERVER = PriorUse(
    NAME,
    (
        OfTable,
        Uniform,
        ValueShares,
        ValueCounts,
        FewerColumns,
        ByClass,
        OutsideTable,
        EarlierRelease,
    ),
)

# What an observer expects of each class before she reads the release: distributions of the target,
# one for all classes, or one a class. Rows are kept sparse; they may hold values that no class
# shows, which she expected in vain. Weights are whole numbers wherever they were counted or written
# down, so that a bound that is met exactly can be decided exactly.


@dataclass(frozen=True)
class Distributions:
    """Row r gives value `values[i]` the weight `weights[i]`, i from `indptr[r]` on, ascending."""

    indptr: Ints
    values: npt.NDArray[np.integer[Any]]
    weights: tuple[PriorNumber, ...] | Ints | Floats

    @cached_property
    def _row(self) -> Ints:
        return rows_of(self.indptr)

    @cached_property
    def shares(self) -> Floats:
        """The weights as shares of their row."""
        weights = np.asarray(self.weights, dtype=np.float64)
        return weights / self._sum(weights)[self._row]

    def _sum(self, numbers: Floats) -> Floats:
        summed = np.bincount(self._row, weights=numbers, minlength=len(self.indptr) - 1)
        return summed.astype(np.float64)

    @cached_property
    def squares(self) -> Floats:
        """The sum of each row's squared shares."""
        return self._sum(self.shares**2)

    @cached_property
    def support(self) -> Floats:
        """How many values each row expects."""
        return self._sum(np.ones(len(self.shares)))

    @cached_property
    def entropy(self) -> Floats:
        """The entropy of each row, in bits."""
        return self._sum(-self.shares * np.log2(self.shares))

    @cached_property
    def _width(self) -> int:
        return int(self.values.max(initial=-1)) + 1

    @cached_property
    def _keys(self) -> Ints:
        """Row and value as one number, ascending."""
        return self._row * self._width + self.values

    def shares_of(self, row: Ints, value: npt.NDArray[np.integer[Any]]) -> Floats:
        """The share of a value in a row, pair by pair; 0 where the row has it not."""
        keys = self._keys
        if not len(keys):
            return np.zeros(len(row))
        wanted = row * self._width + value
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = (keys[place] == wanted) & (value < self._width)
        return np.where(there, self.shares[place], 0.0)

    def of_row(self, row: int, width: int) -> Floats:
        """The shares of one row, of at least so many values."""
        low, high = int(self.indptr[row]), int(self.indptr[row + 1])
        shares = np.zeros(max(width, self._width))
        shares[self.values[low:high]] = self.shares[low:high]
        return shares

    def exact(self, row: int) -> dict[int, int]:
        """The weights of one row by value, in whole numbers of the same proportions."""
        low, high = int(self.indptr[row]), int(self.indptr[row + 1])
        weights = [fraction(weight) for weight in self.weights[low:high]]
        scale = lcm(*(weight.denominator for weight in weights))
        weighed = zip(self.values[low:high].tolist(), weights, strict=True)
        return {value: int(weight * scale) for value, weight in weighed}


@dataclass(frozen=True)
class Expectation:
    """Class g is expected to show row `of[g]` of the distributions; -1: none covers it."""

    of: Ints
    rows: Distributions

    def met(self, groups: Groups) -> Floats:
        """The expected share of each stored count's value; 0 where it was not expected."""
        if len(self.rows.indptr) == 2:
            expected: Floats = self.rows.of_row(0, groups.width)[groups.indices]
            return expected
        return self.rows.shares_of(self.of[groups.row], groups.indices)

    def exact(self, group: int) -> dict[int, int]:
        """What is expected of one class, in whole numbers of the same proportions."""
        return self.rows.exact(int(self.of[group]))


def one_for_all(classes: int, rows: Distributions) -> Expectation:
    """The same distribution for every class."""
    return Expectation(np.zeros(classes, dtype=np.int64), rows)


def weighted(weights: Sequence[float] | Ints | Floats) -> Distributions:
    """One distribution: weights by value."""
    listed = np.asarray(weights)
    values = np.flatnonzero(listed > 0)
    return Distributions(np.array([0, len(values)]), values, listed[values])


# What every class leaks: the one place where both leakages are computed.

_ROUNDING = 1e-13  # equal entropies summed in different order


@dataclass(frozen=True)
class Leakage:
    """Both leakages of every class; infinite where no prior covers the class.

    `squared` is the square of the distribution leakage, `ruled_out` the number of values she
    expected and nobody in the class has.
    """

    squared: Floats
    entropy: Floats
    ruled_out: Floats

    @cached_property
    def distribution(self) -> Floats:
        return np.sqrt(self.squared)


def leakage(groups: Groups, expected: Expectation) -> Leakage:
    """What every class leaks about the groups' attribute.

    Summed over the values a class shows; what she expected in vain adds its squares, and where
    there is nothing of it, exactly nothing.
    """
    a, x = expected.met(groups), groups.share
    rows, of = expected.rows, expected.of

    def summed(terms: Floats) -> Floats:
        # Faster than `sum_of` where classes are small, and they are many then.
        return np.bincount(groups.row, terms, minlength=len(groups)).astype(np.float64, copy=False)

    squared, negative = summed((x - a) ** 2), summed(x * np.log2(x))
    hits = groups.distinct if a.min(initial=1) > 0 else summed((a > 0).astype(np.float64))
    absent = rows.support[of] - hits
    if absent.any():
        squared += np.where(absent > 0, np.maximum(rows.squares[of] - summed(a * a), 0.0), 0.0)
    entropy = np.abs(rows.entropy[of] + negative)
    entropy[entropy < _ROUNDING] = 0.0
    unknown = of < 0
    if unknown.any():
        squared[unknown] = entropy[unknown] = np.inf
        absent[unknown] = 0
    return Leakage(squared, entropy, absent)


def by_value(rows: Sequence[Mapping[str, PriorNumber]], of: Ints, groups: Groups) -> Expectation:
    """One distribution a row, by the values' labels; labels no class has count as values too."""
    code = {value: place for place, value in enumerate(groups.values)}
    values: list[int] = []
    weights: list[PriorNumber] = []
    indptr = [0]
    for row in rows:
        kept = [(code.setdefault(v, len(code)), weight) for v, weight in row.items() if weight > 0]
        for place, weight in sorted(kept):
            values.append(place)
            weights.append(weight)
        indptr.append(len(values))
    ends = np.array(indptr, dtype=np.int64)
    return Expectation(of, Distributions(ends, np.array(values, dtype=np.int64), tuple(weights)))


def counted(row: Ints, value: Ints, n: Ints, rows: int, of: Ints) -> Expectation:
    """One distribution a row, from people: n[i] of row[i] have value[i]."""
    step = int(value.max(initial=0)) + 1
    key, inverse = np.unique(row * step + value, return_inverse=True)
    people = sums_by(inverse, n, len(key))
    row, value = np.divmod(key, step)
    kept = people > 0
    row, value, people = row[kept], value[kept], people[kept]
    return Expectation(of, Distributions(tallied_offsets(row, rows), value, people))


# Priors that differ from class to class.


def _narrowed(groups: Groups, columns: Sequence[str]) -> tuple[Regions, Ints]:
    """The distinct cells of some columns, and which of them each group shows."""
    regions = groups.regions
    assert regions is not None
    for column in columns:
        if column not in regions.columns:
            inside = column == groups.attribute
            why = "is the target itself" if inside else "is not a quasi-identifier of the release"
            hint = "" if inside else f"; {did_you_mean(column, regions.columns)}"
            raise InputError(f"{NAME}: prior: column {column!r} {why}{hint}")
    places = [regions.columns.index(column) for column in columns]
    part = Regions(
        tuple(columns), tuple(regions.parts[place] for place in places), regions.codes[places]
    )
    number, first = part.equal_descriptions()
    return part.take(first), number


def overlap_reason(groups: Groups, columns: Sequence[str]) -> str:
    """Why nobody can say who shows the same cells in these columns; empty when anybody can."""
    cells, _ = _narrowed(groups, columns)
    if no_overlap(cells.parts, cells.codes):
        return ""
    return (
        f"cells of {', '.join(columns)} overlap without being equal, so who has the same ones "
        "cannot be told"
    )


def given(groups: Groups, columns: Sequence[str]) -> Expectation:
    """The release's own distribution for everybody with the same cells in fewer columns."""
    cells, of = _narrowed(groups, columns)
    return counted(of[groups.row], groups.indices.astype(np.int64), groups.data, len(cells), of)


def listed(groups: Groups, prior: ByClass) -> Expectation:
    """The distribution that was listed for each class's cells."""
    assert groups.regions is not None
    entries = prior.classes
    named = [column for column, _ in entries[0].cells if column]
    columns = named or groups.regions.columns
    short = next((entry for entry in entries if len(entry.cells) != len(columns)), None)
    if short is not None:
        raise InputError(
            f"{NAME}: prior: a class lists {len(short.cells)} cells, the release has "
            f"{len(columns)} quasi-identifiers: {', '.join(columns)}"
        )
    cells, of = _narrowed(groups, columns)
    place = {}
    for at, entry in enumerate(entries):
        texts = [text for _, text in entry.cells]
        by_column = dict(entry.cells) if named else dict(zip(columns, texts, strict=True))
        place[tuple(by_column[column] for column in columns)] = at
        check_values(entry.shares, groups.values, groups.attribute, OBSERVER)
    published = [tuple(cells.describe(at).values()) for at in range(len(cells))]
    entry_of = np.array([place.get(texts, -1) for texts in published], dtype=np.int64)
    return by_value([entry.shares.weights for entry in entries], entry_of[of], groups)


def in_shares(groups: Groups, prior: ValueShares | ValueCounts) -> Expectation:
    """The distribution that was given, for every class."""
    check_values(prior, groups.values, groups.attribute, OBSERVER)
    return by_value([prior.weights], np.zeros(len(groups), dtype=np.int64), groups)


def outside(groups: Groups, table: Table) -> Expectation:
    """The people of an outside table who fit each class, by their value."""
    assert groups.regions is not None
    known = {domain.name for domain in table.counts.quasi}
    columns = [column for column in groups.regions.columns if column in known]
    if not columns:
        raise InputError(
            f"{NAME}: prior: {table.source.label} has none of the quasi-identifiers "
            f"{name_some(groups.regions.columns)}; read it with a schema that names them in quasi"
        )
    cells, of = _narrowed(groups, columns)
    code = {value: at for at, value in enumerate(groups.values)}
    people_of_values = list(people_by_value(cells, table, groups.attribute, OBSERVER))
    values = np.array(
        [code.setdefault(value, len(code)) for value, _ in people_of_values], dtype=np.int64
    )
    people = np.concatenate([fitting for _, fitting in people_of_values])
    rows = np.tile(np.arange(len(cells)), len(people_of_values))
    return _covered(rows, np.repeat(values, len(cells)), people, cells, of)


def earlier(groups: Groups, release: Release) -> Expectation:
    """The groups of an earlier release that show what each class shows."""
    if release.regions.exact:
        raise InputError(f"{NAME}: prior: a bucketized release shows no cells to compare")
    earlier_regions = release.regions.require_regions()
    assert groups.regions is not None
    columns = [column for column in groups.regions.columns if column in earlier_regions.columns]
    if not columns:
        raise InputError(
            f"{NAME}: prior: the earlier release has none of the quasi-identifiers "
            f"{name_some(groups.regions.columns)}"
        )
    cells, of = _narrowed(groups, columns)
    before = groups_about(release, groups.attribute, OBSERVER)
    narrowed, of_theirs = _narrowed(before, columns)
    row_of: dict[tuple[object, ...], int] = {}
    for at in range(len(cells)):
        row_of[_meaning(cells, at)] = at
    moved = np.array([row_of.get(_meaning(narrowed, at), -1) for at in range(len(narrowed))])
    row = moved[of_theirs[before.row]]
    code = {value: at for at, value in enumerate(groups.values)}
    code_of = np.array([code.setdefault(value, len(code)) for value in before.values])
    kept = row >= 0
    return _covered(
        row[kept], code_of[before.indices[kept]], before.data[kept].astype(np.int64), cells, of
    )


def _meaning(cells: Regions, at: int) -> tuple[object, ...]:
    return tuple(
        meaning(parts[code]) for parts, code in zip(cells.parts, cells.codes[:, at], strict=True)
    )


def _covered(row: Ints, value: Ints, people: Ints, cells: Regions, of: Ints) -> Expectation:
    """Rows from people; a class whose cells nobody fits has none."""
    fitting = np.bincount(row, weights=people, minlength=len(cells))
    return counted(row, value, people, len(cells), np.where(fitting[of] > 0, of, -1))
