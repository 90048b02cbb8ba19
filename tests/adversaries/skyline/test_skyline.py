"""How sure somebody becomes who knows (l, k, m): golden values, brute force, exact ties, errors."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.skyline.breach import (
    breach,
    combine,
    exact_factor,
    factor_bounds,
    minima,
    safe,
)
from sfumato.errors import InputError
from sfumato.papers.skyline import breach_by_programming
from tests.adversaries.skyline.tiny_releases import (
    CASES,
    GOLDEN,
    golden,
    golden_groups,
    groups_of,
    tinies,
)
from tests.examples import few
from tests.oracles.skyline_oracle import Tiny

POINTS = [(l, k, m) for l in range(3) for k in range(3) for m in range(3)]  # noqa: E741
each_case = pytest.mark.parametrize("case", CASES)
AN_EPSILON = Fraction(1, 10**30)


@each_case
def test_every_golden_point_is_exact(case) -> None:
    asked = 0
    for candidate in golden(case):
        groups = golden_groups(candidate, case)
        target = groups.values.index(candidate["sigma"])
        points = [(point["l"], point["k"], point["m"]) for point in candidate["points"]]
        expected = [Fraction(point["bp"]) for point in candidate["points"]]
        targets = [target] * len(points)
        found = breach(minima(groups, targets, points, case))
        assert found == pytest.approx([float(one) for one in expected], abs=1e-14)
        for place in range(0, len(points), 3):
            tie = expected[place]
            for bound, good in ((tie, False), (tie - AN_EPSILON, False), (tie + AN_EPSILON, True)):
                if 0 < bound <= 1 and tie:
                    holds = safe(groups, [target], [points[place]], [bound], case)[1]
                    assert bool(holds[0]) is good
        asked += len(points)
    assert asked > 1_000


@each_case
@settings(max_examples=few(60))
@given(data=st.data())
def test_it_is_what_enumerating_every_reconstruction_finds(case, data) -> None:
    tiny = data.draw(tinies(case))
    groups = groups_of(tiny)
    for sigma in range(tiny.width):
        found = breach(minima(groups, [sigma] * len(POINTS), POINTS, case))
        for place in data.draw(st.lists(st.integers(0, len(POINTS) - 1), min_size=4, max_size=4)):
            expected = tiny.breach(sigma, POINTS[place])
            assert found[place] == pytest.approx(float(expected), abs=1e-13), POINTS[place]
            if expected:
                shapes = np.array(
                    [
                        [n, c[sigma], *sorted(c[:sigma] + c[sigma + 1 :])[::-1][: POINTS[place][0]]]
                        for n, c in tiny.groups
                    ]
                )
                _, k, m = POINTS[place]
                odds = combine(
                    lambda factor, shapes=shapes, k=k, m=m: min(
                        exact_factor(factor, shape, k, m, case) for shape in shapes
                    )
                )
                assert 1 / (1 + odds) == expected


@given(data=st.data())
def test_no_distribution_of_facts_over_groups_is_worse(data) -> None:
    width = data.draw(st.integers(1, 4))
    group = st.lists(st.integers(0, 6), min_size=width, max_size=width).filter(any)
    counts = data.draw(st.lists(group, min_size=1, max_size=4))
    point = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)))
    found = sf.breach_probability(sf.Groups(counts), "0", *point)
    assert found == pytest.approx(breach_by_programming(counts, 0, *point), abs=1e-12)


@each_case
@given(data=st.data())
def test_one_pass_over_all_is_one_pass_for_each(case, data) -> None:
    """Few questions are scanned one by one, many together; both are the minima of the factors."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    width, large = int(rng.integers(33, 40)), int(rng.choice([4, 40, 400]))
    counts = rng.integers(0, large, (int(rng.integers(1, 6)), width)) * (rng.random(width) < 0.5)
    counts[:, 0] += 1
    sizes = counts.sum(axis=1) if case == "single" else counts.max(axis=1) + rng.integers(0, 9)
    groups = sf.Groups(counts, sizes=sizes, case=case)
    points = rng.integers(0, [12, 9, 9], (40, 3))
    targets = rng.integers(0, width, 40)
    together = minima(groups, targets, points, case)
    assert together == pytest.approx(
        factor_bounds(groups, targets, points, case).least.min(axis=0), rel=1e-13
    )
    one_by_one = [minima(groups, [t], [p], case)[0] for t, p in zip(targets, points, strict=True)]
    assert together == pytest.approx(np.array(one_by_one), rel=1e-13)


