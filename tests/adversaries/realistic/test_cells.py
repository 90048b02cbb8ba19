"""Priors by cell: everybody's value enumerated; one cell; outside tables; what is not judged."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.realistic.cells import MOST_STATES, small
from sfumato.criteria.base import groups_about, judge
from tests.examples import few
from tests.oracles.dirichlet_oracle import needed_by_cell

CELLS, VALUES = "FMX", "abc"
SCHEMA = sf.Schema(quasi=["sex", "age"], sensitive="s", hierarchies={"sex": sf.suppression()})


def table(rows: list[tuple[str, str]], ages: list[int] | None = None) -> sf.Table:
    sexes, values = zip(*rows, strict=True)
    columns = {"sex": sexes, "age": ages or [30] * len(rows), "s": values}
    return sf.read(pa.table(columns), SCHEMA, threads=1)


def one_group(rows: list[tuple[str, str]], ages: list[int] | None = None) -> sf.Release:
    return sf.generalize(table(rows, ages), {"sex": 1, "age": 0})


def listed(priors: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"class": {"sex": cell}, "shares": shares} for cell, shares in priors.items()]


def needed(criterion: sf.EpsilonPrivacy, release: sf.Release) -> Fraction | None:
    (groups,) = groups_about(criterion, release)
    binding = criterion.binding(groups, 0)
    assert binding is not None
    return binding.shift.epsilon


@settings(max_examples=few(25))
@given(st.data())
def test_p_in_and_p_out_are_those_of_an_urn_for_every_cell(data) -> None:
    width, many = data.draw(st.integers(2, 3)), data.draw(st.integers(2, 3))
    people = data.draw(st.integers(2, 4 if width == 2 else 3))
    cells = data.draw(st.lists(st.integers(0, many - 1), min_size=people, max_size=people))
    values = data.draw(st.lists(st.integers(0, width - 1), min_size=people, max_size=people))
    endless = data.draw(st.booleans())
    least = data.draw(st.sampled_from((0, 1))) if endless else 1  # shares may rule a value out
    numbers = st.tuples(*[st.integers(least, 6)] * width).filter(any)
    priors = [data.draw(numbers) for _ in range(many)]
    assume(len(set(values)) == width)  # every value of hers is one of the table's
    predicates = data.draw(st.sampled_from(("values", "all")))
    counts = tuple(values.count(code) for code in range(width))
    singles: list[Any] = [{code} for code in range(width)]
    sets = singles + [set(range(width)) - one for one in singles] * (predicates == "all")
    right = needed_by_cell(
        counts, cells, [[Fraction(w) for w in prior] for prior in priors], sets, endless=endless
    )
    rows = [(CELLS[cell], VALUES[value]) for cell, value in zip(cells, values, strict=True)]
    shapes = {
        CELLS[at]: {
            VALUES[code]: Fraction(w, sum(prior)) if endless else w - 1
            for code, w in enumerate(prior)
        }
        for at, prior in enumerate(priors)
    }
    # Counts say what was seen: each value has a weight of one more.
    assume(endless or all(sum(prior) > width for prior in priors))
    her = sf.RealisticAdversary(listed(shapes), math.inf if endless else None, at_most=False)
    criterion = sf.EpsilonPrivacy(2, her, predicates=predicates)
    release = one_group(rows)
    assert needed(criterion, release) == right
    verdict = judge(criterion, release)
    exact = math.inf if right is None else float(right)
    assert verdict.measured == pytest.approx(exact, rel=1e-9)
    assert verdict.holds is (right is not None and right <= 2)


people_of_cells = st.tuples(
    st.sampled_from("FM"), st.sampled_from((30, 40)), st.sampled_from(VALUES[:2]), st.integers(1, 9)
)


@settings(max_examples=few(25))
@given(st.lists(people_of_cells, min_size=3, max_size=7), st.data())
def test_who_is_suppressed_is_in_no_group_and_weights_are_no_people(
    rows: list[tuple[str, int, str, int]], data
) -> None:
    """By every world of each published group."""
    columns = dict(zip(("sex", "age", "s", "w"), map(list, zip(*rows, strict=True)), strict=True))
    schema = replace(SCHEMA, weight="w")
    people = sf.read(pa.table(columns), schema, threads=1)
    ages = Counter(columns["age"])
    assume(max(ages.values()) <= 4 and max(ages.values()) > 1)
    release = sf.generalize(
        people, {"sex": 1, "age": 0}, require=[sf.KAnonymity(2)], suppression=0.5
    )
    values = sorted(set(columns["s"]))
    numbers = st.tuples(*[st.integers(1, 5)] * len(values)).filter(lambda many: sum(many) > 2)
    priors = [data.draw(numbers) for _ in "FM"]
    weights = [[Fraction(weight) for weight in prior] for prior in priors]
    needs = []
    for age in (age for age, n in ages.items() if n > 1):
        mine = [(sex, value) for sex, own, value, _ in rows if own == age]
        counts = tuple(sum(value == own for _, own in mine) for value in values)
        cells = ["FM".index(sex) for sex, _ in mine]
        needs.append(
            needed_by_cell(counts, cells, weights, [{code} for code in range(len(values))])
        )
    right = None if None in needs else max(filter(None, needs))
    shapes = {
        sex: {value: weight - 1 for value, weight in zip(values, prior, strict=True)}
        for sex, prior in zip("FM", priors, strict=True)
    }
    her = sf.RealisticAdversary(listed(shapes), at_most=False)
    criterion = sf.EpsilonPrivacy(2, her)
    verdict = judge(criterion, release)
    assert verdict.measured == pytest.approx(math.inf if right is None else float(right), rel=1e-9)
    assert verdict.holds is (right is not None and right <= 2)


def test_a_group_of_both_sexes_tells_more_than_its_shares() -> None:
    """Among men flu is rare and among women common: six people, and p_in is not one half."""
    rows = [("F", "a"), ("F", "a"), ("F", "b"), ("M", "b"), ("M", "b"), ("M", "a")]
    shares = {"F": {"a": 0.9, "b": 0.1}, "M": {"a": 0.1, "b": 0.9}}
    sharp = sf.RealisticAdversary(listed(shares), 50, at_most=False)
    apart = needed(sf.EpsilonPrivacy(2, sharp), one_group(rows))
    priors = [[Fraction(45), Fraction(5)], [Fraction(5), Fraction(45)]]
    assert apart == needed_by_cell((3, 3), [0, 0, 0, 1, 1, 1], priors, [{0}, {1}])
    blunt = sf.RealisticAdversary({"a": 0.5, "b": 0.5}, 50, at_most=False)
    alike = needed(sf.EpsilonPrivacy(2, blunt), one_group(rows))
    assert apart != alike


def test_many_people_and_large_weights_stay_within_floats() -> None:
    """As stubborn as can be is as stubborn as infinitely so; p_in is a mixture of both cells'."""
    rows = [(sex, value) for sex in "FM" for value in "ab" for _ in range(50)]
    shares = {"F": {"a": 0.7, "b": 0.3}, "M": {"a": 0.2, "b": 0.8}}
    release = one_group(rows)
    found = [
        judge(
            sf.EpsilonPrivacy(2, sf.RealisticAdversary(listed(shares), seen, at_most=False)),
            release,
        )
        for seen in (1e9, 1e13, math.inf)
    ]
    measured = [verdict.measured for verdict in found]
    assert measured[1] == pytest.approx(measured[2], rel=1e-6)
    assert 1 < measured[0] < 2


