"""Presence of people with several rows, against every table that would be published alike."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.presence import CUT, Presence, PresenceSeeker
from sfumato.adversaries.locating.signature_register import overlaps_apart
from sfumato.criteria.base import judge
from sfumato.ledger.content import pack, unpack
from sfumato.release.linked import cuts_people
from sfumato.release.release import as_it_stands
from tests.adversaries.linkage.linked_people import (
    OTHERS,
    PEOPLE,
    published_as,
    register_of,
    rows_table,
)
from tests.examples import few
from tests.oracles.linked_oracle import behind, fits
from tests.program import sfumato

WIDTH = 2
SCHEMA = sf.Schema(
    ["day"], "ill", person="who", rows="linked", hierarchies={"day": sf.intervals([WIDTH, 4])}
)
Person = list[int]


def shown(days: Person, width: int) -> tuple[int, ...]:
    return tuple(sorted(day // width for day in days))


def chances(register: list[Person], drawn: int, width: int, k: int) -> list[Fraction] | None:
    """Of everybody of a register: in how many of the tables she is that show the same signatures
    of as many people, and leave out as many who have none of these. The first are drawn.

    None where nothing is published, or people have numbers of rows that are cut.
    """
    signatures = [shown(days, width) for days in register]
    table = Counter(signatures[:drawn])
    published = {of: people for of, people in table.items() if people >= k}
    lengths = Counter(len(days) for days in register[:drawn])
    if not published or min(lengths.values()) < k:
        return None
    hidden = drawn - sum(published.values())
    tables = [
        chosen
        for chosen in combinations(range(len(register)), drawn)
        if all(
            sum(signatures[who] == of for who in chosen) == people
            for of, people in published.items()
        )
    ]
    assert all(
        sum(signatures[who] not in published for who in chosen) == hidden for chosen in tables
    )
    return [
        Fraction(sum(who in chosen for chosen in tables), len(tables))
        for who in range(len(register))
    ]


def seen(release: sf.Release, register: list[Person]) -> Presence:
    return PresenceSeeker(register_of(register)).attack(release)


@settings(deadline=None, max_examples=few(100))
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=2), min_size=2, max_size=8),
    st.data(),
    st.sampled_from([(0, 1), (1, WIDTH)]),
    st.sampled_from([1, 2]),
)
def test_chances_are_those_of_all_tables_that_are_published_alike(register, data, level, k) -> None:
    drawn = data.draw(st.integers(1, len(register)))
    node, width = level
    expected = chances(register, drawn, width, k)
    if expected is None:
        return
    table = rows_table(register[:drawn], SCHEMA)
    release = sf.generalize(table, [node], [sf.KAnonymity(k)], suppression=1.0)
    assert not cuts_people(release)
    found = seen(release, register)
    assert found.highest == pytest.approx(float(max(expected)))
    assert found.lowest == pytest.approx(float(min(expected)))
    bounds = sorted({Fraction(0), Fraction(1), *expected, Fraction(1, 3)})
    low = data.draw(st.sampled_from(bounds))
    high = data.draw(st.sampled_from([bound for bound in bounds if bound >= low and bound > 0]))
    rule = sf.DeltaPresence(float(low), float(high), register_of(register))
    exact = Fraction(str(float(low))), Fraction(str(float(high)))
    keeps = all(exact[0] <= chance <= exact[1] for chance in expected)
    if found.outside and low:  # who fits no group is never hidden below, whoever was left out
        keeps = False
    assert judge(rule, release).status == ("holds" if keeps else "violated")


@settings(deadline=None, max_examples=few(80))
@given(PEOPLE, OTHERS, st.data())
def test_where_rows_overlap_nobody_is_there_more_surely_than_is_said(people, others, draw) -> None:
    release, shown_rows, _ = published_as(people, draw)
    everybody = [*people, *others]
    ways = behind(everybody, shown_rows)
    truly = [
        sum(ways[who, number] for number in range(len(people))) for who in range(len(everybody))
    ]
    found = seen(release, everybody)
    overlap = overlaps_apart(release)
    assert float(max(truly)) <= found.highest + 1e-9
    assert found.at_most == overlap
    assert found.outside == sum(
        not any(fits(rows, own) for own in shown_rows) for rows in everybody
    )
    if not overlap:
        assert found.highest == pytest.approx(float(max(truly)))
    for maximum in (0.3, 0.5, 0.8, 1.0):
        verdict = judge(sf.DeltaPresence(0, maximum, register_of(everybody)), release)
        assert verdict.at_most == overlap
        if verdict.holds:
            assert float(max(truly)) <= maximum + 1e-9
    if overlap and judge(sf.DeltaPresence(0, 1, register_of(everybody)), release).holds:
        below = judge(sf.DeltaPresence(0.01, 1, register_of(everybody)), release)
        assert below.status in ("cannot_judge", "violated")


@settings(deadline=None, max_examples=few(30))
@given(PEOPLE, OTHERS)
def test_whoever_holds_the_register_knows_all_rows(people, others) -> None:
    told = []
    for knows in ("all", 1):
        schema = sf.Schema(["day"], "ill", person="who", rows="linked", knows=knows)
        told.append(seen(as_it_stands(rows_table(people, schema)), [*people, *others]))
    assert told[0] == told[1]


def test_a_register_that_lacks_people_cannot_hide_them() -> None:
    release = as_it_stands(rows_table([[1, 2], [1, 2], [3]]))
    assert seen(release, [[1, 2], [3], [3, 3]]).highest == 1
    assert not judge(sf.DeltaPresence(0, 0.9, register_of([[1, 2], [3], [3, 3]])), release).holds


# -- cut -----------------------------------------------------------------------------------------

SINGLES, PAIRS = [[2]] * 4, [[0, 0]] * 4


def cut_release(**more) -> sf.Release:
    """Somebody's three rows become a pseudonym of one and a pseudonym of two."""
    table = rows_table([[0, 0, 2], *SINGLES, *PAIRS], SCHEMA)
    return sf.generalize(table, [0], [sf.KAnonymity(2)], **more)


