"""Who undoes chance: her beliefs against full enumeration, and what bounds on them imply."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.perturbation.base import Perturbation
from sfumato.release.made import ReadFrom
from sfumato.schema.domain import Domain

Chances = dict[str, dict[str, float]]  # of each published value, by the true one


def published(column: list[object], groups: list[str], perturbation: Perturbation) -> sf.Release:
    """A release, read, that shows this column and states this of it."""
    schema = sf.Schema(quasi=["group"], sensitive="x")
    table = sf.read(pa.table({"group": groups, "x": column}), schema)
    stated = sf.perturb(table, {"x": perturbation}, seed=1).perturbed
    return replace(sf.generalize(table, {}), made=ReadFrom(perturbed=stated))


def enumerated(prior: dict[str, float], chances: Chances, shown: list[str]) -> dict[str, float]:
    """Her belief about one of a group's people: every assignment of values, every order of rows."""
    weights: dict[str, float] = defaultdict(float)
    for true in product(prior, repeat=len(shown)):
        before = np.prod([prior[value] for value in true])
        for rows in permutations(shown):
            drawn = [chances[value].get(row, 0.0) for value, row in zip(true, rows, strict=True)]
            weights[true[0]] += before * float(np.prod(drawn))
    total = sum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


PRAM = sf.Pram(
    matrix={
        "a": {"a": 0.6, "b": 0.3, "c": 0.1},
        "b": {"a": 0.2, "b": 0.8},
        "c": {"c": 0.5, "a": 0.25, "b": 0.25},
    }
)
PRIOR = {"a": 0.5, "b": 0.3, "c": 0.2}


@pytest.mark.parametrize("shown", ["a", "ab", "aab", "abc", "ccab"])
def test_pram_is_undone_as_enumeration_says(shown: str) -> None:
    release = published([*shown, *"abc"], [*("g" * len(shown)), *"hhh"], PRAM)
    believed = sf.MechanismReader(PRIOR).attack(release)
    expected = enumerated(PRIOR, {value: PRAM.row(value) for value in PRIOR}, [*shown])
    assert believed.belief(0) == pytest.approx(expected)


@pytest.mark.parametrize("noise", [sf.AddedNoise(2, step=1), sf.AddedNoise(1.5, "normal", step=1)])
@pytest.mark.parametrize("shown", [[3], [3, 5], [1, 4, 9]])
def test_noise_is_undone_as_enumeration_says(noise: sf.AddedNoise, shown: list[int]) -> None:
    prior = {"2": 0.5, "4": 0.25, "8": 0.25}
    release = published([*shown, 0, 7], [*("g" * len(shown)), "h", "h"], noise)
    chances: Chances = {}
    for value in prior:
        drawn = noise.chances(np.array(shown, dtype=float), np.array([float(value)]))[:, 0]
        chances[value] = dict(zip(map(str, shown), drawn.tolist(), strict=True))
    expected = enumerated(prior, chances, [str(value) for value in shown])
    assert sf.MechanismReader(prior).attack(release).belief(0) == pytest.approx(expected)


def pairings(people: tuple[int, ...]) -> list[list[tuple[int, int]]]:
    """Every way to pair people, an odd one left alone."""
    if len(people) < 2:
        return [[]]
    if len(people) % 2:
        rest = [people[:i] + people[i + 1 :] for i in range(len(people))]
        return [pairs for others in rest for pairs in pairings(others)]
    first, *others = people
    return [
        [(first, other), *pairs]
        for other in others
        for pairs in pairings(tuple(one for one in others if one != other))
    ]


def swapped(values: tuple[int, ...], ranks: int) -> dict[tuple[int, ...], float]:
    """Every outcome of swapping, with its chance; ties are broken in every order."""
    outcomes: dict[tuple[int, ...], float] = defaultdict(float)
    orders = [
        order
        for order in permutations(range(len(values)))
        if all(values[a] <= values[b] for a, b in pairwise(order))
    ]
    for order in orders:
        for offset in range(ranks):
            ends = [0, *range(offset, len(values), ranks), len(values)]
            blocks = [order[a:b] for a, b in pairwise(ends) if a < b]
            choices = [pairings(tuple(block)) for block in blocks]
            for chosen in product(*choices):
                result = list(values)
                for a, b in (pair for pairs in chosen for pair in pairs):
                    result[a], result[b] = values[b], values[a]
                weight = 1 / (len(orders) * ranks * np.prod([len(one) for one in choices]))
                outcomes[tuple(result)] += weight
    return outcomes