def test_a_group_that_is_next_to_impossible_is_counted_or_infinite() -> None:
    """Of 141 men who hardly ever have b 126 or more must: p_in against sums of logarithms."""
    women, men, shown, rare, common = 192, 141, 15, 0.01, 0.999

    def log_chance(k: int) -> float:
        ways = math.lgamma(women + 1) - math.lgamma(k + 1) - math.lgamma(women - k + 1)
        others = shown - k
        ways += math.lgamma(men + 1) - math.lgamma(others + 1) - math.lgamma(men - others + 1)
        ways += k * math.log(rare) + (women - k) * math.log(1 - rare)
        return ways + others * math.log(common) + (men - others) * math.log(1 - common)

    logs = [log_chance(k) for k in range(shown + 1)]
    chances = [math.exp(one - max(logs)) for one in logs]
    right = sum(k * chance for k, chance in enumerate(chances)) / sum(chances) / women
    rows = [("F", "b")] * women + [("M", "a")] * shown + [("M", "b")] * (men - shown)
    shares = {"F": {"a": rare, "b": 1 - rare}, "M": {"a": common, "b": 1 - common}}
    her = sf.RealisticAdversary(listed(shares), math.inf, at_most=False)
    (groups,) = groups_about(sf.EpsilonPrivacy(2, her), one_group(rows))
    beliefs = her.cell_prior(groups).beliefs(groups, 0)
    if all(belief.possible for belief in beliefs):  # not where long floats are short
        assert beliefs[0].p_in[0] == pytest.approx(right, rel=1e-9)


