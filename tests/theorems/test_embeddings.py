"""Prior definitions as special cases of epsilon-privacy (realistic, Section 4), as properties.

Every comparison is between fractions, so that "if and only if" means it.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.release import as_it_stands
from tests.oracles.tables import Small, group_counts, tables

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "epsilon_privacy.json").read_text())
DIVERSITY = {Fraction(case["c"]) for case in GOLDEN["c2_diversity"]}


def needed(criterion: sf.EpsilonPrivacy, groups: sf.Groups) -> Fraction | None:
    """The smallest epsilon of all groups, exactly; None is infinity."""
    worst = Fraction(1)
    for g in range(len(groups)):
        binding = criterion.binding(groups, g)
        assert binding is not None
        if binding.shift.epsilon is None:
            return None
        worst = max(worst, binding.shift.epsilon)
    return worst


def within(found: Fraction | None, bound: Fraction) -> bool:
    return found is not None and found <= bound


def against(shape, stubbornness, **more) -> sf.EpsilonPrivacy:
    return sf.EpsilonPrivacy(2, sf.RealisticAdversary(shape, stubbornness, **more))


# -- (c, 2)-diversity -----------------------------------------------------------------------------


def diversity_epsilon(c: Fraction, k: int) -> Fraction:
    """Eq. 6 with max instead of the printed min."""
    return max(k * c / (c + 1), (c + 1) * (k - 1) / k)


def test_the_epsilon_of_c_2_diversity_is_the_golden_one() -> None:
    for case in GOLDEN["c2_diversity"]:
        c, k = Fraction(case["c"]), case["k"]
        assert diversity_epsilon(c, k) == Fraction(case["eps_correct_max"])
        smaller = min(k * c / (c + 1), (c + 1) * (k - 1) / k)
        assert smaller == Fraction(case["eps_paper_min"])
    assert all(diversity_epsilon(c, 2) == (c + 1) / 2 for c in DIVERSITY if c >= 1)


@given(st.data())
def test_c_2_diversity_is_privacy_against_an_endless_uniform_prior(data) -> None:
    k = data.draw(st.integers(2, 6))
    counts = data.draw(st.lists(group_counts(k, 12), min_size=1, max_size=3))
    c = data.draw(st.sampled_from(sorted(DIVERSITY)))
    diverse = all(max(one) * (c + 1) <= c * sum(one) for one in counts)  # not strict
    found = needed(against("uniform", math.inf, at_most=False), sf.Groups(counts))
    assert within(found, diversity_epsilon(c, k)) is diverse


@given(st.data())
def test_strict_recursive_diversity_implies_it(data) -> None:
    k = data.draw(st.integers(2, 4))
    groups = sf.Groups([data.draw(group_counts(k, 12))])
    c = data.draw(st.sampled_from([1, 2, 3, 4, 10]))
    if sf.RecursiveDiversity(c, 2).verdict(groups).holds:
        found = needed(against("uniform", math.inf, at_most=False), groups)
        assert within(found, diversity_epsilon(Fraction(c), k))


# -- t-closeness ----------------------------------------------------------------------------------


def distance(counts: tuple[int, ...], shares: list[Fraction]) -> Fraction:
    """Variational distance, the earth mover's with equal ground distances."""
    size = sum(counts)
    return sum(abs(Fraction(n, size) - p) for n, p in zip(counts, shares, strict=True)) / 2


@given(small=tables(covering=True))
def test_t_closeness_implies_privacy_against_the_table_s_own_prior(small: Small) -> None:
    """The corrected Lemma 1; the printed one fails where t exceeds a share (golden)."""
    whole = sum(small.reference)
    shares = [Fraction(n, whole) for n in small.reference]
    t = max(distance(counts, shares) for counts in small.counts)
    present = [p for p in shares if p > 0]
    assume(t < min(1 - p for p in present))
    epsilon = max(max((p + t) / p, (1 - p) / (1 - p - t)) for p in present)
    assert within(needed(against("table", math.inf, at_most=False), small.groups), epsilon)


