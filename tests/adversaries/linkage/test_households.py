"""Households: whoever finds one member finds all, against every way of guessing."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.households import Households
from sfumato.adversaries.linkage.risks import linkage
from sfumato.release.release import as_it_stands
from tests.oracles.linked_oracle import candidates

people = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xyz")), min_size=1, max_size=7)


def table_of(listed, columns=("home", "ward"), **schema: object) -> sf.Table:
    frame = pd.DataFrame(listed, columns=list(columns))
    return sf.read(frame, sf.Schema(["ward"], household="home", **schema))


def found_by_guessing(rows) -> dict[int, Fraction]:
    """The share of all ways of guessing each member's row in which some guess is right."""
    found = {}
    for home in {home for home, _ in rows}:
        members = [number for number, (other, _) in enumerate(rows) if other == home]
        alike = [[n for n, (_, ward) in enumerate(rows) if ward == rows[m][1]] for m in members]
        right = [any(g == m for g, m in zip(way, members, strict=True)) for way in product(*alike)]
        found[home] = Fraction(sum(right), len(right))
    return found


@given(people)
def test_a_household_is_found_as_often_as_all_ways_of_guessing_say(rows) -> None:
    release = as_it_stands(table_of(rows))
    risk = linkage(release, thresholds=(0.5,)).households
    assert risk is not None
    found = found_by_guessing(rows)
    each = [found[home] for home, _ in rows]
    assert risk.highest == pytest.approx(float(max(each)))
    assert risk.mean == pytest.approx(float(sum(each) / len(each)))
    assert risk.above[0] == pytest.approx(sum(one > Fraction(1, 2) for one in each) / len(each))
    verdicts = sf.audit(release, [sf.HouseholdRisk(0.5), sf.HouseholdAnonymity(2)]).verdicts
    fewest = min(len({home for home, other in rows if other == ward}) for _, ward in rows)
    assert verdicts[0].holds == (max(each) <= Fraction(1, 2))
    assert verdicts[1].measured == fewest


members = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.sampled_from("xyz"), min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)


@given(members, st.sampled_from(["all", 1, 2]))
def test_linked_rows_are_found_by_their_signatures(listed, knows) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    columns = ("who", "home", "ward")
    release = as_it_stands(table_of(rows, columns, person="who", rows="linked", knows=knows))
    fewest = candidates([[(ward, "") for ward in wards] for _, wards in listed], knows)
    known = Households.of(release)
    assert known is not None
    assert (1 / known.risk).round().astype(int).tolist() == fewest
    homes = [home for home, _ in listed]
    assert known.household.tolist() == np.unique(homes, return_inverse=True)[1].tolist()


@given(members, st.sampled_from(["all", 1, 2]))
def test_rows_published_one_by_one_find_a_household_by_what_is_known_of_each(listed, knows) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    columns = ("who", "home", "ward")
    release = as_it_stands(table_of(rows, columns, person="who", rows="unlinked", knows=knows))
    owned = [Counter(wards) for _, wards in listed]
    missed = dict.fromkeys((home for home, _ in listed), Fraction(1))
    for home, wards in listed:
        size = len(wards) if knows == "all" else min(knows, len(wards))
        parts = [Counter(part) for part in combinations(wards, size)]
        fewest = min(sum(part <= other for other in owned) for part in parts)
        missed[home] *= 1 - Fraction(1, fewest)
    each = [float(1 - missed[home]) for home, _ in listed]
    risk = linkage(release).households
    assert risk is not None
    assert risk.highest == pytest.approx(max(each))
    assert risk.mean == pytest.approx(sum(each) / len(each))
    homes = min(len({h for h, wards in listed if ward in wards}) for _, _, ward in rows)
    asked = [sf.HouseholdAnonymity(2), sf.HouseholdRisk(0.5)]
    by_homes, by_risk = sf.audit(release, asked).verdicts
    assert by_homes.measured == homes
    assert by_risk.measured == pytest.approx(max(each))


