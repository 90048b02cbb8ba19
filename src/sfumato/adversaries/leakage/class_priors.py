"""Priors that differ from class to class: P(T | Q), an estimate of somebody's, or P(T | fewer).

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

import numpy as np

from sfumato.adversaries.realistic.priors import people_by_value
from sfumato.errors import InputError, PolicyError, did_you_mean, name_some
from sfumato.numbers import Floats, Ints, fraction, rows_of, tallied_offsets
from sfumato.release.description import Regions
from sfumato.release.groups import Groups
from sfumato.release.overlap import no_overlap
from sfumato.release.release import Release
from sfumato.schema.region import meaning
from sfumato.table.load import Table

# What an observer expects of each class before she reads the release: distributions of the target.
#
# One for all classes, or one a class: `of[g]` says which row is class g's, -1 that none covers it.
# Rows are kept sparse; they may hold values that no class shows, which she expected in vain.
# Weights are whole numbers wherever they were counted or written down, so that a bound that is met
# exactly can be decided exactly.


@dataclass(frozen=True)
class Expectation:
    """Row r expects value `values[i]` with weight `weights[i]`, i from `indptr[r]` on."""

    of: Ints
    indptr: Ints
    values: Ints
    weights: tuple[int | float, ...] | Ints | Floats

    @cached_property
    def _row(self) -> Ints:
        return rows_of(self.indptr)

    @cached_property
    def shares(self) -> Floats:
        """The weights as shares of their row."""
        weights = np.asarray(self.weights, dtype=np.float64)
        total = np.bincount(self._row, weights=weights, minlength=len(self.indptr) - 1)
        return weights / total[self._row]

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

    def met(self, groups: Groups) -> Floats:
        """The expected share of each stored count's value; 0 where it was not expected."""
        if len(self.indptr) == 2:
            one = np.zeros(max(groups.width, int(self.values.max(initial=-1)) + 1))
            one[self.values] = self.shares
            return one[groups.indices]
        step = max(groups.width, int(self.values.max(initial=-1)) + 1)
        known = self._row * step + self.values
        wanted = self.of[groups.row] * step + groups.indices
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        there = (known[place] == wanted) if len(known) else np.zeros(len(wanted), dtype=bool)
        return np.where(there, self.shares[place], 0.0) if len(known) else there.astype(np.float64)

    def exact(self, row: int) -> dict[int, int]:
        """The weights of one row by value, in whole numbers of the same proportions."""
        low, high = int(self.indptr[row]), int(self.indptr[row + 1])
        weights = [fraction(weight) for weight in self.weights[low:high]]
        scale = lcm(*(weight.denominator for weight in weights))
        found = zip(self.values[low:high].tolist(), weights, strict=True)
        return {value: int(weight * scale) for value, weight in found}


def one_for_all(groups: Groups, weights: Sequence[int] | Floats) -> Expectation:
    """The same distribution for every class: weights by value."""
    listed = np.asarray(weights)
    values = np.flatnonzero(listed > 0)
    nobody = np.zeros(len(groups), dtype=np.int64)
    return Expectation(nobody, np.array([0, len(values)]), values, listed[values])


def by_value(rows: Sequence[Mapping[str, int | float]], of: Ints, groups: Groups) -> Expectation:
    """One distribution a row, by the values' labels; labels no class has count as values too."""
    code = {value: place for place, value in enumerate(groups.values)}
    values: list[int] = []
    weights: list[int | float] = []
    indptr = [0]
    for row in rows:
        kept = [(code.setdefault(v, len(code)), weight) for v, weight in row.items() if weight > 0]
        for place, weight in sorted(kept):
            values.append(place)
            weights.append(weight)
        indptr.append(len(values))
    return Expectation(
        of, np.array(indptr, dtype=np.int64), np.array(values, dtype=np.int64), tuple(weights)
    )


def counted(row: Ints, value: Ints, n: Ints, rows: int, of: Ints) -> Expectation:
    """One distribution a row, from people: n[i] of row[i] have value[i]."""
    step = int(value.max(initial=0)) + 1
    key, inverse = np.unique(row * step + value, return_inverse=True)
    people = np.bincount(inverse, weights=n, minlength=len(key)).astype(np.int64)
    row, value = np.divmod(key, step)
    kept = people > 0
    row, value, people = row[kept], value[kept], people[kept]
    indptr = tallied_offsets(row, rows)
    return Expectation(of, indptr, value, people)


Shares = Mapping[str, int | float]


@dataclass(frozen=True)
class Listed:
    """One entry of a listed prior: a class's cells and its shares.

    Cells are (column, text); no column where they follow the release's own order.
    """

    cells: tuple[tuple[str, str], ...]
    shares: tuple[tuple[str, int | float], ...]


