"""What learner and attacker are after, against every action and every table that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.adversaries.relative_threat.guesses import NOTHING, Gain, parse_gain
from sfumato.adversaries.relative_threat.result import exact_ti
from tests.oracles.gain_oracle import GainMeasures, Person, measures
from tests.oracles.relative_oracle import Tuple, Urns, enumerate_beliefs, region_worlds

PLACES, SEXES = ["a0", "a1", "b0"], ["F", "M"]
NEARBY = [(0, 1), (0, 1), (2,)]  # what each place is published as
SIZES = [3, 2]
SCHEMA: dict[str, Any] = {
    "quasi": ["place", "sex"],
    "hierarchies": {"place": sf.taxonomy({"a0": ["A"], "a1": ["A"], "b0": ["B"]})},
    "domains": {"sex": SEXES},
}
LEVELS = {"place": 1, "sex": 0}
Row = tuple[Tuple, Any]  # place and sex, and what she has
Seen = Callable[[Tuple, Tuple], Fraction]  # P(she is seen as the first | she is the second)


def exactly(seen: Tuple, true: Tuple) -> Fraction:
    return Fraction(seen == true)


def people(rows: Sequence[Row], weight: Fraction = Fraction(1), seen: Seen = exactly):
    """Everybody with what is believed of her, by enumerating the worlds of the release."""
    states = sorted({state for _, state in rows})
    published = [(states.index(s), [NEARBY[row[0]], [row[1]]]) for row, s in rows]
    everyone = list(product(*map(range, SIZES)))
    asked = [{one: seen(row, one) for one in everyone if seen(row, one)} for row, _ in rows]
    urns = Urns.even(len(states), SIZES, weight)
    found = enumerate_beliefs(region_worlds(published), urns, asked)
    return [
        Person(s, *(dict(zip(states, believed.shares(who), strict=True)) for who in WHO))
        for (_, s), believed in zip(rows, found, strict=True)
    ]


WHO = ("attacker", "learner")


def threat(rows: Sequence[Row], columns: dict[str, list[Any]], **options: Any) -> sf.RelativeThreat:
    data = {
        "place": [PLACES[row[0]] for row, _ in rows],
        "sex": [SEXES[row[1]] for row, _ in rows],
        **columns,
    }
    table = sf.read(pa.table(data), sf.Schema(sensitive=list(columns), **SCHEMA))
    return sf.relative_threat(sf.generalize(table, LEVELS), **options)


def assert_same(found: sf.RelativeThreat, expected: GainMeasures) -> None:
    told = found.measures
    assert told.gt_attacker == pytest.approx(float(expected.gt_attacker), abs=1e-12)
    assert told.gt_learner == pytest.approx(float(expected.gt_learner), abs=1e-12)
    assert told.rgt == pytest.approx(float(expected.rgt), abs=1e-12)
    assert told.attacker.any_mode == expected.threatened
    assert told.attacker.highest == pytest.approx(float(expected.highest), rel=1e-12)
    if found.question.clear:
        hit = np.flatnonzero(found.judged.attacker.hit > 0)
        exact = [exact_ti(found, case) for case in hit]
        assert max(exact, default=0) == expected.highest


def some_rows(seed: int, values: Sequence[Any], many: int = 7) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = [(int(rng.integers(3)), int(rng.integers(2))) for _ in range(many)]
    return [(row, values[rng.integers(len(values))]) for row in rows]


def worth(weights: dict[str, Fraction]) -> Callable[[object, Any], Fraction]:
    return lambda named, s: weights.get(s, Fraction(1)) if s in named else Fraction(0)


ACTIONS = {"either": {"u": 1, "v": 0.5}, "rare": {"w": 2, "x": 1}}


@pytest.mark.parametrize("seed", range(4))
def test_gains_of_one_value_are_those_of_every_action(seed: int) -> None:
    rows = some_rows(seed, "uuvwx")
    everybody, states = people(rows), sorted({s for _, s in rows})
    for top, weights in ((1, {}), (2, {}), (3, {}), (9, {}), (1, {states[-1]: Fraction(5)})):
        named = list(combinations(states, min(top, len(states))))
        gain = {value: float(w) for value, w in weights.items()} or f"top {top}"
        found = threat(rows, {"s": [s for _, s in rows]}, gain=gain)
        assert_same(found, measures(everybody, named, worth(weights)))
    usual = threat(rows, {"s": [s for _, s in rows]})
    assert usual.measures == threat(rows, {"s": [s for _, s in rows]}, gain="top 1").measures
    listed = {a: {s: w for s, w in by.items() if s in states} for a, by in ACTIONS.items()}
    listed = {a: by for a, by in listed.items() if by}
    found = threat(rows, {"s": [s for _, s in rows]}, gain=listed)
    expected = measures(everybody, list(listed), lambda a, s: Fraction(listed[a].get(s, 0)))
    assert_same(found, expected)


def test_nothing_to_gain_is_refused() -> None:
    rows = some_rows(0, "uv")
    with pytest.raises(sf.InputError, match="no value of 's' is worth anything"):
        threat(rows, {"s": [s for _, s in rows]}, gain={"u": 0, "v": 0})


LISTS = [("flu",), ("flu", "hiv"), ("hiv", "tb"), ("tb",), ()]


@pytest.mark.parametrize("seed", range(3))
def test_people_with_several_values_have_one_list(seed: int) -> None:
    rows = some_rows(seed, LISTS, 6)
    everybody = people(rows)
    values = sorted({value for _, listed in rows for value in listed or (NOTHING,)})

    def having(weights: dict[str, int]) -> Callable[[Any, Any], Fraction]:
        return lambda named, listed: Fraction(
            max((weights.get(v, 1) for v in named if v in (listed or (NOTHING,))), default=0)
        )

    columns = {"s": [list(listed) for _, listed in rows]}
    for top, weights in ((1, {}), (2, {}), (1, {values[-1]: 3})):
        named = list(combinations(values, min(top, len(values))))
        found = threat(rows, columns, gain=weights or f"top {top}")
        assert_same(found, measures(everybody, named, having(weights)))
    whole = threat(rows, columns, gain="list")
    lists = sorted({listed for _, listed in rows})
    assert_same(whole, measures(everybody, lists, lambda a, s: Fraction(a == s)))
    assert any("people have lists" in note for note in threat(rows, columns).notes)


@pytest.mark.parametrize("seed", range(2))
def test_several_columns_are_one_value_together(seed: int) -> None:
    rows = some_rows(seed, [("u", "k"), ("u", "m"), ("v", "m")])
    columns = {"s": [s for _, (s, _) in rows], "t": [t for _, (_, t) in rows]}
    found = threat(rows, columns, joint=["s", "t"], prior=0.5)
    states = sorted({state for _, state in rows})
    assert found.attribute == "s | t"
    expected = measures(people(rows, Fraction(1, 2)), states, lambda a, s: Fraction(a == s))
    assert_same(found, expected)


@pytest.mark.parametrize("noise", [Fraction(0), Fraction(1, 5)])
@pytest.mark.parametrize("known", [["place", "sex"], ["place"], ["sex"]])
def test_who_is_seen_in_part_or_not_surely_is_believed_less_of(known, noise) -> None:
    rows = some_rows(5, "uuvw", 6)
    columns = {"s": [s for _, s in rows]}

    def seen(shown: Tuple, true: Tuple) -> Fraction:
        chance = Fraction(1)
        for name, place in (("place", 0), ("sex", 1)):
            if name in known:
                wrong = noise / (SIZES[place] - 1)
                chance *= 1 - noise if shown[place] == true[place] else wrong
        return chance

    found = threat(rows, columns, known=known, noise=float(noise))
    states = sorted({s for _, s in rows})
    everybody = people(rows, seen=seen)
    expected = measures(everybody, states, lambda a, s: Fraction(a == s))
    assert_same(found, expected)
    # One victim is seen by the same eyes.
    row = rows[0][0]
    victim = {"place": PLACES[row[0]], "sex": SEXES[row[1]]}
    asked = found.attacker({name: victim[name] for name in known})
    assert list(asked.values()) == pytest.approx([float(p) for p in everybody[0].attacker.values()])


def test_a_joint_value_or_list_of_the_suppressed_is_possible_too() -> None:
    rows = [((0, 0), ("flu",))] * 3 + [((1, 0), ("tb",))] * 3 + [((2, 1), ("hiv", "tb"))]
    data = pa.table(
        {
            "place": [PLACES[row[0]] for row, _ in rows],
            "sex": [SEXES[row[1]] for row, _ in rows],
            "s": [list(listed) for _, listed in rows],
        }
    )
    table = sf.read(data, sf.Schema(sensitive="s", **SCHEMA))
    release = sf.generalize(table, LEVELS, [sf.KAnonymity(2)], suppression=0.2)
    assert release.suppressed == 1
    found = sf.relative_threat(release)
    assert list(found.learner({"sex": "F"})) == ["{flu}", "{hiv, tb}", "{tb}"]
    assert found.measures.people == 6


@pytest.mark.parametrize("top", [2, 3])
def test_naming_several_is_the_same_by_sorting_and_by_trying_all(top: int) -> None:
    """Of lists of one value each every set is tried; of values the best are sorted."""
    rows = some_rows(7, "uvwxyz", 9)
    sorted_ = threat(rows, {"s": [s for _, s in rows]}, gain=f"top {top}")
    tried = threat(rows, {"s": [[s] for _, s in rows]}, gain=f"top {top}")
    assert np.allclose(sorted_.judged.attacker.hit, tried.judged.attacker.hit, atol=1e-12)
    assert np.allclose(sorted_.judged.ti, tried.judged.ti, rtol=1e-12)
    assert sorted_.measures.baseline == pytest.approx(tried.measures.baseline)


WRONG: dict[str, tuple[object, str]] = {
    "word": ("guess", "gain = 'guess' is not allowed; use 'value', 'top 3'"),
    "top": ("top 0", "gain = 'top 0' is not allowed"),
    "empty": ({}, "is not allowed; use"),
    "negative": ({"u": -1}, "gain of 'u' = -1 is not allowed; it must be a number, 0 or more"),
    "no number": ({"u": "much"}, "gain of 'u' = 'much' is not allowed"),
    "mixed": ({"u": 1, "a": {"v": 1}}, "is not allowed; use"),
    "nothing": ({"a": {"u": 0}}, "no action gains anything"),
    "text": ("u=1,v", "is not allowed; use"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_gain_is_refused_in_one_line(case: str) -> None:
    given, said = WRONG[case]
    with pytest.raises(sf.InputError) as caught:
        parse_gain(given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_gain_means_is_found_out_where_it_meets_the_values() -> None:
    rows = some_rows(0, "uvw")
    with pytest.raises(sf.InputError, match="gain names 'flu', not a value of 's'; allowed"):
        threat(rows, {"s": [s for _, s in rows]}, gain={"flu": 2})
    with pytest.raises(sf.PolicyError, match=r"joint = .*two or more different"):
        threat(rows, {"s": [s for _, s in rows]}, joint=["s"])
    with pytest.raises(sf.InputError, match="known: 'age' is not a quasi-identifier"):
        threat(rows, {"s": [s for _, s in rows]}, known=["age"])
    with pytest.raises(sf.InputError, match="noise of 'sex' = 1 is not allowed"):
        threat(rows, {"s": [s for _, s in rows]}, noise={"sex": 1})
    assert parse_gain("u=2, v=0.5") == Gain(worth={"u": 2.0, "v": 0.5})
    for gain in ("value", "list", "top 3", {"u": 2.0}, {"a": {"u": 1.0}}):
        assert parse_gain(parse_gain(gain).plain) == parse_gain(gain)
