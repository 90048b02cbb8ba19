"""Use: what a release is for, and the cost that fits it.

A data owner may name columns that matter more (`weights`), counts that must come out well
(`queries`: people by these columns together) and a column that others are to predict (`target`).
Every quasi-identifier then has a weight:

    weight = weights (1 where not named) x max(1/10, queries' need, target's need)

where the queries' need is how many queries name the column over the most that name any, and the
target's is the column's information about the target over the most that any other has (1 for the
target itself). Information is mutual information, less what as many cells would have by chance
(Miller, Madow 1955). Without queries and target the maximum is 1 for all.

The cost is the loss with these weights; where queries are named, the mean of that and the workload
error. Searches lean on the weights: Mondrian's order of columns, deal's widths, the lattice's
bounds.

The **workload error** is the mean over queries of their own, which is the mean over the cells of
the queried columns in which the table has people of |answer - truth| / max(truth, a thousandth of
all people), at most 1. The answer spreads each person evenly over the values her region covers; in
a bucketized release each bucket's sensitive values are spread over its people. Suppressed people
are missing from answers. A set of sensitive values counts as one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sfumato.counts.counts import Counts, TableCounts
from sfumato.criteria.base import parameter
from sfumato.errors import PolicyError, did_you_mean, quoted
from sfumato.numbers import Codes, Floats, Ints, run_places
from sfumato.schema.region import Coverage
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.classification import target_of
from sfumato.utility.loss import Loss
from sfumato.utility.view import View, blocks, holders, tally

LEAST = 0.1  # of a column that neither queries nor target need, of what the neediest weighs
SANITY = 0.001  # a share of people: counts below it need not be right to the person
WRONG = 0.1  # a cell that is off by more than this is wrong


@dataclass(frozen=True)
class Use:
    """What a release is for: weights of columns, queries (counts by columns), a target."""

    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What quasi-identifiers are worth, 1 where not named. Example: `weights = { age = 3, zip = 0.5
    }`.
    """
    queries: Sequence[Sequence[str]] = ()
    """Counts that people will ask for, each by a list of columns. Example: `queries = [["age",
    "sex"], ["zip", "disease"]]`.
    """
    target: str | None = None
    """The column that others are to predict. Example: `target = "disease"`."""

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise PolicyError(
                f"use: weights = {quoted(self.weights)} is not allowed; give numbers by column, "
                "such as { age = 3 }"
            )
        for column, weight in self.weights.items():
            parameter("use", f"weight of {quoted(column)}", weight, least=0)
        if isinstance(self.queries, str) or not isinstance(self.queries, Sequence):
            raise PolicyError(
                f"use: queries = {quoted(self.queries)} is not allowed; give a list of lists of "
                'columns, such as [["age", "sex"], ["zip"]]'
            )
        for query in self.queries:
            _check_query(query)
        object.__setattr__(self, "queries", tuple(tuple(query) for query in self.queries))
        if self.target is not None and not isinstance(self.target, str):
            raise PolicyError(f"use: target = {quoted(self.target)} is not a column")
        if not self.weights and not self.queries and self.target is None:
            raise PolicyError("use: names nothing; give weights, queries or a target")

    def check(self, quasi: Sequence[str], sensitive: Sequence[str]) -> None:
        """Refuse columns that are not there, or not of the kind that is asked for."""
        for column in self.weights:
            if column not in quasi:
                raise PolicyError(
                    f"use: weights name {quoted(column)}, which is no quasi-identifier; "
                    f"{did_you_mean(column, quasi)}"
                )
        if all(self.weights.get(column) == 0 for column in quasi):
            raise PolicyError("use: every quasi-identifier has weight 0; leave one above 0")
        judged = (*quasi, *sensitive)
        named = [("queries", column) for query in self.queries for column in query]
        named += [] if self.target is None else [("target", self.target)]
        for key, column in named:
            if column not in judged:
                raise PolicyError(
                    f"use: {key}: {quoted(column)} is neither quasi nor sensitive; "
                    f"{did_you_mean(column, judged)}"
                )

    def without(self, column: str) -> Use | None:
        """The same of a table that lacks a column; None where nothing is left of it."""
        weights = {name: weight for name, weight in self.weights.items() if name != column}
        queries = [[name for name in query if name != column] for query in self.queries]
        target = None if self.target == column else self.target
        kept = [query for query in queries if query]
        return Use(weights, kept, target) if weights or kept or target is not None else None

    def measure(self, counts: TableCounts) -> Utility:
        """What releases of a table cost, if they are for this."""
        names = [domain.name for domain in counts.quasi]
        self.check(names, [attribute.name for attribute in counts.sensitive])
        given = np.array([float(self.weights.get(name, 1.0)) for name in names])
        weights = given / given.max() * self._needs(counts, names)
        fitted = tuple((weights * len(weights) / weights.sum()).tolist())
        if not self.queries:
            return FitForUse(fitted)
        return FitForQueries(fitted, tuple(tuple(query) for query in self.queries))

    def _needs(self, counts: TableCounts, names: list[str]) -> Floats:
        needs = np.full(len(names), 1.0 if not self.queries and self.target is None else LEAST)
        if self.queries:
            asked = np.array([sum(name in query for query in self.queries) for name in names])
            needs = np.maximum(needs, asked / max(int(asked.max()), 1))
        if self.target is not None:
            tuples = counts.in_memory("weighing columns by what they tell of a target")
            bits = informations(tuples, self.target)
            needs = np.maximum(needs, bits / max(float(bits.max()), 1e-300))
            if self.target in names:
                needs[names.index(self.target)] = 1.0
        return needs