@given(members)
def test_who_has_several_rows_is_at_the_highest_of_their_risks(listed) -> None:
    rows = [(who, home, ward) for who, (home, wards) in enumerate(listed) for ward in wards]
    release = as_it_stands(table_of(rows, ("who", "home", "ward"), person="who"))
    sizes = Counter(ward for _, wards in listed for ward in set(wards))
    known = Households.of(release)
    assert known is not None
    assert known.risk == pytest.approx(
        [max(1 / sizes[one] for one in wards) for _, wards in listed]
    )


@pytest.mark.parametrize("maker", [sf.Mondrian(), sf.Lattice()])
@pytest.mark.parametrize("rows", ["gathered", "linked", "unlinked"])
def test_a_bound_on_households_is_kept(maker, rows: str, tmp_path: Path) -> None:
    chance = np.random.default_rng(2)
    listed = [(n, n // 3, int(chance.integers(20, 60)), "AB"[n % 2]) for n in range(45)]
    if rows != "gathered":
        listed += [(who, home, age + 1, ill) for who, home, age, ill in listed[::2]]
    frame = pd.DataFrame(listed, columns=["who", "home", "age", "ill"])
    schema = sf.Schema(
        ["age"],
        "ill",
        person="who",
        household="home",
        rows=rows,
        hierarchies={"age": sf.intervals([10, 20])},
    )
    asked = [sf.KAnonymity(2), sf.HouseholdRisk(0.4), sf.HouseholdAnonymity(3)]
    policy = sf.Policy(asked, anonymizer=maker, schema=schema, suppression=0.2)
    table = sf.read(frame, schema)
    release = sf.anonymize(table, policy, seed=1)
    report = sf.audit(release, policy)
    assert report.holds
    assert report.linkage.households.highest <= 0.4
    release.save(tmp_path / "out", report=report, policy=policy)
    assert "home" not in pd.read_csv(tmp_path / "out/public/data.csv").columns
    again = sf.audit(sf.read_release(tmp_path / "out", schema), policy)
    assert [one.status for one in again.verdicts] == ["holds", "cannot_judge", "cannot_judge"]
    # The table it was made of says who lives together; by another one nobody knows.
    saved = sf.read_release(tmp_path / "out", schema)
    with_table = sf.audit(saved, policy, table=table)
    if rows == "gathered":
        assert [one.measured for one in with_table.verdicts] == [
            one.measured for one in report.verdicts
        ]
        assert with_table.holds
    other = sf.read(frame.assign(age=frame.age + 7), schema)
    without = sf.audit(saved, policy, table=other)
    assert [one.status for one in without.verdicts[1:]] == ["cannot_judge", "cannot_judge"]


def test_who_lives_together_must_be_known() -> None:
    release = sf.anonymize(
        sf.read(pd.DataFrame({"ward": list("xxyy")}), sf.Schema(["ward"])),
        sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Mondrian()),
    )
    few, many = sf.audit(release, [sf.HouseholdAnonymity(2), sf.HouseholdAnonymity(3)]).verdicts
    assert few.status == "cannot_judge"
    assert few.measured is None
    assert many.status == "violated"  # no group has more households than people
    assert linkage(release).households is None


def test_households_that_cannot_be_meant() -> None:
    with pytest.raises(sf.InputError, match="'home' is missing in 1 row"):
        table_of([(1, "x"), (None, "y")])
    with pytest.raises(sf.InputError, match="1 people have rows of several households"):
        table_of([(7, 1, "x"), (7, 2, "y")], ("who", "home", "ward"), person="who")


def test_published_household_ids_are_judged_by_their_signatures() -> None:
    rows = [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x")]
    frame = pd.DataFrame(rows, columns=["home", "ward"])
    schema = sf.Schema(["ward"], person="home", rows="linked")
    release = sf.read_release(frame, schema)
    assert sorted(release.groups.sizes.tolist()) == [1, 2]
