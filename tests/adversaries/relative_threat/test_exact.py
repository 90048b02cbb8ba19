"""The closed form: golden values, every table a release is compatible with, known puzzles."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from tests.adversaries.relative_threat.tiny_releases import (
    bucketized,
    everyone,
    generalized,
    rows_of,
    sensitive,
    values,
    victim,
)
from tests.oracles.relative_oracle import Urns, bucket_worlds, enumerate_beliefs, region_worlds

GOLDEN = Path(__file__).parent.parent.parent / "golden"
TABLE_1B = [
    ("{M, J}", "4550*", "Heart"),
    ("{M, J}", "4550*", "Flu"),
    ("J", "5550*", "Flu"),
    ("J", "5550*", "Stomach"),
    ("{C, J}", "66601", "HIV"),
    ("{C, J}", "66601", "Diabetes"),
    ("{I, M}", "77701", "Flu"),
    ("{I, M}", "77701", "Heart"),
]
TABLE_1C = [
    ("1", "M", "45501", "Heart"),
    ("1", "J", "45502", "Flu"),
    ("2", "J", "55503", "Flu"),
    ("2", "J", "55504", "Stomach"),
    ("3", "C", "66601", "HIV"),
    ("3", "J", "66601", "Diabetes"),
    ("4", "I", "77701", "Flu"),
    ("4", "M", "77701", "Heart"),
]
TENS = [str(digit) for digit in range(10)]
ZIPS = {
    "observed6": ["45501", "45502", "55503", "55504", "66601", "77701"],
    "union22": [*("4550" + d for d in TENS), *("5550" + d for d in TENS), "66601", "77701"],
    "prefix40": [head + d for head in ("4550", "5550", "6660", "7770") for d in TENS],
    "all100k": [f"{code:05d}" for code in range(100_000)],
}
NATIONS = ["M", "J", "C", "I"]


def golden(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def number(value: object) -> float:
    return float(Fraction(value[0])) if isinstance(value, list) else float(value)  # type: ignore[arg-type]


def table_1b(zips: list[str]) -> sf.Release:
    schema = sf.Schema(
        quasi=["nation", "zip"], sensitive="disease", domains={"nation": NATIONS, "zip": zips}
    )
    columns = zip(*TABLE_1B, strict=True)
    names = ("nation", "zip", "disease")
    rows = pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})
    return sf.read_release(rows, schema)


@pytest.mark.parametrize("name", ZIPS)
def test_table_3_for_every_domain_of_zip_codes(name: str) -> None:
    expected = golden("relative_threat_table3")[name]
    found = sf.relative_threat(table_1b(ZIPS[name]))
    assert found.status == "exact"
    who = {"nation": "M", "zip": "45501"}
    for value, probability in found.attacker(who).items():
        assert probability == pytest.approx(number(expected["pA"][value]), abs=1e-14)
    for value, probability in found.learner(who).items():
        assert probability == pytest.approx(number(expected["pL_eq5"][value]), abs=1e-14)
    assert set(found.attacker(who).error.values()) == {0.0}


@pytest.mark.parametrize("name", [name for name in ZIPS if name != "all100k"])
def test_the_conditional_reading_is_another_number_with_its_own_error(name: str) -> None:
    expected = golden("relative_threat_table3")[name]["pL_eq6"]
    found = sf.relative_threat(table_1b(ZIPS[name]), learner="conditional", draws=20_000)
    guess = found.learner({"nation": "M", "zip": "45501"})
    for value, probability in guess.items():
        assert 0 < guess.error[value] < 0.004
        assert probability == pytest.approx(expected[value], abs=4 * guess.error[value] + 0.002)
    joint = golden("relative_threat_table3")[name]["pL_eq5"]["Heart"]
    assert abs(guess["Heart"] - number(joint)) > 0.01
    assert any("RF is not defined" in note for note in found.notes)


def anatomy_1c() -> sf.Release:
    ids, nations, zips, diseases = (list(column) for column in zip(*TABLE_1C, strict=True))
    schema = sf.Schema(
        quasi=["nation", "zip"],
        sensitive="disease",
        domains={"nation": NATIONS, "zip": ZIPS["observed6"]},
    )
    listed = pa.table({"gid": ids, "nation": nations, "zip": zips})
    hidden = pa.table({"gid": ids, "disease": diseases})
    return sf.read_release((listed, hidden), schema, group="gid")


@pytest.mark.parametrize("who", [("M", "45501"), ("J", "45502"), ("J", "66601"), ("I", "77701")])
def test_anatomy_of_table_1c(who: tuple[str, str]) -> None:
    _, learner, attacker = golden("relative_threat_bruteforce")["anatomy_Ic"][str(who)]
    found = sf.relative_threat(anatomy_1c(), method="exact")
    asked = dict(zip(("nation", "zip"), who, strict=True))
    for value, probability in found.attacker(asked).items():
        assert probability == pytest.approx(number(attacker[value]), abs=1e-14)
    for value, probability in found.learner(asked).items():
        assert probability == pytest.approx(number(learner[value]), abs=1e-14)


# -- every compatible table -----------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn, size: int) -> list[tuple[int, ...]]:
    """Regions that are nested or apart: the parts of a random tree over the values."""
    order = draw(st.permutations(range(size)))
    found: list[tuple[int, ...]] = []

    def grow(part: tuple[int, ...]) -> None:
        found.append(tuple(sorted(part)))
        if len(part) > 1:
            cut = draw(st.integers(1, len(part) - 1))
            grow(part[:cut])
            grow(part[cut:])

    grow(tuple(order))
    return found


@st.composite
def laminar(draw: st.DrawFn):
    sizes = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 2)))]
    width = draw(st.integers(1, 3))
    regions = [draw(trees(size)) for size in sizes]
    groups, people = {}, 0
    for _ in range(draw(st.integers(1, 3))):
        described = tuple(draw(st.sampled_from(parts)) for parts in regions)
        counts = [draw(st.integers(0, 2)) for _ in range(width)]
        if sum(counts) and people + sum(counts) <= 5:
            groups[described] = counts
            people += sum(counts)
    if not groups:
        groups[tuple(tuple(range(size)) for size in sizes)] = [1] + [0] * (width - 1)
    return list(groups.items()), sizes, width


@given(case=laminar(), weight=st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3)]))
def test_nested_regions_are_exact(case, weight: Fraction) -> None:
    groups, sizes, width = case
    found = sf.relative_threat(generalized(groups, sizes, width), prior=float(weight))
    assert set(found.method.values()) == {"exact"}
    asked = everyone(sizes)
    worlds = region_worlds(rows_of(groups))
    urns = Urns.even(width, sizes, weight)
    expected = enumerate_beliefs(worlds, urns, [{row: Fraction(1)} for row in asked])
    for row, beliefs in zip(asked, expected, strict=True):
        learner = [float(share) for share in beliefs.shares("learner")]
        assert list(found.learner(victim(row)).values()) == pytest.approx(learner, abs=1e-12)
        if sum(beliefs.attacker):
            attacker = [float(share) for share in beliefs.shares("attacker")]
            assert list(found.attacker(victim(row)).values()) == pytest.approx(attacker, abs=1e-12)
        else:
            with pytest.raises(sf.InputError, match="no group of the release fits"):
                found.attacker(victim(row))


CROSSING = [
    (((0, 1), (0, 1)), [1, 1]),
    (((1, 2), (0,)), [1, 0]),
    (((2, 0), (0, 1)), [1, 1]),
]


def test_few_people_in_crossing_regions_are_summed_up_exactly() -> None:
    sizes, width = [4, 2], 2
    found = sf.relative_threat(generalized(CROSSING, sizes, width))
    assert found.status == "exact"
    asked = everyone(sizes)
    worlds = region_worlds(rows_of(CROSSING))
    expected = enumerate_beliefs(
        worlds, Urns.even(width, sizes), [{row: Fraction(1)} for row in asked]
    )
    for row, beliefs in zip(asked, expected, strict=True):
        learner = [float(share) for share in beliefs.shares("learner")]
        assert list(found.learner(victim(row)).values()) == pytest.approx(learner, abs=1e-12)
        if sum(beliefs.attacker):
            attacker = [float(share) for share in beliefs.shares("attacker")]
            assert list(found.attacker(victim(row)).values()) == pytest.approx(attacker, abs=1e-12)


def test_few_buckets_are_summed_up_exactly() -> None:
    buckets = [((0, 1, 1), ((0, 0), (1, 1), (0, 1))), ((0, 2), ((1, 0), (1, 0)))]
    sizes, width = [3, 2], 3
    found = sf.relative_threat(bucketized(buckets, sizes, width))
    assert found.status == "exact"
    asked = [(0, 0), (1, 0), (1, 1), (2, 1)]
    expected = enumerate_beliefs(
        bucket_worlds(buckets), Urns.even(width, sizes), [{row: Fraction(1)} for row in asked]
    )
    for row, beliefs in zip(asked, expected, strict=True):
        learner = [float(share) for share in beliefs.shares("learner")]
        assert list(found.learner(victim(row)).values()) == pytest.approx(learner, abs=1e-12)
        if sum(beliefs.attacker):
            attacker = [float(share) for share in beliefs.shares("attacker")]
            assert list(found.attacker(victim(row)).values()) == pytest.approx(attacker, abs=1e-12)


# -- priors and domains ---------------------------------------------------------------------------


def test_priors_by_column_by_value_and_from_another_table() -> None:
    groups = [(((0, 1),), [1, 2]), (((2,),), [1, 0])]
    release = generalized(groups, [3], 2)
    asked = [{(code,): Fraction(1)} for code in range(3)]

    def expected(alpha: list[int], beta: list[list[int]]) -> list[list[float]]:
        urns = Urns([Fraction(a) for a in alpha], [[[Fraction(b) for b in row] for row in beta]])
        found = enumerate_beliefs(region_worlds(rows_of(groups)), urns, asked)
        return [[float(share) for share in one.shares("learner")] for one in found]

    def found(prior: object) -> list[list[float]]:
        threat = sf.relative_threat(release, prior=prior)
        return [list(threat.learner({"q0": value}).values()) for value in values(3)]

    by_value = {"q0": {"v0001": 4.0}, "s": 2.0}
    assert np.allclose(found(by_value), expected([2, 2], [[1, 4, 1]] * 2), atol=1e-12)
    rows = pa.table({"q0": ["v0000", "v0000", "v0002"], "s": ["s0", "s1", "s1"]})
    both = sf.read(rows, sf.Schema(["q0"], "s", domains={"q0": values(3), "s": sensitive(2)}))
    outside = expected([2, 3], [[2, 1, 1], [2, 1, 2]])
    assert np.allclose(found(both), outside, atol=1e-12)
    # Without the sensitive column only the shape of the column is known: (3, 1, 2) of 6, times 3.
    alone = sf.read(rows, sf.Schema(["q0"], domains={"q0": values(3)}))
    shape = [Fraction(3, 2), Fraction(1, 2), Fraction(1)]
    urns = Urns([Fraction(1)] * 2, [[shape, shape]])
    beliefs = enumerate_beliefs(region_worlds(rows_of(groups)), urns, asked)
    shares = [[float(share) for share in one.shares("learner")] for one in beliefs]
    assert np.allclose(found(alone), shares, atol=1e-12)


def test_the_domain_is_the_declared_one_and_values_seen_are_told() -> None:
    rows = pa.table({"q": ["a", "b", "b"], "s": ["x", "x", "y"]})
    seen = sf.read(rows, sf.Schema(["q"], "s"))
    wide = sf.read(rows, sf.Schema(["q"], "s", domains={"q": ["a", "b", "c", "d"]}))
    found = {name: sf.relative_threat(table) for name, table in (("seen", seen), ("wide", wide))}
    # p_L(x|a) by hand: pi = (3, 2) / 5; theta(a) = 2 / (2 + D) for x, 1 / (1 + D) for y.
    for name, size in (("seen", 2), ("wide", 4)):
        x, y = 3 * 2 / (2 + size), 2 * 1 / (1 + size)
        assert found[name].learner({"q": "a"})["x"] == pytest.approx(x / (x + y), abs=1e-14)
    assert any("'q' is taken from the values seen" in note for note in found["seen"].notes)
    assert not any("values seen" in note for note in found["wide"].notes)
    assert any("nobody has some values of q (2 of 4)" in note for note in found["wide"].notes)


# -- known puzzles --------------------------------------------------------------------------------


def island(people: int, traits: int, cleared: int = 0, prior: object = "uniform"):
    """One guilty islander with the trait; of the others some are known not to have it."""
    everybody = tuple(range(traits))
    others = tuple(range(1, traits))
    groups = [(((0,),), [1, 0]), ((everybody,), [0, people - 1 - cleared])]
    if cleared:
        groups.append(((others,), [0, cleared]))
    release = generalized(groups, [traits], 2)
    return sf.relative_threat(release, prior=prior).attacker({"q0": "v0000"})["s0"]


@pytest.mark.parametrize(
    ("people", "traits", "name"), [(100, 100, "N=100,p=.01"), (1001, 1000, "N=1001,p=1/1000")]
)
def test_the_island_problem(people: int, traits: int, name: str) -> None:
    expected = Fraction(golden("remark5_island")["island"][name])
    assert expected == 1 / (1 + (people - 1) * Fraction(1, traits))
    assert island(people, traits) == pytest.approx(float(expected), abs=1e-13)


def test_the_database_search() -> None:
    """Those who were searched and cleared are no suspects; p is known, so the prior is hard."""
    expected = Fraction(golden("remark5_island")["island"]["DBS N=100,k=49,p=.02"])
    assert expected == 1 / (1 + (100 - 1 - 49) * Fraction(2, 100))
    assert island(100, 50, cleared=49, prior=1e12) == pytest.approx(float(expected), abs=1e-9)


def test_remark_5_one_rare_value_among_many() -> None:
    """p_I(s0|r) is small although r was seen with s0 alone; the attacker is certain."""
    size = 999_999
    rows = pa.table({"q": list(range(1001)), "s": ["s0"] + ["s1"] * 1000})
    table = sf.read(rows, sf.Schema(["q"], "s", domains={"q": list(range(size))}))
    found = sf.relative_threat(table)
    expected = golden("remark5_island")
    assert found.ideal({"q": 0})["s0"] == pytest.approx(
        number(expected["remark5_pI_s0"]), rel=1e-12
    )
    assert found.attacker({"q": 0})["s0"] == 1.0
    assert found.measures.attacker.highest == pytest.approx(number(expected["Ti"]), rel=1e-12)