def _check_query(query: object) -> None:
    listed = isinstance(query, Sequence) and not isinstance(query, str)
    if not listed or not query or not all(isinstance(column, str) for column in query):  # type: ignore[attr-defined]
        raise PolicyError(
            f"use: the query {quoted(query)} is not allowed; each is a list of columns, such as "
            '["age", "sex"]'
        )
    if len(set(query)) < len(query):  # type: ignore[call-overload, arg-type]
        raise PolicyError(f"use: the query {quoted(query)} names a column twice")


def informations(counts: Counts, target: str) -> Floats:
    """The mutual information, in nats, of each quasi-identifier and a target; 0 for itself."""
    learnt = target_of(counts, target)
    people = counts.n.astype(np.float64)
    nats = np.zeros(len(counts.quasi))
    for column in learnt.features:
        codes = counts.codes[column].astype(np.int64)
        alone = [np.bincount(codes, people), np.bincount(learnt.of_tuple, people)]
        pairs, place = np.unique(codes * learnt.classes + learnt.of_tuple, return_inverse=True)
        joint = np.bincount(place.reshape(-1), people, minlength=len(pairs))
        cells = [counts[counts > 0].astype(np.float64) for counts in (*alone, joint)]
        of_column, of_target, together = (_entropy(cell) for cell in cells)
        degrees = len(cells[2]) - len(cells[0]) - len(cells[1]) + 1
        chance = degrees / (2 * people.sum())
        nats[column] = max(0.0, of_column + of_target - together - max(chance, 0.0))
    return nats


def _entropy(people: Floats) -> float:
    shares = people / people.sum()
    return float(-(shares * np.log(shares)).sum())


@dataclass(frozen=True)
class FitForUse(Utility):
    """The loss, with weights: of each quasi-identifier in the table's order, 1 on average."""

    name: ClassVar[str] = "use"
    share: ClassVar[bool] = True
    about: ClassVar[str] = "loss by what the columns are worth for the policy's use"

    weights: tuple[float, ...]

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering:
            return float("nan")
        lost = float(view.suppressed)
        if not view.exact:
            columns = range(len(self.weights))
            wide = view.totals([view.coverage(column).widening() for column in columns])
            lost += sum(w * loss for w, loss in zip(self.weights, wide, strict=True)) / len(wide)
        return lost / view.people

    def by_level(self, counts: TableCounts, covers: list[list[Coverage]]) -> list[Floats] | None:
        """As of the loss: weights are 1 on average, so suppressing never costs less."""
        plain = Loss().by_level(counts, covers)
        if plain is None:
            return None
        return [weight * costs for weight, costs in zip(self.weights, plain, strict=True)]

    def column_weights(self, columns: int) -> Floats:
        return np.array(self.weights)


@dataclass(frozen=True)
class QueryAnswers:
    """A query's cells that have people in the table: how many, and how many the release says."""

    columns: tuple[str, ...]
    truth: Floats
    answers: Floats
    people: int

    @property
    def errors(self) -> Floats:
        off = np.abs(self.answers - self.truth) / np.maximum(self.truth, SANITY * self.people)
        return np.minimum(off, 1.0)


@dataclass(frozen=True)
class FitForQueries(FitForUse):
    """The mean of the weighted loss and of how wrong the queries' counts come out."""

    about: ClassVar[str] = (
        "mean of the loss by what columns are worth for the policy's use and of its queries' errors"
    )
    reads_tuples: ClassVar[bool] = True

    queries: tuple[tuple[str, ...], ...]
    _cells: Remembered[tuple[QueriedCells, ...]] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def cost(self, view: View) -> float:
        loss = super().cost(view)
        if loss != loss:
            return loss
        errors = [float(answered.errors.mean()) for answered in self.answers(view)]
        return (loss + sum(errors) / len(errors)) / 2

    def by_level(self, counts: TableCounts, covers: list[list[Coverage]]) -> list[Floats] | None:
        """Half of the loss, if all answers are right."""
        loss = super().by_level(counts, covers)
        return None if loss is None else [costs / 2 for costs in loss]

    def answers(self, view: View) -> list[QueryAnswers]:
        """What the release says of each query's cells."""
        asked = self._cells.of(
            view.tuples,
            make=lambda: tuple(QueriedCells.of(view.tuples, query) for query in self.queries),
        )
        return [
            QueryAnswers(
                query,
                cells.truth,
                _from_buckets(view, cells) if view.exact else _from_regions(view, cells),
                view.people,
            )
            for query, cells in zip(self.queries, asked, strict=True)
        ]


