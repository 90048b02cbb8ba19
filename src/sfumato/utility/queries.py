"""Query error (Xiao, Tao 2006; LeFevre et al. 2008): how wrong are counts answered from a release?

An analyst asks "how many people are between 30 and 45, live in one of these towns and have one of
these diagnoses?". Each of `queries` random queries restricts `columns` quasi-identifiers, drawn
anew, and with `sensitive` the first sensitive attribute as well: a run of values where the column
has an order (numbers, dates, declared lists; NULL and special codes lie in no range), any subset of
them where it has none, each of as many values that all restrictions together keep about the share
`selectivity` of all combinations. Queries depend on the table and `seed` only, so that releases
compare.

From the release the analyst answers by spreading each person evenly over the values her region
covers; in a bucketized release the QIs are exact and each bucket's sensitive values are spread over
its people. Suppressed people are missing from the answer. The cost is the mean over queries of the
relative error |answer - truth| / max(truth, `sanity` x people): 0 for an unchanged table, 1 when
nothing is left. An error counts `cap` at most, by default 1: an answer that is off by as much as
the truth is worth no more than none, and a few wild ones on rare values would otherwise make a
release look worse than no release at all (`cap` = inf gives the plain mean of the papers).
Not applicable (NaN) to centroids and noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import ceil, prod
from typing import ClassVar

import numpy as np

from sfumato.counts.counts import Attribute, Counts, TableCounts
from sfumato.criteria.base import parameter
from sfumato.numbers import Bools, Codes, Floats, Ints, sums_by_row
from sfumato.schema.domain import Domain
from sfumato.utility.base import Remembered, Utility
from sfumato.utility.view import Shares, View, dot, first_values, first_width

# What is worked on at a time stays in a processor's cache.
_AT_ONCE = 1 << 16  # tuples that are counted
_GROUPS = 1 << 13  # groups that are asked
_NARROW = 256  # with no more values than these, a table of groups by values is small
_FEW_CELLS = 1 << 12  # so many are counted even for fewer tuples
_MOST_CELLS = 1 << 31  # so many have numbers of 32 bits


@dataclass(frozen=True)
class Query:
    """How many people have, in each of these columns, one of the wanted codes?

    `values` are the wanted values of the first sensitive attribute; None: any. `codes` are those of
    its codes that have one: the same, or where people have several values the sets with any.
    """

    wanted: dict[int, Bools]
    values: Bools | None
    codes: Bools | None


@dataclass(frozen=True)
class Workload:
    """Queries on a table, and their true answers."""

    queries: tuple[Query, ...]
    truth: Floats


@dataclass(frozen=True)
class QueryError(Utility):
    """The mean relative error of random count queries answered from the release."""

    name: ClassVar[str] = "query-error"
    share: ClassVar[bool] = True
    about: ClassVar[str] = (
        "mean relative error of random count queries answered from the release, each at most 1"
    )
    seeded: ClassVar[bool] = True
    reads_tuples: ClassVar[bool] = True
    by_parts: ClassVar[bool] = True

    queries: int = 200
    columns: int = 2
    selectivity: float = 0.1
    sensitive: bool = True
    sanity: float = 0.001
    cap: float = 1.0
    seed: int = 0
    _workload: Remembered[Workload] = field(
        default_factory=Remembered, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        parameter(self.name, "queries", self.queries, whole=True, least=1)
        parameter(self.name, "columns", self.columns, whole=True, least=1)
        parameter(self.name, "selectivity", self.selectivity, above=0, most=1)
        parameter(self.name, "sanity", self.sanity, above=0, most=1)
        if self.cap != float("inf"):
            parameter(self.name, "cap", self.cap, above=0)
        parameter(self.name, "seed", self.seed, whole=True, least=0)

    def cost(self, view: View) -> float:
        if view.people == 0 or not view.covering or view.kept_by_engine:
            return float("nan")
        work = self.workload(view.counts)
        answers = answer_exact(view, work) if view.exact else answer_spread(view, work)
        errors = np.abs(answers - work.truth) / np.maximum(work.truth, self.sanity * view.people)
        return float(np.minimum(errors, self.cap).mean())

    def workload(self, counts: TableCounts) -> Workload:
        """The queries on this table; the same for every release of it."""
        return self._workload.of(counts, make=lambda: self._draw(counts))

    def _draw(self, counts: TableCounts) -> Workload:
        chance = np.random.default_rng(self.seed)
        restricted = min(self.columns, len(counts.quasi))
        attribute = counts.sensitive[0] if self.sensitive and counts.sensitive else None
        share = self.selectivity ** (1 / (restricted + (attribute is not None)))
        queries = []
        for _ in range(self.queries):
            columns = chance.choice(len(counts.quasi), restricted, replace=False)
            wanted = {int(c): _drawn(counts.quasi[c], share, chance) for c in np.sort(columns)}
            values = None if attribute is None else _drawn(attribute.domain, share, chance)
            codes = None if attribute is None or values is None else _having_any(attribute, values)
            queries.append(Query(wanted, values, codes))
        truth = np.zeros(len(queries))
        for part in counts.parts():
            truth += _truths(part, queries)
        return Workload(tuple(queries), truth)


def _drawn(domain: Domain, share: float, chance: np.random.Generator) -> Bools:
    """A random run of an ordered domain, or a random subset of one without order."""
    wanted = np.zeros(len(domain), dtype=bool)
    present = domain.placed
    if domain.is_ordered and present:
        length = max(1, ceil(share * present))
        start = int(chance.integers(0, present - length + 1))
        wanted[start : start + length] = True
    else:
        wanted[chance.permutation(len(domain))[: max(1, ceil(share * len(domain)))]] = True
    return wanted


def _having_any(attribute: Attribute, wanted: Bools) -> Bools:
    """The codes of a sensitive attribute that have a wanted value; of sets, those with any."""
    if attribute.sets is None:
        return wanted
    having: Bools = sums_by_row(wanted[attribute.sets.members], attribute.sets.offsets) > 0
    return having


def _truths(counts: Counts, queries: Sequence[Query]) -> Floats:
    """How many of these people each query asks for.

    Queries about the same columns are answered from one count by all of these, as long as its cells
    are no more than people's tuples: then rows are read once for them all.
    """
    answers, width = np.zeros(len(queries)), first_width(counts)
    about: dict[tuple[int, ...], list[int]] = {}
    for place, query in enumerate(queries):
        about.setdefault(tuple(query.wanted), []).append(place)
    for columns, places in about.items():
        shape = [*(len(counts.quasi[column]) for column in columns), width]
        if prod(shape) > min(max(len(counts), _FEW_CELLS), _MOST_CELLS):
            answers[places] = [_truth(counts, queries[place]) for place in places]
            continue
        cells = _people_by(counts, columns, shape)
        for place in places:
            query = queries[place]
            codes = np.ones(width, dtype=bool) if query.codes is None else query.codes
            chosen = [np.flatnonzero(wanted) for wanted in (*query.wanted.values(), codes)]
            answers[place] = cells[np.ix_(*chosen)].sum()
    return answers


def _people_by(counts: Counts, columns: Sequence[int], shape: Sequence[int]) -> Floats:
    """People by the codes of some columns and of the first sensitive attribute."""
    cells, value = np.zeros(prod(shape)), first_values(counts)
    for start in range(0, len(counts), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        number: Codes = np.zeros(len(counts.n[block]), dtype=np.int32)  # _MOST_CELLS lets it
        for row, size in zip(
            [*counts.codes[list(columns), block], value[block]], shape, strict=True
        ):
            number *= size
            number += row
        cells += np.bincount(number, counts.n[block], len(cells))
    return cells.reshape(shape)


def _truth(counts: Counts, query: Query) -> float:
    fits = _matches(counts, query)
    if query.codes is not None:
        fits &= query.codes[first_values(counts)]
    return float(counts.n[fits].sum())


def _matches(counts: Counts, query: Query, tuples: Ints | None = None) -> Bools:
    """Which tuples of the table lie in the query's QI restrictions."""
    codes = counts.codes if tuples is None else counts.codes[:, tuples]
    fits = np.ones(codes.shape[1], dtype=bool)
    for column, wanted in query.wanted.items():
        fits &= wanted[codes[column]]
    return fits


