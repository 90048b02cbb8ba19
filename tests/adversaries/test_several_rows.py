"""Several known rows of a person: who fits them all, and what their groups say, by enumeration."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.catalogue import ADVERSARIES
from sfumato.adversaries.several_rows import ANY, NAME, SAME, RowsReader
from sfumato.criteria.base import judge
from sfumato.release.read.read_release import table_as_published

SCHEMA = sf.Schema(["q"], "ill", person="id", rows="unlinked")

few_rows = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("XY"), st.sampled_from(["flu", "HIV"])),
    min_size=2,
    max_size=7,
)


def read(rows: list[tuple[str, str, str]], **more) -> sf.Release:
    frame = pd.DataFrame(rows, columns=["id", "q", "ill"])
    schema = sf.Schema(["q"], "ill", person="id", rows="unlinked", **more)
    return table_as_published(sf.read(frame, schema))


def enumerated(rows: list[tuple[str, str, str]], target: str) -> tuple[dict, dict]:
    """Beliefs by all assignments of each group's published values to the rows that lie in it."""
    groups = sorted({q for _, q, _ in rows})
    slots = {g: [who for who, q, _ in rows if q == g] for g in groups}
    values = {g: [v for _, q, v in rows if q == g] for g in groups}
    any_, same, worlds = Counter(), Counter(), 0
    for world in product(*(permutations(values[g]) for g in groups)):
        worlds += 1
        hers = [
            value
            for g, dealt in zip(groups, world, strict=True)
            for who, value in zip(slots[g], dealt, strict=True)
            if who == target
        ]
        any_.update(set(hers))
        same.update(set(hers) if len(set(hers)) == 1 else ())
    alike = sum(same.values())
    return (
        {v: Fraction(n, alike) for v, n in same.items()},
        {v: Fraction(n, worlds) for v, n in any_.items()},
    )


def rows_of(rows: list[tuple[str, str, str]], who: str) -> Counter:
    return Counter(q for person, q, _ in rows if person == who)


@given(few_rows)
def test_beliefs_are_those_of_all_assignments(rows) -> None:
    release = read(rows)
    found = RowsReader().attack(release)
    parts = found.parts
    assert parts is not None
    groups = [release.regions.describe(g)["q"] for g in range(len(release.groups))]
    believed = [
        (
            dict(zip(found.by_row.values, same, strict=True)),
            dict(zip(found.by_row.values, any_, strict=True)),
        )
        for _, *both in found.beliefs()
        for same, any_ in zip(*both, strict=True)
    ]
    for who in {person for person, _, _ in rows}:
        mine = rows_of(rows, who)
        kinds = [
            Counter(groups[parts.group[p]] for p in parts.sets.members[low:high])
            for low, high in zip(parts.sets.offsets[:-1], parts.sets.offsets[1:], strict=True)
        ]
        at = kinds.index(mine)
        for told, wanted in zip(believed[at], enumerated(rows, who), strict=True):
            for value, belief in told.items():
                assert belief == pytest.approx(float(wanted.get(value, 0)), abs=1e-12)


@given(few_rows, st.sampled_from([1, 2, "all"]))
def test_candidates_are_everybody_whose_rows_contain_what_is_known(rows, knows) -> None:
    release = read(rows, knows=knows)
    people = sorted({person for person, _, _ in rows})
    fewest = {}
    for who in people:
        mine = list(rows_of(rows, who).elements())
        size = len(mine) if knows == "all" else min(knows, len(mine))
        fewest[who] = min(
            sum(not Counter(known) - rows_of(rows, other) for other in people)
            for known in combinations(mine, size)
        )
    verdict = judge(sf.SeveralRows(2), release)
    assert verdict.measured == min(fewest.values())
    assert verdict.holds == (min(fewest.values()) >= 2)
    if knows == 1:  # who knows one row faces the distinct people of its group
        assert verdict.measured == release.groups.sizes.min()
    threat = RowsReader().attack(release).threats()[0]
    assert threat.belief.after == 1 / min(fewest.values())


LONE = [("a", "X", "HIV"), ("b", "X", "flu"), ("d", "X", "flu")]
LONE += [("a", "Y", "HIV"), ("c", "Y", "gout"), ("e", "Y", "gout")]