@given(
    weights=st.lists(st.integers(1, 4), min_size=2, max_size=3),
    times=st.integers(1, 2),
    moved=st.integers(0, 9),
)
def test_the_epsilon_of_a_closeness_is_the_largest_that_a_close_group_needs(
    weights: list[int], times: int, moved: int
) -> None:
    """By every group of the table's size: none needs more, and some group needs that much."""
    people = sum(weights) * times
    t = Fraction(moved, people)
    assume(t <= 1)
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    close = [
        counts
        for counts in product(range(people + 1), repeat=len(weights))
        if sum(counts) == people and distance(counts, shares) <= t
    ]
    criterion = against("table", math.inf, at_most=False)
    found = needed(criterion, sf.Groups(close, reference=weights))
    epsilon = sf.epsilon_of_closeness(float(t), weights)
    if t != Fraction(str(float(t))):  # no decimal says this t
        assert epsilon > 1e9 if found is None else epsilon == pytest.approx(float(found))
        return
    assert epsilon == (math.inf if found is None else pytest.approx(float(found), rel=1e-15))
    assert found is None or found <= Fraction(str(epsilon))


@given(
    weights=st.lists(st.integers(0, 30), min_size=1, max_size=5).filter(any),
    thousandths=st.integers(1000, 9000),
)
def test_back_from_epsilon_to_closeness(weights: list[int], thousandths: int) -> None:
    epsilon = thousandths / 1000
    t = sf.closeness_of_epsilon(epsilon, weights)
    assert sf.epsilon_of_closeness(t, weights) <= epsilon * (1 + 1e-15)
    if sum(weight > 0 for weight in weights) > 1:
        assert sf.epsilon_of_closeness(min(t + 1e-9, 1), weights) > epsilon
    else:
        assert t == 1


def test_closeness_is_asked_of_tables_releases_and_groups() -> None:
    rows = pa.table({"q": ["a", "b", "b", "a"], "s": ["flu", "flu", "HIV", "HIV"]})
    table = sf.read(rows, sf.Schema(quasi=["q"], sensitive="s"), threads=1)
    release = as_it_stands(table)
    for shares in (table, release, release.groups, {"flu": 2, "HIV": 2}, [0.5, 0.5]):
        assert sf.epsilon_of_closeness(0.25, shares) == 2
        assert sf.closeness_of_epsilon(2, shares) == 0.25
    for shares in ([], [0, 0], [-1, 2], ["x"], {"flu": math.nan}):
        with pytest.raises(sf.InputError, match="shares"):
            sf.epsilon_of_closeness(0.1, shares)
    with pytest.raises(sf.PolicyError, match="t = 2 is not allowed"):
        sf.epsilon_of_closeness(2, [1, 1])


@given(small=tables(covering=True))
def test_perfect_privacy_is_the_table_s_distribution_in_every_group(small: Small) -> None:
    whole = sum(small.reference)
    shares = [Fraction(n, whole) for n in small.reference]
    perfect = all(distance(counts, shares) == 0 for counts in small.counts)
    found = needed(against("table", math.inf, at_most=False), small.groups)
    assert within(found, Fraction(1)) is perfect
    assert sf.TCloseness(0).verdict(small.groups).holds is perfect


@given(reference=group_counts(3), times=st.integers(1, 5))
def test_a_group_like_the_table_is_perfectly_private(reference, times: int) -> None:
    assume(all(reference))
    groups = sf.Groups([[n * times for n in reference]], reference=reference)
    criterion = sf.EpsilonPrivacy(1, sf.RealisticAdversary("table", math.inf, at_most=False))
    assert criterion.verdict(groups).holds


# -- differential privacy's adversary -------------------------------------------------------------


@given(small=tables(), bound=st.integers(1, 10**6))
def test_no_group_withstands_an_endless_prior_of_any_shape(small: Small, bound: int) -> None:
    """Class IV is infinite, and that is no convention: class II passes every bound on the way."""
    assume(small.width > 1)
    endless = against(None, math.inf)
    assert math.isinf(endless.measure(small.groups).value)
    assert not endless.holds(small.groups).any()
    enough = max(map(sum, small.counts)) * bound + 2 + small.width
    found = needed(against(None, enough), small.groups)
    assert found is None or found > bound


# -- between classes ------------------------------------------------------------------------------


