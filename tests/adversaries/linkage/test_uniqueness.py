"""Population uniqueness: closed forms, known models, populations of known uniqueness."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage import uniqueness
from sfumato.adversaries.linkage.uniqueness import (
    SizeFrequencies,
    Uniqueness,
    choose,
    population_uniqueness,
)

FRACTIONS = (0.05, 0.1, 0.3)
MODELS = ["pitman", "zayatz", "snb"]
Labels = np.ndarray[tuple[int], np.dtype[np.int64]]

# -- populations: the group of each person -------------------------------------------------------


@cache
def restaurant(theta: float, alpha: float, people: int = 60_000, seed: int = 1) -> Labels:
    """A population of Pitman's model: people join groups in turn, or open new ones."""
    rng = np.random.default_rng(seed)
    opens, picks, keeps = rng.random((3, people))
    group = np.zeros(people, dtype=np.int64)
    sizes: list[int] = []
    for person in range(people):
        if opens[person] * (theta + person) < theta + len(sizes) * alpha:
            group[person] = len(sizes)
            sizes.append(1)
            continue
        pick, keep = picks[person], keeps[person]
        chosen = group[int(pick * person)]
        while keep > 1 - alpha / sizes[chosen]:  # a group is joined by its size less alpha
            pick, keep = rng.random(2)
            chosen = group[int(pick * person)]
        group[person] = chosen
        sizes[chosen] += 1
    return group


@cache
def slid(mean: float, shape: float, groups: int, seed: int = 1) -> Labels:
    """A population of the slide negative binomial model."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.poisson(rng.gamma(shape, mean / shape, groups))
    return np.repeat(np.arange(groups), sizes)


@cache
def cross(columns: tuple[int, ...], people: int = 60_000, seed: int = 1) -> Labels:
    """A population like a real one: several independent skewed columns, crossed."""
    rng = np.random.default_rng(seed)
    key = np.zeros(people, dtype=np.int64)
    for values in columns:
        share = 1 / np.arange(1, values + 1) ** 1.2
        key = key * values + rng.choice(values, people, p=share / share.sum())
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def true_share(population: Labels) -> float:
    return float((np.bincount(population) == 1).sum() / len(population))


def ratios(population: Labels, fraction: float, model: str, samples: int = 5) -> list[float]:
    """Estimates over the truth, one a sample."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(samples):
        taken = rng.choice(len(population), round(fraction * len(population)), replace=False)
        sizes = np.bincount(population[taken])
        for estimate in population_uniqueness(SizeFrequencies.of(sizes[sizes > 0]), fraction):
            if estimate.model == model and estimate.share is not None:
                found.append(estimate.share / true_share(population))
    return found


PITMAN = (0.45, 0.25, 0.25)  # the errors its docstring names
OWN_PITMAN = {"0.3": (1000, 0.3), "0.7": (100, 0.7), "Ewens": (500, 0.0)}
OWN_SNB = {"skewed": (5, 0.3, 10_000), "medium": (2, 0.5, 20_000), "alike": (2, 3, 20_000)}


@pytest.mark.parametrize(("fraction", "error"), list(zip(FRACTIONS, PITMAN, strict=True)))
@pytest.mark.parametrize("parameters", OWN_PITMAN.values(), ids=list(OWN_PITMAN))
def test_pitman_on_its_own_populations(parameters, fraction: float, error: float) -> None:
    found = ratios(restaurant(*parameters), fraction, "pitman")
    assert len(found) == 5
    assert all(abs(ratio - 1) <= error for ratio in found)
    assert np.mean(found) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(("fraction", "factor"), list(zip(FRACTIONS, (8, 2, 1.25), strict=True)))
@pytest.mark.parametrize("parameters", OWN_SNB.values(), ids=list(OWN_SNB))
def test_snb_on_its_own_populations(parameters, fraction: float, factor: float) -> None:
    found = ratios(slid(*parameters), fraction, "snb")
    assert found
    assert all(1 / factor <= ratio <= factor for ratio in found)


OTHERS = {
    "crossed": lambda: cross((60, 8, 10, 6, 5)),
    "crossed, sparse": lambda: cross((100, 50, 50)),
    "skewed": lambda: slid(*OWN_SNB["skewed"]),
    "alike": lambda: slid(*OWN_SNB["alike"]),
    "Pitman": lambda: restaurant(*OWN_PITMAN["0.3"]),
}


@pytest.mark.parametrize(("fraction", "most"), list(zip(FRACTIONS, (12, 9, 3.5), strict=True)))
@pytest.mark.parametrize("population", OTHERS.values(), ids=list(OTHERS))
def test_zayatz_errs_upwards(population, fraction: float, most: float) -> None:
    assert all(0.8 <= ratio <= most for ratio in ratios(population(), fraction, "zayatz"))


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("population", OTHERS.values(), ids=list(OTHERS))
def test_pitman_elsewhere(population, fraction: float) -> None:
    assert all(0.6 <= ratio <= 4 for ratio in ratios(population(), fraction, "pitman"))