@pytest.mark.parametrize(
    ("values", "ranks", "first"),
    [((1, 2, 3, 4), 2, 2), ((1, 2, 2, 5), 2, 2), ((1, 1, 3, 4, 9), 4, 2), ((1, 2, 3, 3), 4, 1)],
)
def test_rank_swaps_are_undone_as_enumeration_says(
    values: tuple[int, ...], ranks: int, first: int
) -> None:
    beliefs: dict[tuple[object, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for own in permutations(values):  # who has which value: all are as likely
        for shown, chance in swapped(own, ranks).items():
            file = tuple(sorted(shown[:first])), tuple(sorted(shown[first:]))
            beliefs[file][own[0]] += chance
    groups = ["g"] * first + ["h"] * (len(values) - first)
    for (mine, others), weights in beliefs.items():
        swap = sf.RankSwap(100 * ranks / len(values))
        release = published([*mine, *others], groups, swap)
        believed = sf.MechanismReader().attack(release).belief(0)
        total = sum(weights.values())
        expected = {str(value): weights.get(value, 0.0) / total for value in values}
        assert believed == pytest.approx(expected)


shares = st.lists(st.integers(1, 9), min_size=3, max_size=3)


@given(
    st.lists(shares, min_size=3, max_size=3),
    st.lists(st.sampled_from("abc"), min_size=4, max_size=12),
    st.integers(1, 3),
)
def test_bounds_on_published_values_bound_what_is_believed(
    rows: list[list[int]], column: list[str], first: int
) -> None:
    """t-closeness (equal), beta-likeness and delta-disclosure survive the undoing."""
    matrix = {
        value: dict(zip("abc", [part / 32 for part in _of_32(row)], strict=True))
        for value, row in zip("abc", rows, strict=True)
    }
    people = np.array([column.count(value) for value in "abc"], dtype=float)
    undone = sf.Pram(matrix=matrix).undo(Domain("x", "categorical", (*"abc",)), people)
    everybody = people / people.sum()
    before = everybody @ undone.belief
    for here in (column[:first], column[first:]):
        shown = np.array([here.count(value) / len(here) for value in "abc"])
        after = shown @ undone.belief
        assert after.sum() == pytest.approx(1)
        assert np.abs(after - before).sum() <= np.abs(shown - everybody).sum() + 1e-9
        there, possible = everybody > 0, before > 1e-12
        ratios = shown[there] / everybody[there]
        assert (after[possible] / before[possible]).max() <= ratios.max() + 1e-9
        assert (after[possible] / before[possible]).min() >= ratios.min() - 1e-9


def _of_32(row: list[int]) -> list[int]:
    """Three parts that sum to 32, so that their decimals are exact."""
    first, second = 1 + 10 * row[0] // sum(row), 1 + 10 * row[1] // sum(row)
    return [first, second, 32 - first - second]


def test_the_prior_is_what_all_published_values_make_most_likely() -> None:
    column = [*("a" * 52), *("b" * 48)]
    even = {"a": {"a": 0.9, "b": 0.1}, "b": {"a": 0.1, "b": 0.9}}
    release = published(column, ["g"] * 50 + ["h"] * 50, sf.Pram(matrix=even))
    undone = sf.MechanismReader().attack(release)
    # 0.52 = 0.9 p + 0.1 (1 - p)
    assert dict(zip(undone.undone.values, undone.before(), strict=True)) == pytest.approx(
        {"a": 0.525, "b": 0.475}, abs=1e-6
    )


def test_many_numbers_are_read_in_runs_that_err_to_sure() -> None:
    column = [*range(2000)]
    for perturbation in (sf.RankSwap(1), sf.AddedNoise(1)):
        release = published(column, ["g", "h"] * 1000, perturbation)
        undone = sf.MechanismReader().attack(release).undone
        assert len(undone.values) <= 520
        assert undone.belief.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("missing", [False, True])
def test_one_far_number_does_not_blind_who_reads_the_others(missing: bool) -> None:
    near = [3000 + 10 * (place % 10) for place in range(40)]  # a group that noise hides little of
    rest = [1000 + 10 * (place % 400) for place in range(400)]
    groups = ["g"] * 40 + ["h"] * 401
    beliefs = []
    for far in (5000, 5_000_000):
        column: list[object] = [*near, *rest, far]
        if missing:
            column[-2] = None
        release = published(column, groups, sf.AddedNoise(20, step=10))
        undone = sf.MechanismReader().attack(release)
        assert sum(undone.belief(0).values()) == pytest.approx(1)
        told = undone.moves()
        assert told.worst is not None
        assert told.worst.after > 0.01  # of what nobody is believed to have nothing is told
        beliefs.append((told.people.number, told.worst.after, told.worst.before))
    assert beliefs[0][0] == beliefs[1][0] == 40
    for one, other in zip(*beliefs, strict=True):
        assert other == pytest.approx(one, rel=0.5)


def test_where_no_number_is_left_there_is_nothing_to_undo() -> None:
    undone = sf.AddedNoise(1, step=1).undo(Domain("x", "numeric", (None,)), np.array([3.0]))
    assert (undone.values, undone.belief.tolist()) == (("(missing)",), [[1.0]])


def test_pairs_of_the_oracle_are_all_pairs() -> None:
    assert len(pairings((1, 2, 3, 4))) == 3
    assert {tuple(pairs[0]) for pairs in pairings((1, 2, 3))} == {*combinations((1, 2, 3), 2)}
