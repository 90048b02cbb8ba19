"""Rows that a pseudonym links: judged by signatures, against every way of naming pseudonyms."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.risks import linkage
from sfumato.release.release import Release, as_it_stands
from tests.oracles.linked_oracle import beliefs, candidates

cells = st.sampled_from(["x", "y", "z"])
values = st.sampled_from(["A", "B", "C"])
tables = st.lists(
    st.lists(st.tuples(cells, values), min_size=1, max_size=3), min_size=1, max_size=5
)


def as_published(people, **schema: object) -> Release:
    rows = [(number, *row) for number, own in enumerate(people) for row in own]
    frame = pd.DataFrame(rows, columns=["who", "ward", "ill"])
    roles = sf.Schema(["ward"], "ill", person="who", rows="linked", **schema)
    return as_it_stands(sf.read(frame, roles))


@given(tables, st.sampled_from(["all", 1, 2, 3]))
def test_people_are_found_among_those_who_have_the_rows_that_are_known(people, knows) -> None:
    release = as_published(people, knows=knows)
    fewest = candidates(people, knows)
    assert release.people == len(people)
    assert sf.KAnonymity(1).measure(release.indistinguishable).value == min(fewest)
    risk = linkage(release).prosecutor
    assert risk is not None
    assert risk.highest == pytest.approx(1 / min(fewest))
    assert risk.mean * len(people) == pytest.approx(sum(1 / one for one in fewest))


@given(tables)
def test_what_people_have_is_what_all_ways_of_naming_pseudonyms_say(people) -> None:
    release = as_published(people)
    linked, has, of_row = beliefs(people)
    groups, by_row = release.groups, release.by_row
    assert by_row is not None
    assert max(linked.values()) == Fraction(1, int(groups.sizes.min()))
    shares = {
        Fraction(int(n), int(groups.sizes[g]))
        for g, n in zip(groups.row, groups.having, strict=True)
    }
    assert shares == set(has.values())
    rows = by_row.groups
    shares = {
        Fraction(int(n), int(rows.sizes[g])) for g, n in zip(rows.row, rows.data, strict=True)
    }
    assert shares == set(of_row.values())
    assert rows.people() == len(people)


@given(tables, st.integers(2, 3))
def test_diverse_means_diverse_by_row_and_by_person(people, l: int) -> None:  # noqa: E741
    verdict = sf.audit(as_published(people), [sf.DistinctDiversity(l)]).verdicts[0]
    groups: dict[tuple[str, ...], list] = {}
    for own in people:
        groups.setdefault(tuple(sorted(cell for cell, _ in own)), []).append(own)
    fewest = []
    for alike in groups.values():
        lists = {frozenset(value for _, value in own) for own in alike}
        every = {value for some in lists for value in some}
        fewest += [1 + sum(value not in some for some in lists) for value in every]
        for cell in {cell for cell, _ in alike[0]}:
            fewest.append(len({value for own in alike for shown, value in own if shown == cell}))
    assert verdict.holds == (min(fewest) >= l)


def test_that_all_have_a_value_in_some_row_is_no_diversity() -> None:
    people = [[("x", "A"), ("y", "B")], [("x", "B"), ("y", "A")]]
    release = as_published(people)
    (diverse, close) = sf.audit(release, [sf.DistinctDiversity(2), sf.TCloseness(0.2)]).verdicts
    assert not diverse.holds
    assert diverse.measured == 1
    assert close.holds  # the value of a row is as likely as in the table


def test_presence_by_weights_is_not_judged_where_there_are_none() -> None:
    release = as_published([[("x", "A")], [("x", "B"), ("y", "A")]])
    verdict = sf.audit(release, [sf.DeltaPresence(0, 0.5, population="weights")]).verdicts[0]
    assert verdict.status == "cannot_judge"
    assert "no survey weights" in verdict.note


def test_an_intersection_attack_asks_whose_each_row_is() -> None:
    release = as_published([[("x", "A")], [("x", "B"), ("y", "A")]])
    people = sf.read(pd.DataFrame({"ward": ["x"], "ill": ["A"]}), sf.Schema(["ward"], "ill"))
    with pytest.raises(sf.InputError, match="the targets do not tell whose each row is"):
        sf.intersection_attack([release, release], people)


def test_too_many_sets_of_rows_are_judged_as_if_all_were_known() -> None:
    long = [(f"w{number}", "A") for number in range(30)]
    release = as_published([long, long, [*long[:29], ("other", "B")]], knows=15)
    assert release.indistinguishable.sizes.tolist() == release.groups.sizes.tolist()
    assert sum("too many sets of 15 rows" in note for note in release.notes) == 1