def test_a_large_group_of_almost_one_value_is_counted() -> None:
    rows = [("F", "a"), ("M", "a")] * 550 + [("F", "b")]
    shares = {sex: {"a": 0.9, "b": 0.1} for sex in "FM"}
    her = sf.RealisticAdversary(listed(shares), math.inf, at_most=False)
    alike = sf.RealisticAdversary(shares["F"], math.inf, at_most=False)
    measured = [judge(sf.EpsilonPrivacy(2, one), one_group(rows)).measured for one in (her, alike)]
    assert measured[0] == pytest.approx(measured[1], rel=1e-9)


def test_a_large_group_of_one_value_is_left_to_floats() -> None:
    """Fractions of 900 people have thousands of digits, though one value has 901 states only."""
    rows = [("F", "a"), ("M", "a")] * 450
    her = sf.RealisticAdversary(listed({sex: {"a": 9} for sex in "FM"}), at_most=False)
    criterion = sf.EpsilonPrivacy(2, her)
    for some, exactly in ((rows, False), (rows[:20], True)):
        release = one_group(some)
        (groups,) = groups_about(criterion, release)
        assert small(groups, 0) is exactly
        assert judge(criterion, release).measured == 1


@given(st.data())
def test_one_cell_is_one_prior(data) -> None:
    counts = data.draw(st.tuples(*[st.integers(0, 9)] * 3).filter(lambda some: sum(some) > 1))
    seen = data.draw(st.tuples(*[st.integers(0, 9)] * 3).filter(any))
    stubbornness = data.draw(st.sampled_from((None, 40, math.inf)))
    rows = [("F", VALUES[code]) for code, n in enumerate(counts) for _ in range(n)]
    shape = {VALUES[code]: n for code, n in enumerate(seen) if counts[code]}
    assume(any(shape.values()))
    cells = sf.RealisticAdversary(listed({"F": shape}), stubbornness, at_most=False)
    plain = sf.RealisticAdversary(shape, stubbornness, at_most=False)
    release = one_group(rows)
    for predicates in ("values", "all"):
        ours = sf.EpsilonPrivacy(3, cells, predicates=predicates)
        theirs = sf.EpsilonPrivacy(3, plain, predicates=predicates)
        assert needed(ours, release) == needed(theirs, release)
        assert judge(ours, release).status == judge(theirs, release).status


def test_an_outside_table_is_read_cell_by_cell_in_the_columns_it_has() -> None:
    rows = [("F", "a"), ("F", "b"), ("M", "b"), ("M", "a")]
    census = [("F", "a")] * 5 + [("F", "b")] + [("M", "b")] * 4
    schema = sf.Schema(quasi=["sex"], sensitive="s")
    sexes, values = zip(*census, strict=True)
    outside = sf.read(pa.table({"sex": sexes, "s": values}), schema, threads=1)
    her = sf.RealisticAdversary(outside, by_cell=True, at_most=False)
    same = listed({"F": {"a": 5, "b": 1}, "M": {"a": 0, "b": 4}})
    assert "outside, by cell" in str(her)
    release = one_group(rows, [30, 30, 30, 30])
    found = needed(sf.EpsilonPrivacy(2, her), release)
    assert found == needed(
        sf.EpsilonPrivacy(2, sf.RealisticAdversary(same, at_most=False)), release
    )
    stranger = one_group([*rows, ("X", "a")])
    verdict = judge(sf.EpsilonPrivacy(2, her), stranger)
    assert verdict.measured == math.inf
    assert "1 of 1 groups have people of a cell that her prior does not cover" in verdict.note
    report = sf.audit(release, [sf.EpsilonPrivacy(9, her)])
    (threat,) = [one for one in report.threats if one.adversary == "realistic I"]
    assert threat.covered == ("epsilon-privacy",)