@given(data=st.data())
def test_a_known_shape_is_never_worse_than_any_shape(data) -> None:
    width = data.draw(st.integers(2, 4))
    counts = data.draw(st.lists(group_counts(width, 12), min_size=1, max_size=3))
    weights = data.draw(st.tuples(*[st.integers(1, 30)] * width))
    known = data.draw(st.integers(0, 2))
    total = sum(weights)
    shape = {str(code): Fraction(weight, total) for code, weight in enumerate(weights)}
    groups = sf.Groups(counts)
    one = needed(against(shape, total, known=known), groups)
    two = needed(against(None, total, known=known), groups)
    assert two is None or within(one, two)


@given(data=st.data())
def test_an_endless_prior_is_the_limit_of_stubborn_ones(data) -> None:
    counts = data.draw(group_counts(3, 12))
    parts = data.draw(st.tuples(*[st.integers(1, 9)] * 3))
    shape = {str(code): Fraction(part, sum(parts)) for code, part in enumerate(parts)}
    groups = sf.Groups([counts])
    limit = against(shape, math.inf, at_most=False).measure(groups).value
    near = against(shape, 10**12, at_most=False).measure(groups).value
    assert near == limit or abs(near / limit - 1) < 1e-6


@given(data=st.data())
def test_any_size_is_never_less_than_a_size_and_no_more_than_its_two_ends(data) -> None:
    """What "unsure of the size" promises, which the paper's class III (Fig. 1) does not keep."""
    width = data.draw(st.integers(2, 4))
    groups = sf.Groups(data.draw(st.lists(group_counts(width, 12), min_size=1, max_size=3)))
    parts = data.draw(st.tuples(*[st.integers(1, 9)] * width))
    shape = {str(code): Fraction(part, sum(parts)) for code, part in enumerate(parts)}
    known = data.draw(st.integers(0, 2))
    fewest = 1 / min(shape.values())
    times = data.draw(st.fractions(1, 1000))
    any_size = needed(against(shape, math.inf, known=known), groups)
    for at_most in (True, False):
        one = needed(against(shape, fewest * times, known=known, at_most=at_most), groups)
        assert any_size is None or within(one, any_size)
    ends = [
        needed(against(shape, sigma, known=known, at_most=False), groups)
        for sigma in (fewest, math.inf)
    ]
    assert any_size == (None if None in ends else max(ends))


# -- merging --------------------------------------------------------------------------------------


@given(data=st.data())
def test_two_groups_that_hold_hold_when_merged(data) -> None:
    """For every epsilon at once: merged, no more is needed than by the worse of the two."""
    width = data.draw(st.integers(2, 4))
    one, other = data.draw(group_counts(width, 15)), data.draw(group_counts(width, 15))
    merged = tuple(map(sum, zip(one, other, strict=True)))
    values = [str(code) for code in range(width)]
    weights = data.draw(st.tuples(*[st.integers(1, 40)] * width))
    scale = data.draw(st.sampled_from([Fraction(1, 1), Fraction(1, 3), Fraction(7, 2)]))
    total = max(sum(weights) * scale, Fraction(1))
    shape = {value: Fraction(w, sum(weights)) for value, w in zip(values, weights, strict=True)}
    known = data.draw(st.integers(0, 3))
    her = data.draw(
        st.sampled_from(
            [
                sf.RealisticAdversary(shape, total, known=known, at_most=False),
                sf.RealisticAdversary(shape, max(total, 1 / min(shape.values())), known=known),
                sf.RealisticAdversary(stubbornness=total + width, known=known),
                sf.RealisticAdversary(shape, math.inf, known=known),
                sf.RealisticAdversary(shape, math.inf, known=known, at_most=False),
            ]
        )
    )
    listed = [[values[0]], values[:2], {"not": values[-1]}]
    predicates = data.draw(st.sampled_from(["values", "all", listed]))
    mode = data.draw(st.sampled_from(["exact", "theorem"]))
    criterion = sf.EpsilonPrivacy(2, her, predicates=predicates, mode=mode)
    assume(criterion.verdict(sf.Groups([one], values)).status != "not_applicable")

    def epsilon(counts: tuple[int, ...]) -> Fraction | None:
        binding = criterion.binding(sf.Groups([counts], values), 0)
        return Fraction(1) if binding is None else binding.shift.epsilon

    parts = [epsilon(one), epsilon(other)]
    if None not in parts:
        assert within(epsilon(merged), max(parts))
