"""Priors that differ inside a group (Machanavajjhala, Gehrke, Goetz, VLDB 2009, the first item of
their future work): one Dirichlet prior for each cell of quasi-identifiers.

She knows how the value is distributed among men and how among women, and reads a group of both. Its
people are then no longer alike to her: p_in is not the group's share any more, since the histogram
also tells how its values are likely to lie between the cells.

Derivation. Cell c has n_c of the group's people; their values are drawn from an unknown
distribution about which she has the prior D(w_c), cells independent of each other. How often each
value occurs in a cell, k_c, has the Dirichlet-multinomial probability

    P(k)  proportional to  product over s of  w(s) (w(s) + 1) ... (w(s) + k(s) - 1) / k(s)!

and she sees h, the sum of all k_c. With everybody's row in the release a target of cell a, who is
like all others of that cell, has s with

    p_in(s) = sum of k_a(s) / n_a times the product of all P(k_c)  /  sum of the products,

both over all ways to divide h among the cells. With the target's row left out (who has s') the
others show h less s', n_a - 1 of them in cell a, and by the next draw of her urn

    p_out(s) = sum of (w_a(s) + k_a(s)) / (W_a + n_a - 1) times the product / sum of the products.

Infinite weight: p^k in the place of the rising factors, and p_out is her share p_a(s). With one
cell this is the paper's formula. Counting: the product of all cells but the target's is a
convolution over arrays of one axis a value that the group shows, which factorises by value; leaving
out each cell in turn halves the list again and again. So the cost of a group is its states, the
product of h(s) + 1, times its people: `MOST_STATES` is the limit, and groups of more in which cells
are mixed are not judged.

What is measured is the largest ratio over every cell and every value that the group shows: whoever
of the group has which value is not published, so each table that fits is reckoned with.

A stubbornness is exactly the one given: whether "at most" is covered by two ends is shown for one
prior only. People she knows outright, and values she rules out, are not combined with cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.adversaries.priors import (
    ByClass,
    OutsideTable,
    ValueCounts,
    ValueShares,
    check_values,
    values_of,
)
from sfumato.adversaries.realistic.priors import (
    NAME,
    SHAPE,
    Predicates,
    ValuePredicate,
    in_question,
    shares_of,
)
from sfumato.adversaries.realistic.ratios import Binding, Shift
from sfumato.counts.counts import Counts, rank_rows
from sfumato.errors import InputError, did_you_mean, name_some
from sfumato.numbers import Bools, Floats, Ints
from sfumato.release.groups import Groups

MOST_STATES = 50_000  # of one group in which cells are mixed
_EXACT_WORK = 100_000  # states times people: beyond, fractions take too long (half a second), and
# what floats cannot decide is unsafe
_MOST_PEOPLE = 5_000  # of such a group: e to the power of them is still a long float
NumberArray = npt.NDArray[Any]
CellTexts = tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """Her prior about the people of one cell: weights by value, and of all values together.

    `total` None is infinite; weights are shares then. Values only she knows of are in the total.
    """

    weights: tuple[Fraction, ...]
    total: Fraction | None

    def factors(self, code: int, most: int, people: int, *, exact: bool) -> NumberArray:
        """What k of a cell's people with a value weigh: rising factors over k!, scaled.

        The same scale for each person changes nothing but how large floats become.
        """
        scale = Fraction(people, 1 if self.total is None else self.total + people)
        weight: Any = self.weights[code] * scale
        step: Any = 0 if self.total is None else scale
        factors: list[Any] = [Fraction(1)]
        if not exact:
            weight, step, factors = float(weight), float(step), [np.longdouble(1)]
        for k in range(most):
            factors.append(factors[-1] * (weight + k * step) / (k + 1))
        return np.array(factors, dtype=object if exact else np.longdouble)

    def next(self, seen: dict[int, Any], people: int) -> tuple[NumberArray, Any]:
        """Her belief in each value of one more person, `seen` of so many; and in all others."""
        many = sum(self.weights, Fraction(0))
        if self.total is None:
            return np.array(self.weights, dtype=object), 1 - many
        whole = self.total + people
        weighed = [(w + seen.get(code, 0)) / whole for code, w in enumerate(self.weights)]
        return np.array(weighed, dtype=object), (self.total - many) / whole


@dataclass(frozen=True)
class TargetBelief:
    """What she believes of a target whose own value is `own`, by value: with the row and without.

    `elsewhere` is what she gives to values the table has not, without the row. `possible`: she held
    possible what she sees.
    """

    cell: Cell
    own: int
    p_in: NumberArray
    p_out: NumberArray
    elsewhere: Any
    possible: bool = True

    def shift(self, member: Bools, *, negated: bool) -> Shift:
        """What the row does to her belief in a set of values.

        `negated`: all but some values, so that those the table has not are in it.
        """
        believed, without = self.p_in[member].sum(), self.p_out[member].sum()
        doubted, before = self.p_in[~member].sum(), self.p_out[~member].sum()
        if negated:
            without += self.elsewhere
        else:
            before += self.elsewhere
        ratios = {"R1": _ratio(believed, without), "R2": _ratio(before, doubted)}
        ratio = "R1" if ratios["R1"] >= ratios["R2"] else "R2"
        largest = inf if not self.possible else max(ratios[ratio], 1)
        epsilon = None if largest == inf else Fraction(largest)
        return Shift(epsilon, ratio, Fraction(believed), Fraction(without))


def _ratio(top: Any, bottom: Any) -> Any:
    return 1 if top == 0 else inf if bottom == 0 else top / bottom


@dataclass(frozen=True)
class CellPrior:
    """`cell_of[t]` is the cell of tuple t of the table's counts; -1: her prior covers it not."""

    cell_of: Ints
    cells: tuple[Cell, ...]

    def people(self, groups: Groups, group: int) -> dict[int, int]:
        """How many of a group's people are in each cell."""
        assert groups.inside is not None
        low, high = groups.inside.indptr[group], groups.inside.indptr[group + 1]
        cells, at = np.unique(self.cell_of[groups.inside.tuples[low:high]], return_inverse=True)
        n = np.bincount(at, groups.inside.n[low:high]).astype(np.int64)
        return dict(zip(cells.tolist(), n.tolist(), strict=True))

    def covered(self, groups: Groups) -> Bools:
        """Groups of which her prior covers everybody."""
        fine = [-1 not in self.people(groups, group) for group in range(len(groups))]
        return np.array(fine, dtype=bool)

    def too_large(self, groups: Groups) -> int:
        """How many groups in which cells are mixed have more states than can be counted."""
        states = groups.sum_of(np.log1p(groups.data.astype(np.float64)))
        many = (states > np.log(MOST_STATES) + 1e-9) | (groups.sizes > _MOST_PEOPLE)
        large = np.flatnonzero(many).tolist()
        return sum(len(self.people(groups, group)) > 1 for group in large)

    def beliefs(self, groups: Groups, group: int, *, exact: bool = False) -> list[TargetBelief]:
        """What she believes of each kind of target in a group, by cell and own value."""
        low, high = groups.indptr[group], groups.indptr[group + 1]
        counts = dict(
            zip(groups.indices[low:high].tolist(), groups.data[low:high].tolist(), strict=True)
        )
        cells = [(self.cells[cell], n) for cell, n in self.people(groups, group).items()]
        if len(cells) == 1:
            return list(_alone(*cells[0], counts, groups.width))
        first = {kind: at for at, kind in reversed(list(enumerate(cells)))}
        ways = _Ways(counts, cells, exact)
        return [
            belief
            for at, others in ways.leaving_out(set(first.values()))
            for belief in _mixed(*cells[at], others, counts, groups.width, exact=exact)
        ]

    def epsilons(self, groups: Groups, predicates: Predicates) -> Floats:
        """The smallest epsilon of each group; infinite where her prior covers somebody not."""
        measured = np.full(len(groups), inf)
        for group in np.flatnonzero(self.covered(groups)).tolist():
            binding = self.binding(groups, group, predicates)
            needed = Fraction(1) if binding is None else binding.shift.epsilon
            measured[group] = inf if needed is None else float(needed)
        return measured

    def compare(self, groups: Groups, group: int, predicates: Predicates, bound: Fraction) -> int:
        """The exact sign of the smallest epsilon less a bound; above it where that is too much."""
        if not small(groups, group):
            return 1
        binding = self.binding(groups, group, predicates, exact=True)
        needed = Fraction(1) if binding is None else binding.shift.epsilon
        return 1 if needed is None else (needed > bound) - (needed < bound)

    def binding(
        self, groups: Groups, group: int, predicates: Predicates, *, exact: bool = False
    ) -> Binding | None:
        """The target and set of values that bind in a group; None if nobody has any set."""
        sets = list(in_question(predicates, groups, group))
        members = [_member(values, groups.width) for values in sets]
        worst: Binding | None = None
        for belief in self.beliefs(groups, group, exact=exact):
            for values, member in zip(sets, members, strict=True):
                shift = belief.shift(member, negated=values.negated)
                if worst is None or shift.order > worst.shift.order:
                    unseen = not belief.possible
                    worst = Binding(group, values, shift, belief.cell.total, impossible=unseen)
        return worst

    def by_count(self, groups: Groups) -> tuple[Floats, Floats]:
        """p_out and p_in of each stored count, of a target who has it where she is moved most."""
        before, after = np.ones(len(groups.data)), np.ones(len(groups.data))
        for group in np.flatnonzero(self.covered(groups)).tolist():
            beliefs = self.beliefs(groups, group)
            for place in range(groups.indptr[group], groups.indptr[group + 1]):
                code = int(groups.indices[place])
                own_beliefs = [
                    (float(b.p_out[code]), float(b.p_in[code])) for b in beliefs if b.own == code
                ]
                moved = [max(_ratio(i, o), _ratio(1 - o, 1 - i)) for o, i in own_beliefs]
                before[place], after[place] = own_beliefs[int(np.argmax(moved))]
        return before, after