@dataclass(frozen=True)
class QueriedCells:
    """The cells of one query that have people in the table.

    `codes[i, c]`: the code of cell c in the query's i-th quasi-identifier, `columns[i]`. `value`
    numbers what people have in all its sensitive columns together, of cells and of tuples.
    """

    columns: tuple[int, ...]
    codes: Codes
    value: Ints
    value_of_tuple: Ints
    cell_of_tuple: Ints
    truth: Floats
    of_values: bool  # of a sensitive column, too

    @classmethod
    def of(cls, counts: Counts, query: tuple[str, ...]) -> QueriedCells:
        names = [domain.name for domain in counts.quasi]
        columns = tuple(names.index(name) for name in query if name in names)
        places = [counts.attribute(name) for name in query if name not in names]
        value = np.zeros(len(counts), dtype=np.int64)
        if places:
            value = _numbered(counts.values[places])
        keys = np.vstack([counts.codes[list(columns)].astype(np.int64), value[None, :]])
        distinct, cell = np.unique(keys, axis=1, return_inverse=True)
        cell = cell.reshape(-1)
        truth = np.bincount(cell, counts.n, minlength=distinct.shape[1]).astype(np.float64)
        codes = distinct[:-1].astype(np.int32)
        return cls(columns, codes, distinct[-1], value, cell, truth, bool(places))


def _numbered(rows: Codes) -> Ints:
    """Equal columns get equal numbers."""
    return np.unique(rows, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _from_regions(view: View, cells: QueriedCells) -> Floats:
    """Each person spread evenly over the values her region covers."""
    columns = list(cells.columns)
    groups, value = np.arange(len(view.sizes)), np.zeros(len(view.sizes), dtype=np.int64)
    people = view.weights
    if cells.value.any():
        kept = view.pieces.groups >= 0
        groups, people = view.pieces.groups[kept], view.pieces.n[kept].astype(np.float64)
        value = cells.value_of_tuple[view.pieces.tuples[kept]]
    codes = np.vstack([view.regions.codes[columns][:, groups].astype(np.int64), value[None, :]])
    distinct, place = np.unique(codes, axis=1, return_inverse=True)
    people = np.bincount(place.reshape(-1), people, minlength=distinct.shape[1]).astype(np.float64)
    answers = np.zeros(len(cells.truth))
    for number in np.unique(distinct[-1]).tolist():
        rows = np.flatnonzero(distinct[-1] == number)
        asked = np.flatnonzero(cells.value == number)
        answers[asked] = _spread(view, cells, distinct[:-1, rows], people[rows], asked)
    return answers


def _spread(view: View, cells: QueriedCells, parts: Ints, people: Floats, asked: Ints) -> Floats:
    """How many people shown by these regions each of some cells has."""
    shares, places, codes = [], [], []
    for column, part, having in zip(cells.columns, parts, cells.codes[:, asked], strict=True):
        regions, region = np.unique(part, return_inverse=True)
        used, code = np.unique(having, return_inverse=True)
        coverage = view.coverage(column)
        shares.append(holders(coverage, regions, used) / coverage.count[regions][:, None])
        places.append(region.reshape(-1))
        codes.append(code.reshape(-1))
    answers = np.zeros(len(asked))
    for block in blocks(len(people), len(asked)):
        people_inside = np.repeat(people[block, None], len(asked), axis=1)
        for share, region, code in zip(shares, places, codes, strict=True):
            people_inside *= share[region[block]][:, code]
        answers += people_inside.sum(axis=0)
    return answers


def _from_buckets(view: View, cells: QueriedCells) -> Floats:
    """Exact quasi-identifiers; each bucket's sensitive values spread over its people.

    Unknown where people have several values: a bag does not tell how many have which together.
    """
    if view.bags and cells.of_values:
        return np.full(len(cells.truth), np.nan)
    kept = view.pieces.groups >= 0
    tuples, groups, n = view.pieces.tuples[kept], view.pieces.groups[kept], view.pieces.n[kept]
    # Cells of the same quasi-identifiers, whatever their value; in their order, as cells are.
    combination = np.zeros(len(cells.truth), dtype=np.int64)
    if cells.columns:
        combination = _numbered(cells.codes)
    width = int(cells.value.max()) + 1
    listed = tally(groups, combination[cells.cell_of_tuple[tuples]], n, int(combination.max()) + 1)
    values = tally(groups, cells.value_of_tuple[tuples], n, width)
    begin = np.searchsorted(values.groups, listed.groups, "left")
    length = np.searchsorted(values.groups, listed.groups, "right") - begin
    pair, having = np.repeat(np.arange(len(length)), length), run_places(begin, length)
    people = listed.n[pair] * values.n[having] / view.sizes[listed.groups[pair]]
    wanted = listed.values[pair] * width + values.values[having]
    keys = combination * width + cells.value
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    there = keys[place] == wanted
    return np.bincount(place[there], people[there], minlength=len(keys)).astype(np.float64)