@pytest.mark.parametrize(("fraction", "most"), list(zip(FRACTIONS, (4, 3, 1.7), strict=True)))
@pytest.mark.parametrize("name", ["crossed", "crossed, sparse", "Pitman"])
def test_snb_elsewhere_errs_upwards(name: str, fraction: float, most: float) -> None:
    assert all(0.9 <= ratio <= most for ratio in ratios(OTHERS[name](), fraction, "snb"))


def test_adult_is_told_from_a_tenth_of_it(data_folder) -> None:
    """Adult as a population, whose uniqueness is 0.293117."""
    from sfumato.datasets.public_files import adult

    counts = sf.read(*adult(data_folder)).counts
    population = np.repeat(counts.group_of[0], counts.n)
    assert true_share(population) == pytest.approx(0.293117, abs=5e-7)
    for fraction, error, most in zip(FRACTIONS, PITMAN, (1.8, 1.5, 1.15), strict=True):
        found = ratios(population, fraction, "pitman")
        assert all(abs(ratio - 1) <= error for ratio in found)
        assert all(1 <= ratio <= most for ratio in ratios(population, fraction, "zayatz"))


# -- closed forms ---------------------------------------------------------------------------------

some_sizes = st.lists(st.integers(1, 30), min_size=1, max_size=30)
some_fractions = st.floats(0.001, 1)


@given(some_sizes)
def test_at_fraction_one_it_is_the_sample_uniqueness(sizes) -> None:
    for estimate in population_uniqueness(SizeFrequencies.of(np.array(sizes)), 1):
        assert estimate.share == sizes.count(1) / sum(sizes)
        assert estimate.status == "converged"


@given(some_sizes)
def test_near_fraction_one_it_is_nearly_the_sample_uniqueness(sizes) -> None:
    for estimate in population_uniqueness(SizeFrequencies.of(np.array(sizes)), 1 - 1e-9):
        if estimate.share is not None:
            assert estimate.share == pytest.approx(sizes.count(1) / sum(sizes), abs=1e-6)


@given(st.integers(1, 10**6), some_fractions)
def test_if_all_are_unique_so_is_the_population(people: int, fraction: float) -> None:
    sizes = SizeFrequencies(np.array([1.0]), np.array([float(people)]))
    assert [one.share for one in population_uniqueness(sizes, fraction)] == [1, 1, 1]


@given(st.lists(st.integers(2, 9), min_size=1), some_fractions)
def test_without_sample_uniques_there_are_none(sizes, fraction: float) -> None:
    assert [
        one.share for one in population_uniqueness(SizeFrequencies.of(np.array(sizes)), fraction)
    ] == [0] * 3


@given(some_sizes, some_fractions)
def test_a_share_is_a_share_of_the_sample_uniques_or_visibly_missing(sizes, fraction) -> None:
    found = population_uniqueness(SizeFrequencies.of(np.array(sizes)), fraction)
    assert [estimate.model for estimate in found] == MODELS
    for estimate in found:
        assert (estimate.share is None) == (estimate.status == "not_converged")
        assert estimate.note
        if estimate.share is not None:
            # The slide negative binomial does not keep to the sample's uniques exactly.
            assert 0 <= estimate.share <= sizes.count(1) / sum(sizes) * (1 + 1e-6)
    assert choose(found, fraction).share is not None  # Zayatz always has a number


def test_zayatz_by_hand() -> None:
    """Two singles, one pair, half sampled: P(F = 1 | f = 1) = 2/3 .5 / (2/3 .5 + 1/3 .5)."""
    zayatz = population_uniqueness(SizeFrequencies.of(np.array([1, 1, 2])), 0.5)[1]
    assert zayatz.share == pytest.approx(2 / 3 * 2 / 4)


def test_pitman_maximizes_the_likelihood() -> None:
    """Against the likelihood summed term by term over a grid."""
    sizes = np.array([1] * 40 + [2] * 12 + [3] * 6 + [5] * 3 + [9, 14])
    people, groups = int(sizes.sum()), len(sizes)

    def likelihood(theta: float, alpha: float) -> float:
        return (
            sum(math.log(theta + i * alpha) for i in range(1, groups))
            - sum(math.log(theta + i) for i in range(1, people))
            + sum(math.log(i - alpha) for size in sizes.tolist() for i in range(1, size))
        )

    pitman = population_uniqueness(SizeFrequencies.of(sizes), 0.2)[0]
    words = pitman.note.replace(",", "").split()
    theta, alpha = float(words[1]), float(words[3])
    best = likelihood(theta, alpha)
    for other_theta in np.linspace(0.2 * theta, 3 * theta, 40):
        for other_alpha in np.linspace(0.01, 0.98, 40):
            assert likelihood(other_theta, other_alpha) <= best + 1e-5
    stays = math.prod(
        (theta + alpha + m - 1) / (theta + m) for m in range(people, round(people / 0.2))
    )
    assert pitman.share == pytest.approx(stays * 40 / people, rel=1e-3)