def small(groups: Groups, group: int) -> bool:
    """Whether fractions can count a group: they grow with its people, in each of its states."""
    low, high = groups.indptr[group], groups.indptr[group + 1]
    states: int = prod(n + 1 for n in groups.data[low:high].tolist())
    return states * int(groups.sizes[group]) <= _EXACT_WORK


def _member(values: ValuePredicate, width: int) -> Bools:
    member = np.full(width, values.negated)
    member[list(values.codes)] = not values.negated
    return member


# -- how values may lie between cells --------------------------------------------------------------


def _alone(cell: Cell, people: int, counts: dict[int, int], width: int) -> Iterator[TargetBelief]:
    """A group of one cell: everybody is alike, and its counts are the cell's."""
    p_in = np.array([Fraction(counts.get(code, 0), people) for code in range(width)], dtype=object)
    for own in counts:
        rest = {code: n - (code == own) for code, n in counts.items()}
        possible = all(cell.weights[code] > 0 for code in counts)
        yield TargetBelief(cell, own, p_in, *cell.next(rest, people - 1), possible)


@dataclass(frozen=True)
class _Ways:
    """The weights of all ways in which cells may make up `counts`: an axis a value, up to its n."""

    counts: dict[int, int]
    cells: Sequence[tuple[Cell, int]]
    exact: bool

    @property
    def _box(self) -> tuple[int, ...]:
        return tuple(n + 1 for n in self.counts.values())

    @cached_property
    def _people(self) -> Ints:
        """How many people each of the counts is of."""
        return np.asarray(np.indices(self._box).sum(axis=0))

    def leaving_out(self, wanted: set[int]) -> Iterator[tuple[int, NumberArray]]:
        """For each wanted cell what all others make up together."""
        nobody = np.zeros(self._box, dtype=object if self.exact else np.longdouble)
        nobody[(0,) * len(self.counts)] = Fraction(1) if self.exact else 1.0
        yield from self._halves(list(range(len(self.cells))), wanted, nobody, 0)

    def _halves(
        self, cells: list[int], wanted: set[int], ways: NumberArray, people: int
    ) -> Iterator[tuple[int, NumberArray]]:
        if len(cells) == 1:
            yield cells[0], ways
            return
        middle = len(cells) // 2
        for half, other_half in (
            (cells[:middle], cells[middle:]),
            (cells[middle:], cells[:middle]),
        ):
            if wanted.isdisjoint(half):
                continue
            made, counted = ways, people
            for at in other_half:
                counted += self.cells[at][1]
                made = self._with(made, at, counted)
            yield from self._halves(half, wanted, made, counted)

    def _with(self, ways: NumberArray, at: int, people: int) -> NumberArray:
        """One more cell: a convolution along every value; kept is what has all people so far."""
        cell, many = self.cells[at]
        for axis, (code, n) in enumerate(self.counts.items()):
            factors = cell.factors(code, min(n, many), many, exact=self.exact)
            before = np.moveaxis(ways, axis, 0)
            after = before * factors[0]
            for k in range(1, len(factors)):
                after[k:] += before[:-k] * factors[k]
            ways = np.moveaxis(after, 0, axis)
        return np.where(self._people == people, ways, ways.flat[0] * 0)