@pytest.mark.parametrize(
    "how", [{}, {"by_region": True}, {"by_cell": True, "at_most": False}], ids=str
)
def test_values_only_she_knows_are_in_sets_of_all_others(how: dict[str, Any]) -> None:
    """Nobody of the table has c: "not a" takes it in, and that nobody has it is a disclosure."""
    rows = [("F", "a"), ("M", "b"), ("F", "b"), ("M", "a")]
    release = one_group(rows)
    outside = table([*rows, ("F", "c"), ("M", "c")])
    her = sf.RealisticAdversary(outside, **how)

    def judged(predicates: Any) -> Any:
        return judge(sf.EpsilonPrivacy(9, her, predicates=predicates), release)

    assert judged("values").holds
    assert judged([{"not": "a"}]).measured == 1
    assert "would lower her belief in not 'a'" in judged([{"not": "a"}]).note
    for predicates in ("all", [["a", "b"]]):
        assert judged(predicates).measured == math.inf
        assert "her belief in 'a' or 'b'" in judged(predicates).note


def test_what_she_held_impossible_is_told_as_that() -> None:
    shares = {"F": {"a": 0.5, "b": 0.5}, "M": {"a": 0.1, "b": 0.9}}
    her = sf.RealisticAdversary(listed(shares), 50, at_most=False)
    verdict = judge(
        sf.EpsilonPrivacy(2, her), one_group([("F", "a"), ("M", "b"), ("F", "c"), ("M", "b")])
    )
    assert verdict.measured == math.inf
    assert "shows what her prior holds impossible" in verdict.note


def test_what_cannot_be_judged_says_so(tmp_path: Path) -> None:
    both = listed({"F": {"a": 5, "b": 1}, "M": {"a": 1, "b": 4}})
    her = sf.RealisticAdversary(both, at_most=False)
    many = [(sex, value) for sex in "FM" for value in "ab" for _ in range(112)]
    assert MOST_STATES < 225**2
    verdict = judge(sf.EpsilonPrivacy(2, her), one_group(many))
    assert (verdict.status, "mix cells in more than 50,000 ways" in verdict.note) == (
        "not_applicable",
        True,
    )
    apart = sf.generalize(table(many), {"sex": 0, "age": 0})  # no cells are mixed there
    assert judge(sf.EpsilonPrivacy(2, her), apart).status == "holds"
    rows = [("F", "a"), ("M", "b"), ("M", "a")]
    knowing = sf.RealisticAdversary(both, known=1, at_most=False)
    assert "people she knows" in judge(sf.EpsilonPrivacy(2, knowing), one_group(rows)).note
    theorem = sf.EpsilonPrivacy(2, her, mode="theorem")
    assert "the theorem cannot be combined" in judge(theorem, one_group(rows)).note
    assert sf.EpsilonPrivacy(2, her).verdict(one_group(rows).groups).status == "not_applicable"
    policy = sf.Policy([sf.EpsilonPrivacy(2, her)], anonymizer=sf.Lattice(), schema=SCHEMA)
    with pytest.raises(sf.PolicyError, match="a prior by cell can be judged on a finished"):
        sf.anonymize(table(rows), policy)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shape": "table", "stubbornness": 9, "by_cell": True}, "by_cell needs an outside table"),
        ({"shape": listed({"F": {"a": 1}})}, "say so with at_most = false"),
        ({"shape": listed({"F": {"a": 1.0}}), "at_most": False}, "stubbornness is missing"),
        ({"shape": listed({"F": {"a": 1}}), "at_most": False, "by_cell": "yes"}, "by_cell = 'yes'"),
    ],
)
def test_mistakes(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.PolicyError, match=said):
        sf.RealisticAdversary(**given)


def test_cells_are_of_quasi_identifiers() -> None:
    for cells, said in (
        ([{"class": {"sx": "F"}, "shares": {"a": 1}}], "'sx' is no quasi-identifier; did you mean"),
        ([{"class": ["F"], "shares": {"a": 1}}], "lists 1 values, the table has 2"),
    ):
        her = sf.RealisticAdversary(cells, at_most=False)
        with pytest.raises(sf.InputError, match=said):
            judge(sf.EpsilonPrivacy(2, her), one_group([("F", "a"), ("M", "b")]))
