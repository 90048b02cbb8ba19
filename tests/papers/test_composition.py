"""The composition paper's experiments: they run, tell what they found, and can say no."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.papers import reproduce
from sfumato.papers.composition_attacks import (
    ALONE,
    BOTH_MONDRIAN,
    PAIRS,
    Overlap,
    TrialSurvey,
    declared,
    split,
    studies,
    survey,
    try_noise,
)
from sfumato.papers.composition_claims import judge_claims
from sfumato.report.document import Document, Sheet

CLAIMS = {
    "Fig. 1, perfect breach: falls with k",
    "Fig. 4, entropy l-diversity: helps",
    "Fig. 4, entropy l-diversity: does not prevent it",
    "Fig. 4, t-closeness: helps",
    "Fig. 4, t-closeness: does not prevent it",
}


@cache
def on_the_census() -> Document:
    return reproduce("composition", None, quick=True)


def test_on_the_census_where_there_is_no_data() -> None:
    found = on_the_census()
    assert "synthetic people stand in for Adult and ACS" in found.about
    assert "releases of 2,331 and 2,332 people, 663 in both" in found.about
    assert [section.title.removeprefix("Census: ") for section in found.sections] == [
        "Print beside ours",
        "breach against k",
        "how surely",
        "group sizes and values left",
        "with l-diversity and t-closeness",
        "does she find the right group?",
        "the same attack on randomised releases",
    ]
    assert all(section.charts for section in found.sections[1:])
    assert not any(section.private for section in found.sections)
    assert "P0" not in found.to_json()  # an identifier of the census
    told = found.facts["Census"]["claims"]  # type: ignore[index]
    assert {claim for claim, holds in told.items() if holds} >= CLAIMS


def numbers(sheet: Sheet) -> np.ndarray:
    return np.array(sheet.rows, dtype=np.float64)


def test_tables_charts_and_facts_tell_the_same() -> None:
    found = on_the_census()
    trials = found.facts["Census"]["trials"]  # type: ignore[index]
    _, breach, surely, left, *_ = found.sections
    for sheet, line in zip(breach.tables, breach.charts[0].series, strict=True):
        told = [
            one["perfect breach"]
            for one in trials
            if (one["releases"], one["bound"]) == (sheet.title, ALONE)
        ]
        assert [row[1] for row in sheet.rows] == told == list(line.y)
        assert line.name == sheet.title
    for sheet in surely.tables:
        for _, *shares in numbers(sheet):
            assert shares == sorted(shares)  # more people where less is asked
    for sheet in left.tables:
        for _, *_, first, second, both, drop in numbers(sheet):
            assert both <= min(first, second)
            assert drop <= min(first, second) - both + 1e-9


def test_without_noise_what_looks_sure_is_so_and_with_it_often_is_not() -> None:
    told = on_the_census().facts["Census"]["randomised"]  # type: ignore[index]
    assert told["exact counts"]["right"] == 1
    noisy = told["epsilon 1 each"]
    assert noisy["exposed"] > told["exact counts"]["exposed"]
    assert noisy["right"] < 0.8  # about .4; of some 150 people


def test_without_opendp_the_section_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    found = reproduce("composition", None, quick=True)
    (section,) = (one for one in found.sections if "randomised" in one.title)
    assert section.title.endswith(": not run")
    assert "pip install 'sfumato[dp]'" in section.words
    assert not section.tables
    assert found.facts["Census"]["randomised"] == section.words  # type: ignore[index]
    # Everything else is the same: the seed decides.
    assert found.sections[:6] == on_the_census().sections[:6]


def held(found: TrialSurvey) -> set[str]:
    return {
        f"{row.item}: {row.printed}"
        for row in judge_claims(found, "any")
        if row.outcome == "agrees"
    }


def test_the_claims_can_fail() -> None:
    """Trials turned upside down: each claim asks for what it says."""
    (study,) = studies(None, 0)
    bounds = {"entropy 2-diversity": (5,), "0.6-closeness": (5,)}
    found = survey(split(study, 0, quick=True), (5, 10), bounds, 0)
    assert held(found) >= CLAIMS
    rising = [replace(one, k=15 - one.k) for one in found.trials if one.bound == ALONE]
    further = [one for one in found.trials if one.bound != ALONE]
    turned = TrialSurvey((*reversed(rising), *(replace(one, k=10) for one in further)))
    assert "Fig. 1, perfect breach: falls with k" not in held(turned)
    useless = [
        replace(one, bound=bound) for one in found.trials if one.bound == ALONE for bound in bounds
    ]
    plain = tuple(one for one in found.trials if one.bound == ALONE)
    assert not any(claim.endswith("helps") for claim in held(TrialSurvey((*plain, *useless))))
    nobody = [replace(one, oracle=replace(one.oracle, left=(0, 1))) for one in further]
    assert not any("prevent" in claim for claim in held(TrialSurvey((*plain, *nobody))))
    for times, above in ((1.5, True), (1.4, False)):
        sized = [
            replace(one, oracle=replace(one.oracle, group_size=(9.0 * one.k, times * one.k)))
            for one in plain
        ]
        claim = "Fig. 2, partition size: well above k"
        assert (claim in held(TrialSurvey((*sized, *further)))) == above


# -- the parts -----------------------------------------------------------------------------------


def people(table: sf.Table) -> dict[tuple[int, ...], int]:
    counts = table.counts
    rows = np.vstack([counts.codes, counts.values])
    return dict(zip(map(tuple, rows.T.tolist()), counts.n.tolist(), strict=True))


def test_parts_cover_everybody_and_share_the_overlap() -> None:
    (study,) = studies(None, 0)
    overlap = split(study, 3)
    first, second = map(people, overlap.parts)
    shared = people(overlap.shared)
    whole = {
        who: first.get(who, 0) + second.get(who, 0) - shared.get(who, 0)
        for who in first.keys() | second.keys()
    }
    assert whole == people(study.table)
    assert all(n <= min(first[who], second[who]) for who, n in shared.items())
    assert overlap.shared.people == round(5_000 * 10_000 / 30_162)
    assert people(split(study, 3).shared) == shared
    assert people(split(study, 4).shared) != shared


# -- on the public data --------------------------------------------------------------------------


def breach_by_hand(overlap: Overlap, k: int) -> float:
    """Dictionaries of who is in which group with whom, and sets."""
    shown = []
    for place in range(2):
        release = sf.Mondrian().run(Task(overlap.to_cut(place), (sf.KAnonymity(k),)))
        assert release.placement is not None
        counts = release.placement.counts
        group_of: dict[tuple[int, ...], int] = {}
        values: dict[int, set[int]] = defaultdict(set)
        for place, group in zip(release.placement.tuples, release.placement.groups, strict=True):
            group_of[tuple(counts.codes[:, place].tolist())] = int(group)
            values[int(group)].add(int(counts.values[0, place]))
        shown.append({who: values[group] for who, group in group_of.items()})
    alone = total = 0
    for who, n in people(overlap.shared).items():
        left = shown[0][who[:-1]] & shown[1][who[:-1]]
        assert who[-1] in left
        alone += n * (len(left) == 1)
        total += n
    return alone / total


def test_adult_in_full(data_folder: Path) -> None:
    adult, _ = studies(data_folder, 0)
    overlap = split(adult, 0)
    assert adult.table.people == 30_162
    assert [part.people for part in overlap.parts] == [17_581, 17_581]
    assert overlap.shared.people == 5_000
    found = survey(overlap, (2, 5, 10), {"entropy 2-diversity": (2,), "0.6-closeness": (2,)}, 0)
    for pair in PAIRS:
        shares = [one.breach for one in found.of(pair)]
        assert shares == sorted(shares, reverse=True)
        assert 0.1 < shares[0] < 0.6  # k = 2
        assert 0 < shares[-1] < 0.02  # k = 10
    assert held(found) >= {*CLAIMS, "Fig. 2, partition size: well above k"}
    five = found.of(BOTH_MONDRIAN)[1]
    assert five.breach == breach_by_hand(overlap, 5)
    near = found.of("microaggregation both")[1].nearest
    assert near is not None
    assert near.correctly_located[0] == pytest.approx(0.75, abs=0.03)
    noisy = try_noise(declared(adult, overlap), [1.0])
    assert noisy.cells == 9_800
    assert noisy.exact.right is not None
    assert noisy.exact.right[0] == noisy.exact.exposed > 20
    one = noisy.by_epsilon[1.0]
    assert one.right is not None
    assert one.right[0] < 0.75 * one.exposed  # about half of some 180
    assert noisy.composed[1.0].basic.epsilon == 2


def test_acs_leaves_out_people_without_an_industry(data_folder: Path) -> None:
    _, acs = studies(data_folder, 0)
    assert acs.table.people == 16_324
    assert "N" not in acs.table.counts.sensitive[0].domain.values
    found = reproduce("composition", data_folder, quick=True)
    assert "ACS: American Community Survey 2019" in found.about
    assert set(found.facts) == {"Adult", "ACS"}
    assert len(found.sections) == 13