def _least_weight(people: int) -> Any:
    """What all ways together must weigh, lest some that count are lost to underflow.

    None weighs more than e to the power of the people.
    """
    return np.finfo(np.longdouble).tiny * np.exp(np.longdouble(people)) * np.longdouble(1e36)


def _mixed(
    cell: Cell, people: int, others: NumberArray, counts: dict[int, int], width: int, *, exact: bool
) -> Iterator[TargetBelief]:
    """Targets of one cell, where all other cells weigh `others` for what they make up."""
    factors = [cell.factors(code, n, people, exact=exact) for code, n in counts.items()]
    own_ways = reduce(np.multiply.outer, factors)
    rest = others[(slice(None, None, -1),) * len(counts)]  # by what is left for the cell
    weights = rest * own_ways
    p_in = np.zeros(width, dtype=object if exact else np.float64)
    least = 0 if exact else _least_weight(sum(counts.values()))
    if not weights.sum() > least:
        nothing = np.zeros(width)
        yield TargetBelief(cell, next(iter(counts)), p_in, nothing, 0, possible=False)
        return
    for code, mean in _means(weights, counts).items():
        p_in[code] = mean / people
    for axis, own in enumerate(counts):
        everything: list[slice] = [slice(None)] * len(counts)
        left, taken = list(everything), list(everything)
        left[axis], taken[axis] = slice(1, None), slice(None, -1)
        without = rest[tuple(left)] * own_ways[tuple(taken)]
        possible = bool(without.sum() > least)
        means = _means(without, counts) if possible else {}
        p_out, elsewhere = cell.next(means, people - 1)
        if not exact:
            p_out, elsewhere = p_out.astype(np.float64), float(elsewhere)
        yield TargetBelief(cell, own, p_in, p_out, elsewhere, possible)