def test_many_groups_are_shared_among_threads() -> None:
    rng = np.random.default_rng(5)
    groups = sf.Groups(rng.multinomial(40, [1 / 8] * 8, size=70_000))
    points = [(3, 2, 2), (0, 9, 1)]
    found = minima(groups, [2, 5], points, "single")
    assert np.array_equal(found, factor_bounds(groups, [2, 5], points, "single").least.min(axis=0))


@each_case
@settings(max_examples=few(30))
@given(data=st.data())
def test_more_knowledge_never_makes_less_sure(case, data) -> None:
    groups = groups_of(data.draw(tinies(case, people=30, worlds=10**9)))
    found = breach(minima(groups, [0] * len(POINTS), POINTS, case)).reshape(3, 3, 3)
    for axis in range(3):
        assert (np.diff(found, axis=axis) >= -1e-15).all()


# -- edges ----------------------------------------------------------------------------------------


@each_case
def test_a_value_nobody_has_is_never_believed(case) -> None:
    groups = sf.Groups([[0, 2], [0, 3]], ["A", "B"], [2, 3], case=case)
    assert sf.breach_probability(groups, "A", 5, 50, 50) == 0


def test_one_group_and_more_facts_than_there_are() -> None:
    groups = sf.Groups([[2, 3, 5]], ["A", "B", "C"])
    assert sf.breach_probability(groups, "A", 0, 0, 0) == pytest.approx(0.2)
    assert sf.breach_probability(groups, "A", 1, 0, 0) == pytest.approx(0.4)
    assert sf.breach_probability(groups, "A", 2, 0, 0) == 1
    assert sf.breach_probability(groups, "A", 99, 0, 0) == 1
    assert sf.breach_probability(groups, "A", 0, 8, 0) == 1
    assert sf.breach_probability(groups, "A", 0, 10**6, 10**6) == 1
    assert sf.breach_probability(groups, "A", 0, 4, 5) == 1


def test_a_group_without_the_value_says_nothing_however_much_is_known() -> None:
    """V is 1 there, not 0 / 0, where k + m reach its size."""
    alone = sf.Groups([[1, 1, 2]], ["A", "B", "C"])
    beside = sf.Groups([[1, 1, 2], [0, 1, 0]], ["A", "B", "C"])
    for point in ((0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 0, 2)):
        expected = sf.breach_probability(alone, "A", *point)
        assert sf.breach_probability(beside, "A", *point) == expected


def test_labelled_occurrences_are_counted_in_a_multiset() -> None:
    groups = sf.Groups([[2]], ["A"], [2], case="multiset")
    assert sf.breach_probability(groups, "A", 0, 0, 0) == pytest.approx(0.75)


def test_merging_groups_of_sets_can_make_surer() -> None:
    apart = sf.Groups([[0, 1, 1], [1, 0, 0]], list("ABC"), [1, 3], case="set")
    merged = sf.Groups([[1, 1, 1]], list("ABC"), [4], case="set")
    assert sf.breach_probability(apart, "A", 2, 0, 0) == pytest.approx(1 / 3)
    assert sf.breach_probability(merged, "A", 2, 0, 0) == pytest.approx(16 / 43)


def test_negative_over_negative_is_not_taken_for_positive() -> None:
    groups = sf.Groups([[3, 1]], ["A", "B"])
    for m in range(1, 9):
        assert sf.breach_probability(groups, "A", 0, 2, m) == 1


@each_case
def test_ties_are_decided_in_fractions(case) -> None:
    groups = sf.Groups([[1, 1, 1]], list("ABC"))
    third = Fraction(1, 3) if case != "multiset" else 1 - Fraction(2, 3)
    for bound, good in ((third, False), (third + AN_EPSILON, True), (third - AN_EPSILON, False)):
        found, holds = safe(groups, [0], [(0, 0, 0)], [bound], case)
        assert bool(holds[0]) is good
        assert bool(found[0] < float(bound)) is good


def test_certainty_short_of_one_is_below_one() -> None:
    """Odds of 1e-30 are still odds: confidence 1 is kept although the float is 1."""
    groups = sf.Groups([[900, 100]], ["A", "B"])
    found, holds = safe(groups, [0], [(0, 0, 14)], [Fraction(1)], "single")
    assert sf.breach_probability(groups, "A", 0, 0, 14) > 1 - 1e-12
    assert holds[0]
    assert found[0] < 1


def test_odds_too_small_for_a_float_are_decided_exactly() -> None:
    """In floats this product of 4,000 factors is 0; it is not."""
    groups = sf.Groups([[5_000, 5_000]], ["A", "B"])
    point = (0, 0, 4_000)
    assert sf.breach_probability(groups, "A", *point) == 1
    assert safe(groups, [0], [point], [Fraction(1)], "single")[1][0]
    assert not safe(groups, [0], [point], [1 - AN_EPSILON], "single")[1][0]