def answer_spread(view: View, work: Workload) -> Floats:
    """The answers from regions, each person spread evenly over the values hers covers."""
    shares = [Shares(view.coverage(column)) for column in range(len(view.counts.quasi))]
    wanted = [
        [(column, shares[column].mean(codes)) for column, codes in query.wanted.items()]
        for query in work.queries
    ]
    answers = np.zeros(len(work.queries))
    for start in range(0, len(view.sizes), _GROUPS):
        block = slice(start, min(start + _GROUPS, len(view.sizes)))
        codes = view.regions.codes[:, block]
        for place, having in enumerate(_having_wanted(view, work.queries, block)):
            inside = np.ones(codes.shape[1])
            for column, share in wanted[place]:
                inside *= share.take(codes[column])
            answers[place] += dot(inside, having)
    return answers


def _having_wanted(view: View, queries: Sequence[Query], block: slice) -> Iterator[Floats]:
    """How many people of each group of a block have a value that each query wants."""
    if queries[0].codes is None:  # then none of them asks for any
        yield from repeat(view.weights[block], len(queries))
        return
    tally, total = view.tally, block.stop - block.start
    cells = slice(*np.searchsorted(tally.groups, [block.start, block.stop]).tolist())
    group, value, n = tally.groups[cells] - block.start, tally.values[cells], tally.n[cells]
    wanted = [query.codes for query in queries if query.codes is not None]
    if tally.width > _NARROW:
        for codes in wanted:
            many = np.bincount(group, np.where(codes[value], n, 0.0), total)
            yield many.astype(np.float64, copy=False)
        return
    by_value = np.zeros((tally.width, total))
    by_value[value, group] = n
    for codes in wanted:  # no product of matrices: BLAS would wait for threads longer than it works
        yield by_value[codes].sum(axis=0)