def _narrowed(groups: Groups, columns: Sequence[str], name: str) -> tuple[Regions, Ints]:
    """The distinct cells of some columns, and which of them each group shows."""
    regions = groups.regions
    assert regions is not None
    for column in columns:
        if column not in regions.columns:
            inside = column == groups.attribute
            why = "is the target itself" if inside else "is not a quasi-identifier of the release"
            hint = "" if inside else f"; {did_you_mean(column, regions.columns)}"
            raise InputError(f"{name}: prior: column {column!r} {why}{hint}")
    places = [regions.columns.index(column) for column in columns]
    part = Regions(
        tuple(columns), tuple(regions.parts[place] for place in places), regions.codes[places]
    )
    number, first = part.equal_descriptions()
    return part.take(first), number


def overlap_reason(groups: Groups, columns: Sequence[str], name: str) -> str:
    """Why nobody can say who shows the same cells in these columns; empty when anybody can."""
    cells, _ = _narrowed(groups, columns, name)
    if no_overlap(cells.parts, cells.codes):
        return ""
    return (
        f"cells of {', '.join(columns)} overlap without being equal, so who has the same ones "
        "cannot be told"
    )


def given(groups: Groups, columns: Sequence[str], name: str) -> Expectation:
    """The release's own distribution for everybody with the same cells in fewer columns."""
    cells, of = _narrowed(groups, columns, name)
    return counted(of[groups.row], groups.indices.astype(np.int64), groups.data, len(cells), of)


def listed(groups: Groups, entries: Sequence[Listed], name: str) -> Expectation:
    """The distribution that was listed for each class's cells."""
    assert groups.regions is not None
    named = [column for column, _ in entries[0].cells if column]
    columns = named or groups.regions.columns
    short = next((entry for entry in entries if len(entry.cells) != len(columns)), None)
    if short is not None:
        raise InputError(
            f"{name}: prior: a class lists {len(short.cells)} cells, the release has "
            f"{len(columns)} quasi-identifiers: {', '.join(columns)}"
        )
    cells, of = _narrowed(groups, columns, name)
    place = {}
    for at, entry in enumerate(entries):
        texts = dict(entry.cells) if named else dict(zip(columns, _texts(entry), strict=True))
        place[tuple(texts[column] for column in columns)] = at
    shown = [tuple(cells.describe(at).values()) for at in range(len(cells))]
    entry_of = np.array([place.get(texts, -1) for texts in shown], dtype=np.int64)
    check_values(groups, [value for entry in entries for value, _ in entry.shares], name)
    return by_value([dict(entry.shares) for entry in entries], entry_of[of], groups)


def _texts(entry: Listed) -> list[str]:
    return [text for _, text in entry.cells]


def check_values(groups: Groups, values: Sequence[str], name: str) -> None:
    """A prior somebody wrote down names values of the target only."""
    strange = [value for value in values if value not in set(groups.values)]
    if strange:
        raise PolicyError(
            f"{name}: prior names {name_some(strange[:1])}, not a value of "
            f"{groups.attribute or 'the target'!r}; {did_you_mean(strange[0], groups.values)}"
        )


def outside(groups: Groups, table: Table, name: str) -> Expectation:
    """The people of an outside table who fit each class, by their value."""
    assert groups.regions is not None
    known = {domain.name for domain in table.counts.quasi}
    columns = [column for column in groups.regions.columns if column in known]
    if not columns:
        raise InputError(
            f"{name}: prior: {table.source.label} has none of the quasi-identifiers "
            f"{name_some(groups.regions.columns)}; read it with a schema that names them in quasi"
        )
    cells, of = _narrowed(groups, columns, name)
    code = {value: at for at, value in enumerate(groups.values)}
    found = list(people_by_value(cells, table, groups.attribute, name))
    values = np.array([code.setdefault(value, len(code)) for value, _ in found], dtype=np.int64)
    people = np.concatenate([fitting for _, fitting in found])
    rows = np.tile(np.arange(len(cells)), len(found))
    return _covered(rows, np.repeat(values, len(cells)), people, cells, of)


def earlier(groups: Groups, release: Release, name: str) -> Expectation:
    """The groups of an earlier release that show what each class shows."""
    if release.regions.exact:
        raise InputError(f"{name}: prior: a bucketized release shows no cells to compare")
    theirs = release.regions.require_regions()
    assert groups.regions is not None
    columns = [column for column in groups.regions.columns if column in theirs.columns]
    if not columns:
        raise InputError(
            f"{name}: prior: the earlier release has none of the quasi-identifiers "
            f"{name_some(groups.regions.columns)}"
        )
    cells, of = _narrowed(groups, columns, name)
    before = release.groups_for(groups.attribute or next(iter(release.by_attribute)))
    told, of_theirs = _narrowed(before, columns, name)
    row_of: dict[tuple[object, ...], int] = {}
    for at in range(len(cells)):
        row_of[_meaning(cells, at)] = at
    moved = np.array([row_of.get(_meaning(told, at), -1) for at in range(len(told))])
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
