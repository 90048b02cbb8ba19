"""What is said of the whole table by whoever does not know what suppressed people have."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import GroupCriterion, judge
from sfumato.criteria.verdict import PUBLISHED_ALONE
from sfumato.criteria.whole_table import MAY_BREAK
from sfumato.release.groups import Groups
from sfumato.release.made import ReadFrom
from sfumato.release.release import Release, as_it_stands
from sfumato.report.sections.report import brief
from sfumato.report.text import to_text
from sfumato.schema.roles import ShownRows

VALUES = ("flu", "cold", "ulcer")
SCHEMA = sf.Schema(quasi=["ward"], sensitive="ill")
LEAKAGE = sf.DistributionLeakage(1.0)
REALISTIC = sf.EpsilonPrivacy(50, sf.RealisticAdversary(shape="table", stubbornness=5))


def read_alone(people: list[tuple[str, str]], missing: int) -> Release:
    """Published people, as they are read without private/: so many more were suppressed."""
    wards, ills = zip(*people, strict=True)
    release = as_it_stands(sf.read(pa.table({"ward": wards, "ill": ills}), SCHEMA))
    return replace(release, suppressed=missing, made=ReadFrom(whole_unknown=True))


def may_break(criterion: GroupCriterion, groups: Groups, missing: int) -> bool:
    """Whether some values of the suppressed people break it: every one is tried."""
    wider = (*groups.values, "of nobody else")
    for having in combinations_with_replacement(range(len(wider)), missing):
        whole = np.append(groups.reference, 0.0)
        np.add.at(whole, list(having), 1.0)
        again = groups.relabel(np.arange(groups.width), wider, None, whole)
        if not criterion.verdict(again).holds:
            return True
    return False


@given(
    st.lists(st.tuples(st.sampled_from("NS"), st.sampled_from(VALUES)), min_size=1, max_size=12),
    st.integers(0, 3),
    st.fractions(Fraction(1, 20), 2, max_denominator=20),
)
def test_a_bound_holds_for_who_does_not_know_them_if_it_does_whatever_they_have(
    people: list[tuple[str, str]], missing: int, bound: Fraction
) -> None:
    release = read_alone(people, missing)
    for criterion in (
        sf.TCloseness(min(float(bound), 1.0)),
        sf.BetaLikeness(float(bound)),
        sf.BetaLikeness(float(bound), enhanced=True),
    ):
        verdict, as_told = judge(criterion, release), criterion.verdict(release.groups)
        assert verdict.measured == as_told.measured
        if not as_told.holds:
            assert verdict.status == "violated"
        elif may_break(criterion, release.groups, missing):
            assert verdict.status == "cannot_judge"
            assert MAY_BREAK in verdict.note
        else:
            assert verdict.status == "holds"


@pytest.mark.parametrize(
    "criterion",
    [
        sf.TCloseness(1.0),
        sf.BetaLikeness(99.0),
        sf.DeltaDisclosure(99.0),
        LEAKAGE,
        sf.EntropyLeakage(9.0),
        REALISTIC,
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