def test_groups_of_three_leave_one_person_alone_and_her_value_known() -> None:
    release = read(LONE)
    assert judge(sf.KAnonymity(3), release).holds
    assert not judge(sf.SeveralRows(2), release).holds
    verdict = judge(sf.SeveralRows(1, belief=0.9), release)
    assert verdict.status == "violated"  # HIV is the only value that both groups have
    report = sf.audit(release, [sf.KAnonymity(2), sf.SeveralRows(1, belief=0.9)])
    threats = {(one.adversary, one.about): one for one in report.threats}
    assert threats[NAME, None].belief.after == 1
    assert threats[SAME, "ill"].belief.after == 1
    assert threats[SAME, "ill"].covered == ("several-rows",)
    assert (ANY, "ill") in threats


def test_where_too_many_sets_may_be_known_belief_is_not_said_to_hold(monkeypatch) -> None:
    # Nine of ten rows of X say HIV, one of ten in Y: who knows one is surer than who knows both.
    values = {"X": ["HIV"] * 9 + ["flu"], "Y": ["flu"] * 9 + ["HIV"]}
    rows = [(who, q, values[q][n]) for n, who in enumerate("abcdefghij") for q in "XY"]
    release = read(rows, knows=1)
    assert judge(sf.SeveralRows(2, belief=0.6), release).status == "violated"
    monkeypatch.setattr("sfumato.adversaries.several_rows._MOST_PARTS", 0)
    assert judge(sf.SeveralRows(2, belief=0.6), release).status == "cannot_judge"
    assert judge(sf.SeveralRows(2), release).status == "holds"  # fewer rows fit no fewer people
    whose, *values_of = RowsReader().attack(release).threats()
    assert whose.belief.at_most
    assert [threat.status for threat in values_of] == ["not_measured"] * 2


def test_a_person_with_most_rows_of_a_group_is_told() -> None:
    rows = [("a", "X", "flu")] * 6 + [("b", "X", "HIV"), ("c", "X", "HIV")]
    whose = RowsReader().attack(read(rows)).threats()[0]
    assert whose.belief.after == 1  # nobody else has six rows there
    assert "chance of up to 75%" in whose.learns  # six of eight


def test_she_is_told_of_such_releases_only_and_not_to_the_public() -> None:
    assert NAME in ADVERSARIES
    public = sf.audit(read(LONE), [sf.KAnonymity(2)]).evidence.inquiry.as_published()
    assert not [one for one in public.threats if one.adversary.startswith(NAME)]
    one_each = pd.DataFrame({"q": ["X", "X"], "ill": ["flu", "HIV"]})
    plain = table_as_published(sf.read(one_each, sf.Schema(["q"], "ill")))
    assert judge(sf.SeveralRows(2), plain).status == "holds"  # one row each: two people
    assert judge(sf.SeveralRows(3), plain).status == "violated"
    gathered = pd.DataFrame(LONE, columns=["id", "q", "ill"])
    several = table_as_published(sf.read(gathered, sf.Schema(["q"], "ill", person="id")))
    assert judge(sf.SeveralRows(1), several).status == "cannot_judge"
    assert not [one for one in sf.audit(plain, [sf.KAnonymity(1)]).threats if NAME in one.adversary]


@pytest.mark.parametrize("maker", [sf.Lattice(), sf.Mondrian()])
def test_searches_obey_it(maker) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        {"id": np.arange(60) // 2, "q": rng.integers(0, 8, 60), "ill": rng.choice(["a", "b"], 60)}
    )
    schema = sf.Schema(
        ["q"], "ill", person="id", rows="unlinked", hierarchies={"q": sf.intervals([2, 4])}
    )
    policy = sf.Policy([sf.KAnonymity(3), sf.SeveralRows(3)], anonymizer=maker)
    release = sf.anonymize(sf.read(rows, schema), policy, seed=1)
    assert judge(sf.SeveralRows(3), release).holds
    finer = sf.anonymize(
        sf.read(rows, schema), sf.Policy([sf.KAnonymity(3)], anonymizer=maker), seed=1
    )
    assert not judge(sf.SeveralRows(3), finer).holds


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 2, "belief": 0}, {"k": 2, "knows": "some"}, {"k": 2, "knows": 0}]
)
def test_what_cannot_be_asked(wrong) -> None:
    with pytest.raises(sf.PolicyError, match="several-rows"):
        sf.SeveralRows(**wrong)
