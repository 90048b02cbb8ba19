"""Suggestions: each was tried on the release, so each can be checked by making that release."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.release.release import as_it_stands
from sfumato.report.report import Advice
from sfumato.report.sections.next_steps import suggestions
from sfumato.workflow.advise import advise, coarsened, next_step, tightest, trouble
from tests.examples import few

HIERARCHIES = {"age": sf.intervals([5, 10, 20]), "zip": sf.mask(), "job": sf.suppression()}
ROWS = st.lists(
    st.tuples(
        st.integers(20, 45),
        st.sampled_from(["1001", "1002", "1101", "2001"]),
        st.sampled_from(["cook", "nurse"]),
        st.sampled_from(["flu", "cold", "gout"]),
    ),
    min_size=2,
    max_size=40,
)
CRITERIA = [sf.KAnonymity(3), sf.DistinctDiversity(2), sf.TCloseness(0.6)]


def table(rows) -> sf.Table:
    columns = zip(*rows, strict=True)
    named = dict(zip(("age", "zip", "job", "disease"), map(list, columns), strict=True))
    schema = sf.Schema(quasi=["age", "zip", "job"], sensitive="disease", hierarchies=HIERARCHIES)
    return sf.read(pa.table(named), schema)


def advice_on(release, criteria=CRITERIA, policy=None) -> Advice:
    return advise(release, criteria, [judge(one, release) for one in criteria], policy)


def violations(release, criteria=CRITERIA) -> tuple[int, int]:
    """Groups and people that violate something, group by group."""
    bad = [
        group
        for group in range(len(release.groups))
        if not all(c.verdict(release.groups.take(np.array([group]))).holds for c in criteria)
    ]
    return len(bad), int(release.groups.sizes[bad].sum())


@settings(max_examples=few(25))
@given(ROWS)
def test_a_coarser_column_buys_what_the_release_of_that_node_shows(rows) -> None:
    people = table(rows)
    found = advice_on(as_it_stands(people))
    for one in found.coarsen:
        levels = people.levels[one.column]
        # The first level that puts any two shown values together.
        level = next(
            at
            for at in range(1, levels.height)
            if len(set(levels[at].codes.tolist())) < len(levels.domain)
        )
        made = sf.generalize(people, {one.column: level})
        assert one.groups == len(made.groups)
        assert (one.left.groups, one.left.people) == violations(made)
        assert one.left.holds is all(judge(c, made).holds for c in CRITERIA)
        assert one.label in levels[level].labels
    people_left = [(not c.left.holds, c.left.people) for c in found.coarsen]
    assert people_left == sorted(people_left)


@settings(max_examples=few(25))
@given(ROWS)
def test_what_is_wrong_now_is_counted_group_by_group(rows) -> None:
    release = as_it_stands(table(rows))
    now, bad = trouble(release, CRITERIA)
    assert (now.groups, now.people) == violations(release)
    assert set(now.failing) == {c.name for c in CRITERIA if not judge(c, release).holds}
    assert bad.sum() == now.groups


@settings(max_examples=few(25))
@given(ROWS)
def test_steps_lead_to_a_release_that_holds_or_to_the_coarsest(rows) -> None:
    found = advice_on(as_it_stands(table(rows)))
    if not found.steps:
        return
    best = found.coarsen[0].left
    if (best.people, len(best.failing)) < (found.now.people, len(found.now.failing)):
        assert found.steps[0] == found.coarsen[0]  # else some column must go several steps
    assert all(not step.left.holds for step in found.steps[:-1])
    last = found.steps[-1]
    assert last.left.holds or last.groups == 1
    sizes = [step.groups for step in found.steps]
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=few(25))
@given(ROWS)
def test_leaving_groups_out_costs_what_is_said_and_the_rest_holds(rows) -> None:
    release = as_it_stands(table(rows))
    found = advice_on(release)
    if found.suppress is None:
        assert found.now.holds or found.now.groups == len(release.groups)
        return
    assert (found.suppress.groups, found.suppress.people) == violations(release)
    assert found.suppress.left.holds  # each is judged alone, against the whole table
    assert found.suppress.everybody == len(rows)
    listed = [people for _, people in found.suppress.largest]
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == min(10, found.suppress.groups)


@settings(max_examples=few(25))
@given(ROWS, st.integers(2, 6), st.sampled_from([0.1, 0.25, 0.5]))
def test_the_tightest_bound_holds_and_a_tighter_one_does_not(rows, k, t) -> None:
    release = as_it_stands(table(rows))
    for criterion, step in (
        (sf.KAnonymity(k), 1),
        (sf.DistinctDiversity(k), 1),
        (sf.TCloseness(t), -1e-3),
        (sf.BetaLikeness(t), -1e-3),
        (sf.EntropyDiversity(1.5), 1e-2),
    ):
        verdict = judge(criterion, release)
        found = tightest(criterion, verdict, release)
        if found is None:
            assert verdict.measured is None or not math.isfinite(verdict.measured)
            continue
        assert found.asked == getattr(criterion, found.parameter)
        assert found.holds_now is verdict.holds
        assert judge(replace(criterion, **{found.parameter: found.tightest}), release).holds
        tighter = found.tightest + step * max(1.0, found.tightest if abs(step) < 1 else 1)
        if tighter > 0:
            value = int(tighter) if isinstance(step, int) else tighter
            assert not judge(replace(criterion, **{found.parameter: value}), release).holds


def test_the_policy_says_how_many_may_be_left_out() -> None:
    rows = [(20, "1001", "cook", "flu")] * 6 + [(20, "1001", "cook", "cold")] * 3
    release = as_it_stands(table([*rows, (40, "2001", "nurse", "flu")]))
    policy = sf.Policy([sf.KAnonymity(2)], suppression=0.1, anonymizer=sf.Mondrian())
    found = advice_on(release, list(policy.require), policy)
    assert found.suppress.people == found.suppress.allowed == 1
    assert found.suppress.largest == (("age 40, zip 2001, job nurse", 1),)
    assert advice_on(release, list(policy.require)).suppress.allowed is None


def test_nothing_is_suggested_where_all_holds_but_how_tight_it_is() -> None:
    release = as_it_stands(table([(20, "1001", "cook", s) for s in ("flu", "cold", "gout")]))
    found = advice_on(release)
    assert found.now.holds
    assert not found.coarsen
    assert found.suppress is None
    by_name = {bound.criterion: bound.tightest for bound in found.bounds}
    assert by_name == {"k-anonymity": 3, "distinct-diversity": 3, "t-closeness": 0}


def test_no_change_is_said_to_mend_what_was_not_tried() -> None:
    """A bound that is judged on finished releases: what would mend it is not known."""
    rows = [(20 + n % 7, "1001", "cook", ("flu", "cold")[n % 7 < 3]) for n in range(28)]
    release = as_it_stands(table(rows))
    two, five, late = sf.KAnonymity(2), sf.KAnonymity(5), sf.RelativeThreatBound(1.01)
    violated = replace(judge(two, release), status="violated")
    only = advise(release, [two, late], [judge(two, release), violated])
    assert (only.coarsen, only.steps, only.suppress) == ((), (), None)
    assert only.untried == ("relative-threat",)
    both = advise(release, [five, late], [judge(five, release), violated])
    assert both.coarsen[0].left.holds
    assert both.untried == ("relative-threat",)
    assert advice_on(release, [five]).untried == ()


def test_advice_tells_what_was_not_tried() -> None:
    rows = [(20 + n % 7, "1001", "cook", ("flu", "cold")[n % 7 < 3]) for n in range(28)]
    people = table(rows)
    report = sf.audit(people, [sf.KAnonymity(5)])
    assert report.advice is not None
    told = " ".join(suggestions(report.advice, report))
    assert "then the policy holds" in told
    untried = replace(report.advice, untried=("relative-threat",))
    told = " ".join(suggestions(untried, report))
    assert "the policy holds" not in told
    assert "then all that was tried holds, but not shown: relative-threat" in told


def test_a_release_of_another_tool_is_coarsened_along_its_own_labels(tmp_path) -> None:
    rows = ["age,zip,disease"]
    labels = ("[20, 25),1001", "[25, 30),1002", "[30, 35),1101", "[35, 40),1102")
    rows += [
        f'"{label.split(",")[0]},{label.split(",")[1]}",{label.split(",")[2]},flu'
        for label in labels
    ]
    (tmp_path / "release.csv").write_text("\n".join(rows) + "\n")
    schema = sf.Schema(
        quasi=["age", "zip"],
        sensitive="disease",
        hierarchies={"age": sf.intervals([5, 10, 20]), "zip": sf.mask()},
    )
    release = sf.read_release(tmp_path / "release.csv", schema)
    age, zip_code = next_step(release, "age"), next_step(release, "zip")
    assert {one.text for one in age.regions} == {"[20, 30)", "[30, 40)"}
    assert {one.text for one in zip_code.regions} == {"100*", "110*"}
    wider = coarsened(coarsened(release, "age", age), "zip", zip_code)
    assert wider.groups.sizes.tolist() == [2, 2]
    again = next_step(wider, "age")
    assert [one.text for one in again.regions] == ["[20, 40)"]
    assert next_step(coarsened(wider, "age", again), "age") is None  # all are alike in it


def test_labels_outside_the_hierarchy_can_only_be_left_out(tmp_path) -> None:
    (tmp_path / "release.csv").write_text("age,disease\nyoung,flu\nold,flu\n")
    schema = sf.Schema(quasi=["age"], sensitive="disease")
    release = sf.read_release(tmp_path / "release.csv", schema)
    step = next_step(release, "age")
    assert step.withheld
    assert coarsened(release, "age", step).groups.sizes.tolist() == [2]


def test_merged_groups_are_sums() -> None:
    groups = sf.Groups(
        [[1, 0, 2], [0, 3, 0], [4, 0, 0]], values=["a", "b", "c"], reference=[9, 9, 9]
    )
    found = groups.merge(np.array([1, 0, 1]), 2)
    assert found.dense().tolist() == [[0, 3, 0], [5, 0, 2]]
    assert found.sizes.tolist() == [3, 7]
    assert found.reference.tolist() == [9, 9, 9]
    assert found.values == ("a", "b", "c")


@pytest.mark.parametrize(
    ("make", "why", "instead"),
    [
        (
            lambda t: sf.anonymize(
                t, sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2)), seed=0
            ),
            "exact",
            "buckets do not change who can be told apart",
        ),
        (
            lambda t: sf.anonymize(
                t, sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Microaggregation(2)), seed=0
            ),
            "ranges",
            "leaves nobody",
        ),
    ],
)
def test_where_a_coarser_column_cannot_be_tried_it_is_said(make, why: str, instead: str) -> None:
    rows = [(20 + i, "1001", "cook", ("flu", "cold", "gout")[i % 3]) for i in range(12)]
    release = make(table(rows))
    found = advice_on(release, [sf.KAnonymity(1000)])
    assert not found.coarsen
    assert any(why in reason for reason in found.silent)
    assert any(instead in reason for reason in found.silent)


def test_suppressing_buckets_takes_their_people_along() -> None:
    rows = [(20 + i, "1001", "cook", ("flu", "cold", "gout")[i % 3]) for i in range(13)]
    policy = sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2))
    release = sf.anonymize(table(rows), policy, seed=0)
    sizes = release.groups.sizes
    assert len(set(sizes.tolist())) == 2
    found = advice_on(release, [sf.DistinctDiversity(int(sizes.max()))])
    assert found.suppress.people == int(sizes[sizes < sizes.max()].sum())
    assert found.suppress.left.holds


# -- lists ----------------------------------------------------------------------------------------


def lists_table(seed: int, several: str) -> sf.Table:
    chance = Random(seed)
    total = chance.randint(8, 30)
    lists = [chance.choices("ABCD", k=chance.randint(0, 3)) for _ in range(total)]
    columns = {
        "age": [chance.randint(20, 29) for _ in range(total)],
        "ill": pa.array(lists, pa.list_(pa.string())),
    }
    hierarchies = {"age": HIERARCHIES["age"]}
    schema = sf.Schema(["age"], "ill", hierarchies=hierarchies, several=several)
    return sf.read(pa.table(columns), schema)


def test_lists_stay_whole_in_advice_that_promises_the_policy_holds() -> None:
    """What a coarser column buys is what the release of that node, made of the table, shows."""
    promised = 0
    for seed in range(40):
        people = lists_table(seed, "set" if seed % 2 else "multiset")
        criteria = [sf.SkylinePrivacy([(seed % 3, 1, seed % 2, 0.95)]), sf.KAnonymity(2)]
        release = as_it_stands(people)
        for one in advice_on(release, criteria).coarsen:
            step, levels = next_step(release, one.column), people.levels[one.column]
            assert step is not None
            assert coarsened(release, one.column, step).groups.linked
            level = next(
                at
                for at in range(1, levels.height)
                if len(set(levels[at].codes.tolist())) < len(levels.domain)
            )
            made = sf.generalize(people, {one.column: level})
            assert one.left.holds is all(judge(c, made).holds for c in criteria)
            promised += one.left.holds
    assert promised > 5


# -- people known from private/ -------------------------------------------------------------------


def test_a_composition_safe_release_that_is_read_back_is_advised_as_the_one_made(tmp_path) -> None:
    chance = Random(1)
    rows = [
        (
            chance.randint(20, 45),
            chance.choice(["1001", "1002", "2001"]),
            "cook",
            chance.choice("abcd"),
        )
        for _ in range(60)
    ]
    earlier = sf.anonymize(table(rows[:40]), sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Lattice()))
    bound = sf.CompositionBound(0.9, 0.5, [earlier])
    policy = sf.Policy([bound], anonymizer=sf.Lattice())
    made = sf.anonymize(table(rows), policy)
    earlier.save(tmp_path / "earlier")
    from_file = replace(bound, earlier=[tmp_path / "earlier"])
    made.save(tmp_path / "out", policy=replace(policy, require=[from_file]))
    back = sf.read_release(tmp_path / "out", made.schema)
    assert back.inside() is not None
    # Coarser columns and groups left out are judged by the people who are inside then.
    stricter = [sf.KAnonymity(2), replace(bound, share=0.01)]
    assert not sf.audit(back, stricter).holds
    mine, hers = advice_on(back, stricter), advice_on(made, stricter)
    assert mine.suppress is not None
    assert mine.coarsen
    assert (mine.suppress.left, mine.coarsen) == (hers.suppress.left, hers.coarsen)
    assert mine.steps == hers.steps


visits = st.lists(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("abc")), min_size=1, max_size=2),
    min_size=1,
    max_size=9,
)


@given(visits)
@settings(max_examples=few(60))
def test_people_of_linked_rows_are_left_out_with_all_of_their_rows(people) -> None:
    rows = [
        {"who": who, "ward": ward, "ill": ill}
        for who, listed in enumerate(people)
        for ward, ill in listed
    ]
    schema = sf.Schema(["ward"], "ill", person="who", rows="linked")
    release = as_it_stands(sf.read(pa.Table.from_pylist(rows), schema))
    asked = [sf.DistinctDiversity(2), sf.AlphaK(0.6, 1)]
    advice = advise(release, asked, [judge(criterion, release) for criterion in asked])
    alike: dict[tuple[str, ...], list[list[tuple[str, str]]]] = {}
    for listed in people:
        alike.setdefault(tuple(sorted(ward for ward, _ in listed)), []).append(listed)

    def highest_share(group) -> float:
        has = [{ill for _, ill in listed} for listed in group]
        return max(sum(value in values for values in has) / len(has) for value in "abc")

    def one_value_of_rows(group) -> bool:
        ill = [{v for listed in group for w, v in listed if w == ward} for ward in "xy"]
        return any(len(values) == 1 for values in ill)

    failing = [group for group in alike.values() if highest_share(group) > 0.6]
    left = [group for group in alike.values() if highest_share(group) <= 0.6]
    if failing:  # who is shared by all is shared by more than 0.6
        assert advice.now.groups == len(failing)
        assert advice.now.people == sum(map(len, failing))
    if failing and left:
        assert advice.suppress is not None
        kept = not any(map(one_value_of_rows, left))
        assert advice.suppress.left.failing == (() if kept else ("distinct-diversity",))


def test_rows_published_one_by_one_are_not_coarsened_though_everybody_has_one() -> None:
    rows = {"who": [0, 1, 2], "age": [1, 2, 3], "ill": ["flu", "gout", "flu"]}
    schema = sf.Schema(["age"], "ill", person="who", rows="unlinked")
    release = as_it_stands(sf.read(pa.table(rows), schema))
    asked = [sf.KAnonymity(2)]
    advice = advise(release, asked, [judge(criterion, release) for criterion in asked])
    assert advice.coarsen == ()
    assert any("rows are published one by one" in reason for reason in advice.silent)


PEOPLE = st.lists(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("AB")), min_size=1, max_size=2),
    min_size=2,
    max_size=6,
)


@settings(max_examples=few(25))
@given(PEOPLE, st.sampled_from([0.0, 0.2, 0.4]))
def test_of_linked_rows_whoever_has_a_row_that_violates_it_is_counted(people, closeness) -> None:
    rows = pa.Table.from_pylist(
        [
            {"who": who, "ward": ward, "ill": ill}
            for who, own in enumerate(people)
            for ward, ill in own
        ]
    )
    linked = sf.Schema(["ward"], "ill", person="who", rows="linked")
    release = as_it_stands(sf.read(rows, linked))
    now, _ = trouble(release, [sf.TCloseness(closeness)])
    signatures = [tuple(sorted(ward for ward, _ in own)) for own in people]
    ills = [ill for own in people for _, ill in own]
    bad = set()
    for signature in set(signatures):
        alike = [own for own, has in zip(people, signatures, strict=True) if has == signature]
        for ward in signature:
            here = [ill for own in alike for shown, ill in own if shown == ward]
            apart = abs(here.count("A") / len(here) - ills.count("A") / len(ills))
            if apart > closeness + 1e-9:
                bad.add(signature)
    assert (now.groups, now.people) == (len(bad), sum(has in bad for has in signatures))
    assert now.holds == (not bad)