def test_who_was_cut_may_be_the_only_one() -> None:
    """How many were cut is published, and of this register one person alone can have been.

    Her rows fit no pseudonym, and yet she is there: by those whom a signature fits, whoever has
    just these rows, nobody would be there more surely than by 5 of 20.
    """
    release = cut_release()
    assert release.placement is not None
    assert cuts_people(release)
    register = [[0, 0, 2], *SINGLES * 5, *PAIRS * 5]
    verdict = judge(sf.DeltaPresence(0, 0.5, register_of(register)), release)
    assert (verdict.status, verdict.note) == ("cannot_judge", CUT)
    (threat,) = seen(release, register).threats()
    assert threat.status == "not_measured"
    assert CUT in threat.learns


def left_out_in_part() -> sf.Release:
    """Two have a row more than anybody else, and lose one each."""
    table = rows_table([[0, 0, 0], *[[0, 0]] * 4], SCHEMA)
    return sf.generalize(table, [0], [sf.KAnonymity(2)])


def test_it_is_known_of_a_release_that_is_read_back(tmp_path: Path) -> None:
    register = register_of([[0, 0, 2], [0, 0, 0], *SINGLES * 5, *PAIRS * 5, *[[0, 0]] * 9])
    rule = sf.DeltaPresence(0, 1, register)
    whole = sf.generalize(
        rows_table([*SINGLES, *PAIRS, [3]], SCHEMA), [0], [sf.KAnonymity(2)], suppression=0.2
    )
    assert whole.suppressed
    made = {"cut": cut_release(), "part": left_out_in_part(), "whole": whole}
    for name, release in made.items():
        release.save(tmp_path / name)
        read = sf.read_release(tmp_path / name, SCHEMA)
        here, back = judge(rule, release), judge(rule, read)
        assert (back.status, back.measured) == (here.status, here.measured)
        assert cuts_people(read) == cuts_people(release) == (name != "whole")
        assert cuts_people(unpack(pack(read), name)) == (name != "whole")
        if name == "whole":
            assert here.status == "holds"
            # A manifest of an earlier version does not say whether somebody lost some rows.
            manifest = tmp_path / name / "public" / "manifest.json"
            content = json.loads(manifest.read_text(encoding="utf-8"))
            assert content["linked"].pop("people_published_in_part") == 0
            public = tmp_path / "earlier"
            public.mkdir()
            (public / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
            (public / "data.csv").write_bytes((manifest.parent / "data.csv").read_bytes())
            assert judge(rule, sf.read_release(public, SCHEMA)).status == "cannot_judge"


# -- releases are made ---------------------------------------------------------------------------


@pytest.mark.parametrize("maker", [sf.Mondrian(), sf.Lattice(), None], ids=str)
@pytest.mark.parametrize("knows", ["all", 1])
def test_a_release_is_made_in_which_nobody_is_told_to_be(maker, knows) -> None:
    schema = sf.Schema(
        ["day"],
        "ill",
        person="who",
        rows="linked",
        knows=knows,
        hierarchies={"day": sf.intervals([2, 10])},
    )
    chance = np.random.default_rng(3)
    everybody = [chance.integers(0, 8, 1 + number % 2).tolist() for number in range(400)]
    # The rows of the first would be cut; others who are not in it have as many.
    everybody[0], everybody[-9:] = [1, 2, 3], [[1, 2, day] for day in range(9)]
    table, register = (
        rows_table(everybody[:60], schema),
        rows_table(everybody, schema.of_register()),
    )
    rule = sf.DeltaPresence(0, 0.3, register)
    policy = sf.Policy([sf.KAnonymity(2), rule], anonymizer=maker, suppression=0.2)
    release = sf.anonymize(table, policy, seed=1)
    assert judge(rule, release).holds
    assert not cuts_people(release)
    assert release.suppressed
    with pytest.raises(sf.NoSafeRelease, match="rows are not cut where it is asked who is in"):
        sf.anonymize(table, sf.Policy([sf.KAnonymity(2), rule], anonymizer=maker))


PAIRS_AND_SINGLES = [[0, 2], [0, 2], [0], [0], [2], [2]]


@pytest.mark.parametrize("population", ["register", "weights"])
def test_the_lattice_leaves_out_the_same_people_whatever_is_known(population) -> None:
    """Few have both rows of the pairs, and many have either: all of hers say who is there."""
    others = [[0]] * 10 + [[2]] * 10 + [[3]] * 10
    stands_for = [2.0] * 4 + [20.0] * 4
    register = register_of([*PAIRS_AND_SINGLES, *others])
    told = []
    for knows in ("all", 1):
        schema = replace(SCHEMA, knows=knows, weight="w")
        table = rows_table(PAIRS_AND_SINGLES, schema, w=stands_for)
        rule = sf.DeltaPresence(0, 0.3, register if population == "register" else "weights")
        told.append(sf.generalize(table, [0], [rule], suppression=0.5).people)
    assert told == [4, 4]


@pytest.mark.parametrize("population", ["register", "weights"])
def test_an_audit_tells_the_worst_signatures_whatever_is_known(population) -> None:
    """It took their numbers for those of what may be known of somebody, which may be fewer."""
    people = [[0, 1], [0, 0], [1, 1], [0], [1]]
    register = register_of([*people, [0], [0, 1], [3]])
    told = []
    for knows in ("all", 1):
        weights = [5.0] * 6 + [9.0, 2.0]
        table = rows_table(people, replace(SCHEMA, knows=knows, weight="w"), w=weights)
        rule = sf.DeltaPresence(0, 0.9, register if population == "register" else "weights")
        (finding,) = sf.audit(as_it_stands(table), [rule]).findings
        told.append(finding.worst)
    assert told[0]
    assert told[0] == told[1]


def test_weights_say_how_many_each_signature_stands_for() -> None:
    schema = sf.Schema(["day"], "ill", person="who", rows="linked", weight="w")
    table = rows_table([[1, 2], [1, 2], [3]], schema, w=[4.0, 4.0, 6.0, 6.0, 2.0])
    verdict = judge(sf.DeltaPresence(0, 0.4, "weights"), as_it_stands(table))
    assert (verdict.status, verdict.measured) == ("violated", pytest.approx(1 / 2))
    found = PresenceSeeker("weights").attack(as_it_stands(table))
    assert (found.lowest, found.highest) == (pytest.approx(1 / 5), pytest.approx(1 / 2))
    assert judge(sf.DeltaPresence(0, 0.5, "weights"), as_it_stands(table)).holds


def test_who_has_no_signatures_is_not_asked_for_them() -> None:
    release = as_it_stands(rows_table([[1, 2], [1, 2], [2]]))
    single = sf.read(pd.DataFrame({"day": [1, 2]}), sf.Schema(["day"]))
    for population, reason in (
        (single, "does not tell whose each row is"),
        (register_of([[1], [2], [2]]), "everybody has one row in the register"),
    ):
        verdict = judge(sf.DeltaPresence(0, 0.5, population), release)
        assert (verdict.status, reason in verdict.note) == ("cannot_judge", True)
        with pytest.raises(sf.PolicyError, match=reason):
            sf.anonymize(rows_table([[1, 2]] * 3), sf.Policy([sf.DeltaPresence(0, 1, population)]))


def test_the_program_tells_it_beside_a_register(tmp_path: Path) -> None:
    people = [[1, 2], [1, 2], [3]]
    rows = [(who, day, "flu") for who, own in enumerate(people) for day in own]
    pd.DataFrame(rows, columns=["who", "day", "ill"]).to_csv(tmp_path / "visits.csv", index=False)
    others = [*people, [1, 2], [1, 2], [3], [3], [0, 3]]
    rows = [(who, day, "") for who, own in enumerate(others) for day in own]
    pd.DataFrame(rows, columns=["who", "day", "ill"]).to_csv(tmp_path / "register.csv", index=False)
    schema = 'quasi = ["day"]\nsensitive = "ill"\nperson = "who"\nrows = "linked"\n'
    bound = (
        '[[require]]\nkind = "delta-presence"\nminimum = 0\nmaximum = {}\n'
        'population = "register.csv"\n'
    )
    policy = tmp_path / "policy.toml"
    for maximum, code in ((0.5, 0), (0.4, 1)):
        policy.write_text(f"[schema]\n{schema}{bound.format(maximum)}", encoding="utf-8")
        judged = sfumato("audit", tmp_path / "visits.csv", "--policy", policy, "--json")
        assert judged.returncode == code, judged.stdout + judged.stderr
        told = json.loads(judged.stdout)
        assert told["verdicts"][0]["measured"] == pytest.approx(0.5)
        (row,) = (row for row in told["threats"] if row["adversary"] == "presence")
        assert row["status"] == "measured"
    policy.write_text(f"[schema]\n{schema}[[require]]\nkind = 'k-anonymity'\nk = 1\n")
    asked = ("--population", tmp_path / "register.csv", "--policy", policy, "--json")
    told = json.loads(sfumato("audit", tmp_path / "visits.csv", *asked).stdout)
    (row,) = (row for row in told["threats"] if row["adversary"] == "presence")
    assert (row["status"], row["after"]) == ("measured", pytest.approx(0.5))