def test_snb_solves_its_equations() -> None:
    sizes = np.array([1] * 60 + [2] * 14 + [3] * 6 + [4] * 4 + [7] * 2)
    fraction = 0.25
    snb = population_uniqueness(SizeFrequencies.of(sizes), fraction)[2]
    words = snb.note.replace(",", "").split()
    mean, shape = float(words[2]) - 1, float(words[4])
    total = sizes.sum() / fraction / (1 + mean)  # groups of the population
    sampled = np.zeros(3)  # expected groups, sample uniques, population uniques
    chance = (1 + mean / shape) ** -shape
    for more in range(4000):  # P(Y = more), and 1 + more people each sampled or not
        size = 1 + more
        sampled += chance * np.array(
            [
                1 - (1 - fraction) ** size,
                size * fraction * (1 - fraction) ** (size - 1),
                more == 0,
            ]
        )
        chance *= (shape + more) / size * mean / (mean + shape)
    assert total * sampled[0] == pytest.approx(len(sizes), rel=2e-3)
    assert total * sampled[1] == pytest.approx(60, rel=2e-3)
    assert total * sampled[2] * fraction / sizes.sum() == pytest.approx(snb.share, rel=2e-3)


def test_snb_does_not_converge_where_nothing_fits() -> None:
    """Groups of one size: fewer singles than even Poisson sizes would give."""
    sizes = SizeFrequencies.of(np.array([1] * 2 + [4] * 500))
    pitman, zayatz, snb = population_uniqueness(sizes, 0.5)
    assert (snb.share, snb.status) == (None, "not_converged")
    assert "no slide negative binomial" in snb.note
    assert choose((pitman, zayatz, snb), 0.5) is zayatz


# -- the decision rule ----------------------------------------------------------------------------


def made(pitman: float | None, zayatz: float | None, snb: float | None):
    return tuple(
        Uniqueness(model, share, "not_converged" if share is None else "converged", "why")
        for model, share in zip(MODELS, (pitman, zayatz, snb), strict=True)
    )


@pytest.mark.parametrize(
    ("shares", "fraction", "model"),
    [
        ((0.5, 0.1, 0.2), 0.1, "pitman"),
        ((0.5, 0.1, 0.2), 0.11, "zayatz"),
        ((0.1, 0.3, 0.2), 0.5, "snb"),
        ((0.1, 0.3, None), 0.5, "zayatz"),
        ((None, 0.3, 0.2), 0.1, "zayatz"),  # without Pitman: the most careful of what is left
        ((0.1, None, None), 0.5, "pitman"),
    ],
)
def test_the_rule_takes_what_converged(shares, fraction: float, model: str) -> None:
    assert choose(made(*shares), fraction).model == model


def test_if_nothing_converged_the_rule_says_so() -> None:
    chosen = choose(made(None, None, None), 0.1)
    assert (chosen.status, chosen.share) == ("not_converged", None)


# -- input and numerics ---------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0, -0.1, 1.01, math.nan, math.inf, "0.1", True, None])
def test_what_is_no_sampling_fraction_is_refused(fraction) -> None:
    with pytest.raises(sf.InputError, match=r"sampling_fraction = .* above 0 and at most 1"):
        population_uniqueness(SizeFrequencies.of(np.array([1, 2])), fraction)


def test_nobody_has_no_uniqueness() -> None:
    with pytest.raises(sf.InputError, match="at least one group"):
        population_uniqueness(SizeFrequencies.of(np.array([], dtype=np.int64)), 0.5)


@given(st.floats(1e-6, 1e6), st.integers(0, 300), st.sampled_from([0.01, 0.3, 1, 2]))
def test_harmonic_sums(first: float, terms: int, step: float) -> None:
    expected = math.fsum(1 / (first + i * step) for i in range(terms))
    assert uniqueness._harmonic(first, terms, step) == pytest.approx(expected, rel=1e-12)


def test_large_samples_take_no_time_and_stay_finite() -> None:
    sizes = SizeFrequencies(np.arange(1.0, 4000), np.ceil(1e7 / np.arange(1.0, 4000) ** 2))
    for estimate in population_uniqueness(sizes, 1e-6):
        assert estimate.share is None or 0 <= estimate.share <= 1
