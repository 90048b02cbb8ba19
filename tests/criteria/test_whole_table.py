"""What is said of the whole table by whoever does not know what suppressed people have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.leakage.metrics import EARTH_MOVER, METRICS
from sfumato.criteria.base import GroupCriterion, judge
from sfumato.criteria.verdict import PUBLISHED_ALONE
from sfumato.criteria.whole_table import MAY_BREAK
from sfumato.release.groups import Groups
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release, as_it_stands
from sfumato.report.sections.report import brief
from sfumato.report.text import to_text
from sfumato.schema.roles import ShownRows
from tests.examples import few

VALUES = ("flu", "cold", "ulcer")
SCHEMA = sf.Schema(quasi=["ward"], sensitive="ill")
LEAKAGE = sf.DistributionLeakage(1.0)
REALISTIC = sf.EpsilonPrivacy(50, sf.RealisticAdversary(shape="table", stubbornness=5))


def read_alone(people: list[tuple[str, Any]], missing: int, schema: sf.Schema = SCHEMA) -> Release:
    """Published people, as they are read without private/: so many more were suppressed."""
    wards, ills = zip(*people, strict=True)
    release = as_it_stands(sf.read(pa.table({"ward": wards, "ill": ills}), schema))
    return replace(release, suppressed=missing, made=ReadFrom(whole_unknown=True))


def tables(groups: Groups, missing: int, *, closed: bool, placed: bool) -> Iterator[Groups]:
    """The published people beside everything that the suppressed ones may have.

    Of an open column each may have a value of her own; where places count, anywhere in the order.
    """
    known, places = groups.width, [float(value) for value in range(groups.width)]
    if not closed and placed:
        steps = [(many + 1) / (missing + 1) for many in range(missing)]
        places += [gap - 1 + step for gap in range(known + 1) for step in steps]
    elif not closed:
        places += [float(known + many) for many in range(missing)]
    for having in combinations_with_replacement(places, missing):
        whole = Counter(dict(zip(places, groups.reference.tolist(), strict=False)))
        whole.update(having)
        order = sorted(whole)
        codes = np.array([order.index(place) for place in range(known)])
        names = tuple(groups.values[int(p)] if p in places[:known] else f"new {p}" for p in order)
        reference = np.array([whole[place] for place in order], dtype=np.float64)
        yield groups.relabel(codes, names, groups.domain if closed else None, reference)


def holds(criterion: GroupCriterion, groups: Groups) -> bool:
    try:
        return criterion.verdict(groups).holds
    except sf.PolicyError:  # what cannot be asked is not shown to hold
        return False


def checked(
    criterion: GroupCriterion, release: Release, *, exact: bool, closed: bool, placed: bool = False
) -> None:
    """The verdict is what every possible table says; `exact`: and nothing is left open but that."""
    groups, missing = release.groups, release.suppressed
    try:
        as_told = criterion.verdict(groups)
    except sf.PolicyError:
        return
    verdict = judge(criterion, release)
    assert verdict.measured == as_told.measured
    if not as_told.holds:
        assert verdict.status == as_told.status
        return
    possible = tables(groups, missing, closed=closed, placed=placed)
    if not all(holds(criterion, whole) for whole in possible):
        assert verdict.status == "cannot_judge"
        assert MAY_BREAK in verdict.note
    else:
        assert verdict.status in ({"holds"} if exact else {"holds", "cannot_judge"})


def adversaries(total: float) -> Iterator[tuple[sf.RealisticAdversary, bool]]:
    """Of table and uniform shape and of any, and whether it is worked out exactly for them."""
    for shape in ("table", "uniform"):
        for size in (total, inf):
            yield sf.RealisticAdversary(shape, size, at_most=False), True
            yield sf.RealisticAdversary(shape, size), True
        yield sf.RealisticAdversary(shape, total, known=1), shape == "uniform"
        yield sf.RealisticAdversary(shape, total, negations=1), False
    yield sf.RealisticAdversary(None, total), True


def criteria(bound: float, total: float) -> Iterator[tuple[GroupCriterion, bool]]:
    """All that refer to the whole table, but where places count."""
    share = min(bound, 1.0)
    yield sf.TCloseness(share), True
    yield sf.BetaLikeness(bound), True
    yield sf.BetaLikeness(bound, enhanced=True), True
    yield sf.DeltaDisclosure(bound), True
    for prior in ("table", "uniform"):
        yield sf.EntropyLeakage(bound, prior=prior), True
        for metric in METRICS:
            if metric != EARTH_MOVER:
                yield sf.DistributionLeakage(share, prior=prior, metric=metric), True
    for adversary, exact in adversaries(total):
        yield sf.EpsilonPrivacy(1 + 2 * bound, adversary), exact
        yield sf.EpsilonPrivacy(1 + 2 * bound, adversary, predicates="all"), False


PEOPLE = st.lists(
    st.tuples(st.sampled_from("NS"), st.sampled_from(VALUES)), min_size=1, max_size=12
)
BOUNDS = st.fractions(Fraction(1, 20), 2, max_denominator=20).map(float)


@settings(max_examples=few(40))
@given(PEOPLE, st.integers(0, 2), BOUNDS, st.sampled_from([3.0, 4.0, 8.0, 30.0]), st.booleans())
def test_a_bound_holds_for_who_does_not_know_them_if_it_does_whatever_they_have(
    people: list[tuple[str, str]],
    missing: int,
    bound: float,
    total: float,
    closed: bool,
) -> None:
    had = [value for value in VALUES if value in {value for _, value in people}]
    listed = replace(SCHEMA, domains={"ill": had}, nulls="error")
    release = read_alone(people * 2, missing, listed if closed else SCHEMA)
    for criterion, exact in criteria(bound, total):
        checked(criterion, release, exact=exact, closed=closed)


@settings(max_examples=few(40))
@given(
    st.lists(st.tuples(st.sampled_from("NS"), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(0, 2),
    st.fractions(Fraction(1, 20), 1, max_denominator=20).map(float),
    st.booleans(),
)
def test_a_new_value_may_have_any_place_in_an_order(
    people: list[tuple[str, int]],
    missing: int,
    bound: float,
    closed: bool,
) -> None:
    had = sorted({value for _, value in people})
    listed = replace(SCHEMA, domains={"ill": had}, nulls="error")
    release = read_alone(people * 2, missing, listed if closed else SCHEMA)
    moved = "earth-mover"
    for criterion in (
        sf.TCloseness(bound, distance="ordered"),
        sf.DistributionLeakage(bound, metric=moved),
        sf.DistributionLeakage(bound, metric=moved, prior="uniform"),
        sf.DistributionLeakage(bound, metric=moved, prior={str(value): 1 for value in had}),
    ):
        checked(criterion, release, exact=closed, closed=closed, placed=True)


TREE = {"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c1": "c"}


@settings(max_examples=few(40))
@given(
    st.lists(st.tuples(st.sampled_from("NS"), st.sampled_from([*TREE])), min_size=1, max_size=10),
    st.integers(0, 2),
    st.fractions(Fraction(1, 20), 1, max_denominator=20).map(float),
)
def test_a_new_value_may_be_any_leaf_of_a_hierarchy(
    people: list[tuple[str, str]], missing: int, bound: float
) -> None:
    tree = sf.taxonomy({leaf: [top, "*"] for leaf, top in TREE.items()})
    release = read_alone(people, missing)
    criterion = sf.TCloseness(bound, distance=tree)
    verdict = judge(criterion, release)
    have = [value for _, value in people]
    all_hold = True
    for others in combinations_with_replacement(TREE, missing):
        names = tuple(sorted({*have, *others}))
        codes = np.array([names.index(value) for value in release.groups.values])
        whole = np.array([[*have, *others].count(name) for name in names], dtype=np.float64)
        all_hold &= criterion.verdict(release.groups.relabel(codes, names, None, whole)).holds
    assert not verdict.holds or all_hold
    assert verdict.status != "cannot_judge" or missing


def test_more_people_than_can_be_looked_at_are_not_judged() -> None:
    release = read_alone([(ward, value) for ward in "NS" for value in VALUES], 100_001)
    assert judge(sf.EntropyLeakage(99.0), release).status == "cannot_judge"
    assert judge(sf.TCloseness(1.0), release).holds  # needs no more than one table


@pytest.mark.parametrize(
    "criterion",
    [
        sf.TCloseness(1.0),
        sf.BetaLikeness(99.0),
        sf.DeltaDisclosure(99.0),
        LEAKAGE,
        replace(LEAKAGE, prior="uniform"),
        sf.EntropyLeakage(9.0),
        REALISTIC,
        sf.EpsilonPrivacy(50, sf.RealisticAdversary("uniform", 9)),
        sf.EpsilonPrivacy(50, sf.RealisticAdversary(None, 9)),
    ],
    ids=str,
)
def test_every_criterion_about_the_whole_table_says_what_it_knew_of_it(
    criterion: GroupCriterion,
) -> None:
    alone = read_alone([(ward, ill) for ward in "NS" for ill in VALUES], 1)
    known = replace(alone, made=ReadFrom())
    assert PUBLISHED_ALONE in judge(criterion, alone).note
    assert PUBLISHED_ALONE not in judge(criterion, known).note
    assert PUBLISHED_ALONE not in judge(sf.KAnonymity(2), alone).note


@pytest.mark.parametrize("rows", ["gathered", "linked"])
def test_a_report_on_public_alone_tells_it(rows: ShownRows, tmp_path: Path) -> None:
    people = [(f"{n}", "N" if n < 8 else "S", VALUES[n % 2]) for n in range(8)] + [
        ("x", "S", "ulcer")
    ]
    repeated = people if rows == "gathered" else [one for one in people for _ in range(2)]
    ids, wards, ills = zip(*repeated, strict=True)
    schema = sf.Schema(quasi=["ward"], sensitive="ill", person="id", rows=rows)
    table = sf.read(pa.table({"id": ids, "ward": wards, "ill": ills}), schema)
    policy = sf.Policy([sf.KAnonymity(2), sf.TCloseness(0.05)], suppression=0.2)
    release = sf.generalize(table, {"ward": 0}, [sf.KAnonymity(2)], suppression=0.2)
    assert release.suppressed == 1
    release.save(tmp_path / "out", policy=policy)
    owner = sf.audit(sf.read_release(tmp_path / "out", schema), policy).verdicts[1]
    assert owner.status == "violated"  # she had a value that nobody else has
    (tmp_path / "out" / "private").rename(tmp_path / "elsewhere")
    report = sf.audit(sf.read_release(tmp_path / "out", schema), policy)
    assert report.verdicts[1].status == "cannot_judge"
    told = json.loads(report.to_json())["verdicts"][1]["note"]
    assert MAY_BREAK in told
    assert PUBLISHED_ALONE in told
    terminal = " ".join(to_text(brief(report, private=True), width=400).split())
    for page in (report.to_markdown(), report.to_html(), terminal):
        assert "those of suppressed people are not known" in page
