"""Each perturbation does what it states: its mechanism estimated back from 200 seeded runs."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.perturbation import PERTURBATIONS, perturbation_of
from sfumato.perturbation.base import Perturbation
from sfumato.perturbation.chance import swap_chances

RUNS = 200
SIGMAS = 5  # of so many standard deviations what is drawn may miss what is stated


def runs(perturbation: Perturbation, cells: list[object]) -> list[list[object]]:
    """What 200 seeded runs publish of the same cells."""
    column = pa.array(cells)
    return [
        perturbation.apply("x", column, np.random.default_rng(seed))[0].to_pylist()
        for seed in range(RUNS)
    ]


def check_shares(drawn: Counter[object], stated: dict[object, float]) -> None:
    """Every share within five standard deviations, and chi-square of all of them together."""
    total = drawn.total()
    assert drawn.keys() <= stated.keys()
    assert sum(stated.values()) == pytest.approx(1, abs=1e-6)
    chi_square, degrees = 0.0, -1
    for value, chance in stated.items():
        spread = np.sqrt(chance * (1 - chance) / total)
        assert drawn[value] / total == pytest.approx(chance, abs=SIGMAS * spread + 1 / total)
        if chance * total >= 5:
            chi_square += (drawn[value] - chance * total) ** 2 / (chance * total)
            degrees += 1
    assert chi_square <= degrees + SIGMAS * np.sqrt(2 * max(degrees, 1))


NOISES = [
    sf.AddedNoise(3, step=1),
    sf.AddedNoise(2.5, "normal", step=1),
    sf.AddedNoise(4, "normal", step=1, least=-2, most=9),
    sf.AddedNoise(3, step=2, least=-3, most=10),
]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.words)
def test_noise_is_distributed_as_it_states(noise: sf.AddedNoise) -> None:
    drawn = Counter(value for run in runs(noise, [5] * 30) for value in run)
    reach = np.arange(-120, 121) * int(noise.step or 1)
    low, high = noise.least or -np.inf, noise.most or np.inf
    published = np.unique(np.clip(reach, low, high)).astype(float)
    chances = noise.chances(published, np.array([5.0]))[:, 0]
    check_shares(drawn, dict(zip(published.tolist(), chances.tolist(), strict=True)))


def test_noise_keeps_means_and_adds_the_variance_it_says() -> None:
    noise = sf.AddedNoise(10)
    errors = np.array(runs(noise, [100.5, 7.25])) - [100.5, 7.25]
    assert abs(errors.mean()) < SIGMAS * np.sqrt(200 / errors.size)
    # The fourth moment of Laplace noise is 24 b^4, so its square spreads by 20 b^4.
    assert abs((errors**2).mean() - 200) < SIGMAS * np.sqrt(20 * 10**4 / errors.size)


MATRIX = {
    "flu": {"flu": 0.7, "cold": 0.2, "other": 0.1},
    "cold": {"cold": 1},
    "hiv": {"hiv": 0.4, "flu": 0.6},
}


def test_pram_changes_values_by_its_matrix() -> None:
    cells = ["flu"] * 15 + ["hiv"] * 15 + ["cold", None]
    drawn: dict[object, Counter[object]] = {value: Counter() for value in cells}
    for run in runs(sf.Pram(matrix=MATRIX), cells):
        for own, published in zip(cells, run, strict=True):
            drawn[own][published] += 1
    assert drawn.pop(None) == {None: RUNS}
    for value, row in MATRIX.items():
        check_shares(drawn[value], dict(row))


def test_invariant_pram_keeps_shares_on_average() -> None:
    cells = ["a"] * 60 + ["b"] * 30 + ["c"] * 10
    _, stated = sf.Pram(stay=0.5).apply("x", pa.array(cells), np.random.default_rng(0))
    assert stated.draw == {"a": 0.6, "b": 0.3, "c": 0.1}
    drawn = Counter(value for run in runs(sf.Pram(stay=0.5), cells) for value in run)
    for value, share in stated.draw.items():
        assert drawn[value] / drawn.total() == pytest.approx(share, abs=SIGMAS * 0.5 / 100)
    kept = Counter(
        own == published
        for run in runs(sf.Pram(stay=0.5), cells)
        for own, published in zip(cells, run, strict=True)
    )
    stays = 0.5 + 0.5 * (0.6**2 + 0.3**2 + 0.1**2)
    assert kept[True] / kept.total() == pytest.approx(stays, abs=SIGMAS * 0.5 / np.sqrt(20_000))


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8))
def test_invariant_pram_counts_in_fives_and_names_no_rare_value(people: list[int]) -> None:
    def draw(counts: list[int]) -> dict[str, float]:
        cells = [chr(97 + place) for place, n in enumerate(counts) for _ in range(n)]
        _, stated = sf.Pram(stay=0.9).apply("x", pa.array(cells), np.random.default_rng(0))
        return dict(stated.draw or {})

    frequent = {chr(97 + place): n for place, n in enumerate(people) if n >= 5}
    if not frequent:
        with pytest.raises(sf.InputError, match="state the shares in draw"):
            draw(people)
        return
    stated = draw(people)
    assert stated.keys() == frequent.keys()  # a value that is not drawn is sure where it stands
    assert min(stated.values()) > 0
    total = sum(frequent.values())
    for value, n in frequent.items():
        assert stated[value] == pytest.approx(n / total, abs=2.5 * (len(people) + 2) / total)
    # Nobody's own value is told: counts that are the same in fives are stated the same.
    assert draw([n if n < 5 else 5 * ((n + 2) // 5) for n in people]) == stated


def test_pram_that_keeps_nothing_says_so() -> None:
    told = sf.Pram(stay=0, draw={"a": 1}).for_recipients
    assert told == "a published value says nothing of the person's own one"


def test_infinite_numbers_are_not_published_as_they_are() -> None:
    for perturbation in (sf.AddedNoise(1), sf.RankSwap(50), sf.TopBottomCoding(top=9)):
        with pytest.raises(sf.InputError, match="holds infinite numbers"):
            perturbation.apply("x", pa.array([1.0, 2.0, np.inf]), np.random.default_rng(0))


def test_rank_swaps_of_less_than_two_ranks_are_refused() -> None:
    with pytest.raises(sf.InputError, match="fewer than two"):
        sf.RankSwap(2).apply("x", pa.array([*range(99)]), np.random.default_rng(0))


@pytest.mark.parametrize(("total", "ranks"), [(12, 4), (9, 4), (10, 10), (7, 2)])
def test_rank_swaps_exchange_as_they_state(total: int, ranks: int) -> None:
    swap = sf.RankSwap(100 * ranks / total)
    cells = list(range(0, 10 * total, 10))
    _, stated = swap.apply("x", pa.array(cells), np.random.default_rng(0))
    assert stated.ranks == ranks
    seen = np.zeros((total, total))
    for run in runs(swap, cells):
        assert sorted(run) == cells  # whoever has them, the values stay
        for own, published in enumerate(run):
            assert abs(published / 10 - own) < ranks
            seen[published // 10, own] += 1
    chances = swap_chances(np.ones(total, dtype=np.int64), ranks)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert chances == pytest.approx(chances.T)
    spread = np.sqrt(chances * (1 - chances) / RUNS)
    assert (np.abs(seen / RUNS - chances) <= SIGMAS * spread + 1 / RUNS).all()


@given(
    st.lists(st.integers(0, 12), min_size=4, max_size=9),
    st.integers(2, 4),
)
def test_microaggregation_loses_least_of_all_runs(cells: list[int], k: int) -> None:
    numbers = [value / 2 for value in cells]
    changed, _, _ = sf.ColumnMicroaggregation(k).changed(
        np.array(numbers), 9, np.random.default_rng(0)
    )
    lost = sum((a - b) ** 2 for a, b in zip(changed, numbers, strict=True))
    values = sorted(set(numbers))
    best = np.inf
    for cuts in range(2 ** (len(values) - 1)):
        ends = [place + 1 for place in range(len(values) - 1) if cuts >> place & 1]
        parts = [values[a:b] for a, b in pairwise([0, *ends, len(values)])]
        members = [[one for one in numbers if one in part] for part in parts]
        if min(map(len, members)) >= k:
            best = min(best, sum(float(np.var(part)) * len(part) for part in members))
    assert lost == pytest.approx(best, abs=1e-9)
    assert min(Counter(np.round(changed, 9).tolist()).values()) >= k
    by_value: dict[float, set[float]] = {}
    for own, published in zip(numbers, changed, strict=True):
        by_value.setdefault(own, set()).add(round(float(published), 9))
    assert all(len(published) == 1 for published in by_value.values())  # it is a function


@given(
    st.lists(st.integers(-999, 999), min_size=1, max_size=6), st.sampled_from(["0.25", "5", "7"])
)
def test_rounding_is_to_the_nearest_multiple(cells: list[int], to: str) -> None:
    numbers = [Fraction(value, 100) for value in cells]
    published, _ = sf.Rounding(float(to)).apply(
        "x", pa.array([float(one) for one in numbers]), np.random.default_rng(0)
    )
    for own, shown in zip(numbers, published.to_pylist(), strict=True):
        exact = Fraction(str(shown))
        assert exact % Fraction(to) == 0
        assert abs(exact - own) <= Fraction(to) / 2


def test_top_and_bottom_coding_stops_at_its_ends() -> None:
    coding = sf.TopBottomCoding(top=90, bottom=17.5)
    published, stated = coding.apply(
        "x", pa.array(["3", "18", "90", "91.5", None]), np.random.default_rng(0)
    )
    assert published.to_pylist() == [17.5, 18, 90, 90, None]
    assert stated == coding


@pytest.mark.parametrize(
    "perturbation",
    [
        *NOISES,
        sf.Pram(matrix=MATRIX),
        sf.Pram(stay=0.25, draw={"a": 0.1, "b": 0.9}),
        sf.RankSwap(5, 10),
        sf.ColumnMicroaggregation(3),
        sf.Rounding(0.1),
        sf.TopBottomCoding(9),
    ],
    ids=lambda one: f"{one.kind}: {one.words}",
)
def test_what_is_stated_reads_back(perturbation: Perturbation) -> None:
    assert perturbation_of(perturbation.public()) == perturbation
    assert perturbation.kind in PERTURBATIONS
    assert perturbation.for_recipients


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: sf.AddedNoise(0), "scale = 0 is not allowed"),
        (lambda: sf.AddedNoise(1, "cauchy"), "distribution = 'cauchy' is not known"),
        (lambda: sf.AddedNoise(1, least=3, most=3), "least is not below most"),
        (lambda: sf.Pram(), "give either matrix or stay"),
        (lambda: sf.Pram(stay=1), "stay = 1 is not allowed"),
        (lambda: sf.Pram(matrix={"a": {"a": 0.7, "b": 0.2}}), "sum to 0.9, not to 1"),
        (lambda: sf.Pram(matrix={"a": {"a": 1.5, "b": -0.5}}), "use numbers from 0 to 1"),
        (lambda: sf.RankSwap(101), "use at most 100"),
        (lambda: sf.ColumnMicroaggregation(1), "k = 1 is not allowed"),
        (lambda: sf.Rounding(-5), "to = -5 is not allowed"),
        (lambda: sf.TopBottomCoding(), "give top, bottom or both"),
        (lambda: sf.TopBottomCoding(top=1, bottom=2), "bottom = 2 is not below top = 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: object, why: str) -> None:
    with pytest.raises(sf.PolicyError, match=why):
        make()  # type: ignore[operator]