def _means(weights: NumberArray, counts: dict[int, int]) -> dict[int, Any]:
    """How many of the cell have each value, on average."""
    means = {}
    for axis, code in enumerate(counts):
        others = tuple(other for other in range(weights.ndim) if other != axis)
        by_number = weights.sum(axis=others)
        mean = (by_number * np.arange(len(by_number))).sum() / by_number.sum()
        means[code] = float(mean) if isinstance(mean, np.floating) else mean
    return means


# -- from what an owner gives to cells -----------------------------------------------------------


def by_cell(
    groups: Groups, shape: ByClass | OutsideTable, given: Fraction | None, infinite: bool
) -> CellPrior:
    """The cell of everybody in the groups, and her prior about it."""
    assert groups.inside is not None
    counts = groups.inside.counts
    columns, listed = _listed(shape, counts, groups)
    number, texts = _cells(counts, columns)
    at: dict[CellTexts, int] = {}
    for cell in texts:
        if cell in listed:
            at[cell] = len(at)
    cells = []
    for cell in at:
        shares, own = shares_of(listed[cell], groups.values)
        total = None if infinite else given or own
        scale = Fraction(1) if total is None else total
        weights = tuple(shares.get(value, Fraction(0)) * scale for value in groups.values)
        cells.append(Cell(weights, total))
    cell_of = np.array([at.get(cell, -1) for cell in texts], dtype=np.int64)
    return CellPrior(cell_of[number], tuple(cells))


def _cells(counts: Counts, columns: Sequence[str]) -> tuple[Ints, list[CellTexts]]:
    """The cell of each tuple by some of the columns, and what each cell shows."""
    names = [domain.name for domain in counts.quasi]
    places = [names.index(column) for column in columns]
    number, first = rank_rows(counts.codes[places], [len(counts.quasi[p]) for p in places])
    labels = [counts.quasi[place].labels for place in places]
    codes_of_cells = zip(*(counts.codes[place][first].tolist() for place in places), strict=True)
    return number, [
        tuple(label[code] for label, code in zip(labels, codes, strict=True))
        for codes in codes_of_cells
    ]


def _listed(
    shape: ByClass | OutsideTable, counts: Counts, groups: Groups
) -> tuple[Sequence[str], dict[CellTexts, ValueShares | ValueCounts]]:
    """The columns that make a cell, and how values are distributed in each."""
    names = [domain.name for domain in counts.quasi]
    if isinstance(shape, ByClass):
        columns = [column for column, _ in shape.classes[0].cells if column] or names
        listed: dict[CellTexts, ValueShares | ValueCounts] = {}
        for entry in shape.classes:
            named = dict(entry.cells) if entry.cells[0][0] else {}
            if not named and len(entry.cells) != len(names):
                raise InputError(
                    f"{NAME}: shape: a cell lists {len(entry.cells)} values, the table has "
                    f"{len(names)} quasi-identifiers: {', '.join(names)}"
                )
            unnamed = tuple(text for _, text in entry.cells)
            listed[tuple(named[c] for c in columns) if named else unnamed] = entry.shares
            check_values(entry.shares, groups.values, groups.attribute, SHAPE)
        strange = next((column for column in columns if column not in names), None)
        if strange is not None:
            raise InputError(
                f"{NAME}: shape: {strange!r} is no quasi-identifier; {did_you_mean(strange, names)}"
            )
        return columns, listed
    outside = shape.people.counts.in_memory("an outside table by cell")
    known = {domain.name for domain in outside.quasi}
    columns = [name for name in names if name in known]
    if not columns:
        raise InputError(
            f"{NAME}: {shape.people.source.label} has none of the quasi-identifiers "
            f"{name_some(names)}"
        )
    attribute, codes = values_of(shape.people, groups.attribute, SHAPE)
    number, texts = _cells(outside, columns)
    labels = attribute.domain.labels
    people = np.zeros((len(texts), len(labels)), dtype=np.int64)
    np.add.at(people, (number, codes), outside.n)
    return columns, {
        cell: ValueCounts(dict(zip(labels, row, strict=True)))
        for cell, row in zip(texts, people.tolist(), strict=True)
    }