def test_what_cannot_be_worked_out_is_not_safe() -> None:
    groups = sf.Groups([[10**6, 10**6]], ["A", "B"], [10**6], case="multiset")
    point = (1, 0, 10**6 - 1)
    assert not safe(groups, [0], [point], [Fraction(1)], "multiset")[1][0]


def test_tiny_confidences_do_not_overflow() -> None:
    groups = sf.Groups([[1, 10**6], [0, 1]], ["A", "B"])
    bounds = [Fraction("1e-320"), Fraction("1e-5")]
    holds = safe(groups, [0, 0], [(0, 0, 0)] * 2, bounds, "single")[1]
    assert holds.tolist() == [False, True]


def test_large_counts_keep_their_precision() -> None:
    groups = sf.Groups([[10**15, 10**15 + 1]], ["A", "B"])
    for bound, good in ((Fraction(1, 2), True), (Fraction(1, 2) - Fraction(1, 10**15), False)):
        assert bool(safe(groups, [0], [(0, 0, 0)], [bound], "single")[1][0]) is good


# -- how it is called -----------------------------------------------------------------------------


def test_a_release_is_asked_by_its_column(tmp_path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("zip,disease,job\n1,flu,a\n1,cold,a\n1,flu,b\n2,flu,b\n2,cold,b\n")
    table = sf.read(file, sf.Schema(quasi="zip", sensitive=["disease", "job"]))
    release = sf.generalize(table, {"zip": 0})
    assert sf.breach_probability(release, "flu", 0, 0, 0) == pytest.approx(2 / 3)
    assert sf.breach_probability(release, "b", 0, 0, 0, sensitive="job") == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g: sf.breach_probability(g, "Flue", 0, 0, 0), "did you mean 'Flu'?"),
        (lambda g: sf.breach_probability(g, "Flu", -1, 0, 0), "l = -1"),
        (lambda g: sf.breach_probability(g, "Flu", 0, 0.5, 0), "k = 0.5"),
        (lambda g: sf.breach_probability(g, "Flu", 0, 0, True), "m = True"),
        (lambda g: sf.breach_probability(g, "Flu", 0, 0, 10**12), "m = 1000000000000"),
        (lambda g: sf.breach_probability(g, "Flu", 0, 0, 0, case="sets"), "case = 'sets'"),
        (lambda g: sf.breach_probability(3, "Flu", 0, 0, 0), "Groups or a Release"),
    ],
)
def test_mistakes_are_answered_in_one_line(call, words) -> None:
    with pytest.raises(InputError) as caught:
        call(sf.Groups([[2, 2]], ["Flu", "Cold"]))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_case_that_cannot_be_is_refused() -> None:
    several = sf.Groups([[2, 2]], ["A", "B"], [3], case="set")
    with pytest.raises(InputError, match="several values each"):
        sf.breach_probability(several, "A", 0, 0, 0, case="single")
    repeated = sf.Groups([[3]], ["A"], [2], case="multiset")
    with pytest.raises(InputError, match="more often"):
        sf.breach_probability(repeated, "A", 0, 0, 0, case="set")


def test_the_people_she_knows_are_none_of_the_family() -> None:
    """Otherwise one relative known to have the value would give the target away."""
    tiny = Tiny(((4, (1, 1, 2)), (4, (1, 1, 2))), "single")
    assert tiny.breach(1, (0, 1, 1)) == Fraction(1, 2)
    assert sf.breach_probability(groups_of(tiny), "B", 0, 1, 1) == pytest.approx(0.5)


def test_the_oracle_itself_knows_the_papers_figure() -> None:
    """Fig. 3: what is said of Tom, whose group has AIDS, Cancer and twice Flu."""
    tiny = Tiny(((4, (2, 0, 2)), (4, (1, 1, 2))), "single")
    values = ["AIDS", "Cancer", "Flu"]
    who = {"Ann": (0, 0), "Bob": (0, 1), "Cary": (0, 2)}
    who |= {"Tom": (1, 0), "Gary": (1, 1), "Frank": (1, 2)}
    told = json.loads((GOLDEN / "skyline_svpi.json").read_text(encoding="utf-8"))["fig3_explicit"]
    for one in told:
        target, known = who[one["target"]], tiny.every
        for value in one["not_values"]:
            known &= tiny.about_target(target, 0, values.index(value))
        for name, value in one["known"]:
            known &= tiny.has[who[name], values.index(value)]
        for name in one["family"]:
            known &= tiny.of_family(target, who[name], 0)
        assert tiny.chance(target, 0, known) == Fraction(one["pr"])
    assert len(told) == 7