def answer_exact(view: View, work: Workload) -> Floats:
    """The answers from buckets: exact QIs, each bucket's sensitive values spread over it."""
    kept = np.flatnonzero(view.pieces.groups >= 0)
    tuples, groups, n = (
        view.pieces.tuples[kept],
        view.pieces.groups[kept],
        view.pieces.n[kept].astype(np.float64),
    )
    answers = np.zeros(len(work.queries))
    for place, query in enumerate(work.queries):
        fits = _matches(view.tuples, query, tuples)
        share = _having(view, query) / view.weights
        answers[place] = dot(share[groups[fits]], n[fits])
    return answers


def _having(view: View, query: Query) -> Floats:
    """How many people of each group have a wanted sensitive value."""
    if query.values is None or query.codes is None:
        return view.weights
    if view.bags:
        return _expected_from_bags(view, query.values)
    tally = view.tally
    people = np.where(query.codes[tally.values], tally.n, 0)
    return np.bincount(tally.groups, weights=people, minlength=len(view.sizes)).astype(np.float64)


def _expected_from_bags(view: View, wanted: Bools) -> Floats:
    """As many as a reader expects to whom all ways of giving a bag out are equally likely."""
    size, bag = view.weights, view.bag
    n = np.where(wanted[bag.values], bag.n, 0).astype(np.float64)
    with np.errstate(divide="ignore"):  # whoever must have a value has it
        if view.counts.sensitive[0].repeated:
            missed = n * np.log1p(-1 / size)[bag.groups]
        else:
            missed = np.log1p(-n / size[bag.groups])
    missed = np.where(n > 0, missed, 0.0)
    return size * -np.expm1(np.bincount(bag.groups, weights=missed, minlength=len(size)))
