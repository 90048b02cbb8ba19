"""Characterization: every figure by brute force on random tables; ranking, advice, bad input."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.leakage.expectation import Leakage, weighted
from sfumato.adversaries.leakage.metrics import FURTHER
from sfumato.counts.marginals import Marginal
from sfumato.release.description import of_scheme
from sfumato.release.release import as_it_stands
from sfumato.workflow.combination_findings import LargestLeakage, Naming
from sfumato.workflow.combinations import CombinationPlan, LeakageTarget
from sfumato.workflow.observed_classes import TargetPriors, measure
from tests.examples import few
from tests.oracles import leakage_oracle as oracle

NAMES = ("a", "b", "c", "s", "t")
SCHEMA = sf.Schema(quasi=["a", "b", "c"], sensitive=["s", "t"])
values = st.sampled_from(["x", "y", None])
rows_ = st.lists(st.tuples(*[values] * 5), min_size=1, max_size=12)


def table(rows: list[tuple[Any, ...]], schema: sf.Schema = SCHEMA, names=NAMES) -> sf.Table:
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(len(names))]
    return sf.read(pa.table(columns, names=list(names)), schema, threads=1)


def places(names) -> list[int]:
    return [NAMES.index(name) for name in names]


def text(value: object) -> str:
    return "(missing)" if value is None else str(value)


def check(found: sf.Characterization, rows, expected=None) -> None:
    """Every finding against the definition."""
    for one in found.findings:
        known, target = places(one.columns), places(one.target.split(" | "))
        before = None if expected is None else (lambda cells: expected(known, target, cells))  # noqa: B023
        right = oracle.measure(rows, known, target, before)
        people = [n for n, _, _ in right.values()]
        distribution = [math.sqrt(square) for _, square, _ in right.values()]
        entropy = [gap for _, _, gap in right.values()]
        assert one.classes == len(right)
        assert one.k == min(people)
        assert one.unique == pytest.approx(sum(n == 1 for n in people) / len(rows))
        for spread, leaks in ((one.distribution, distribution), (one.entropy, entropy)):
            assert spread.largest == pytest.approx(max(leaks), abs=1e-12)
            assert spread.mean == pytest.approx(sum(leaks) / len(leaks), abs=1e-12)
            weighted = sum(n * leak for n, leak in zip(people, leaks, strict=True)) / len(rows)
            assert spread.weighted == pytest.approx(weighted, abs=1e-12)
        check_worst(one, rows, right, known, target, before)


def check_worst(one, rows, right, known, target, before) -> None:
    worst = one.worst
    cells = next(c for c in right if tuple(map(text, c)) == tuple(worst.cells.values()))
    assert math.sqrt(right[cells][1]) == pytest.approx(one.distribution.largest, abs=1e-12)
    assert worst.people == right[cells][0]
    tied = [
        n
        for n, square, _ in right.values()
        if abs(math.sqrt(square) - one.distribution.largest) < 1e-9
    ]
    assert worst.people == max(tied)
    members = oracle.classes(rows, known)[cells]
    shown = oracle.shares([oracle.value(row, target) for row in members])
    everybody = oracle.shares([oracle.value(row, target) for row in rows])
    prior = everybody if before is None else before(cells)

    def named(value: Any) -> str:
        return " | ".join(map(text, value))

    assert {v: p for v, p in zip(worst.values, worst.observed, strict=True) if p} == pytest.approx(
        {named(value): float(p) for value, p in shown.items()}
    )
    assert {v: p for v, p in zip(worst.values, worst.expected, strict=True) if p} == pytest.approx(
        {named(value): float(p) for value, p in prior.items() if p}
    )
    assert set(worst.ruled_out) == {named(v) for v, p in prior.items() if p and v not in shown}
    spread = Counter(
        value
        for rest in oracle.classes(rows, known).values()
        for value in {oracle.value(r, target) for r in rest}
    )
    only = {named(v) for v in shown if spread[v] == 1} if one.classes > 1 else set()
    assert set(worst.only_here) == only
    assert one.pinned == (sum(n == 1 for n in spread.values()) if one.classes > 1 else 0)


# -- brute force ----------------------------------------------------------------------------------


@settings(max_examples=few(40))
@given(rows_)
def test_all_combinations_against_every_sensitive_column(rows) -> None:
    found = sf.characterize(table(rows), 3)
    assert [(one.columns, one.target) for one in found.findings] == [
        (columns, target)
        for target in "st"
        for size in (1, 2, 3)
        for columns in combinations("abc", size)
    ]
    check(found, rows)


@settings(max_examples=few(25))
@given(rows_)
def test_every_column_against_every_other(rows) -> None:
    found = sf.characterize(table(rows), 2, "*", columns=list(NAMES))
    assert len(found.findings) == 5 * (4 + 6)
    check(found, rows)


@settings(max_examples=few(25))
@given(rows_)
def test_joint_targets(rows) -> None:
    found = sf.characterize(table(rows), 2, [("s", "t"), "s", ("t", "a")])
    assert found.targets == ("s | t", "s", "t | a")
    assert {one.columns for one in found.findings if one.target == "t | a"} == {
        ("b",),
        ("c",),
        ("b", "c"),
    }
    check(found, rows)


@settings(max_examples=few(25))
@given(rows_)
def test_given_what_is_known_already(rows) -> None:
    found = sf.characterize(table(rows), 3, "s", prior={"given": ["b"]})
    assert {one.columns for one in found.findings} == {("a", "b"), ("b", "c"), ("a", "b", "c")}

    def expected(known, target, cells):
        b = cells[known.index(1)]
        return oracle.shares([oracle.value(row, target) for row in rows if row[1] == b])

    check(found, rows, expected)


@settings(max_examples=few(25))
@given(rows_, rows_)
def test_an_outside_table(rows, more) -> None:
    outside = rows + [(*row[:3], "z", row[4]) for row in more]  # it covers every class

    def expected(known, target, cells):
        fitting = [row for row in outside if oracle.value(row, known) == cells]
        return oracle.shares([oracle.value(row, target) for row in fitting])

    check(sf.characterize(table(rows), 2, "s", prior=table(outside)), rows, expected)


@settings(max_examples=few(25))
@given(rows_)
def test_a_table_as_it_stands_is_its_own_release(rows) -> None:
    found = sf.characterize(as_it_stands(table(rows)), 3, ["s", ("s", "t"), "c"])
    check(found, rows)
    assert found.public


@settings(max_examples=few(25))
@given(rows_)
def test_everybody_s_leakage_is_the_largest_of_her_classes(rows) -> None:
    found = sf.characterize(table(rows), 2, "s", individuals=True)
    people = found.individuals
    assert people.people.sum() == len(rows)
    exposed = people.to_arrow().to_pylist()
    measured = {
        columns: oracle.measure(rows, places(columns), [3])
        for size in (1, 2)
        for columns in combinations("abc", size)
    }
    assert sum(person["people"] for person in exposed) == len(rows)
    leaks = [person["leakage of s"] for person in exposed]
    assert leaks == sorted(leaks, reverse=True)
    for row in rows:
        most = max(
            math.sqrt(classes[oracle.value(row, places(columns))][1])
            for columns, classes in measured.items()
        )
        same = [
            p for p in exposed if all(p[n] == text(v) for n, v in zip("abc", row, strict=False))
        ]
        assert same[0]["leakage of s"] == pytest.approx(most, abs=1e-12)
        by = tuple(same[0]["s by"].split(", "))
        mine = measured[by][oracle.value(row, places(by))]
        assert math.sqrt(mine[1]) == pytest.approx(most, abs=1e-12)


def test_of_columns_that_leak_alike_the_fewest_and_first_are_named() -> None:
    """b and c repeat a, so every combination leaks the same; threads end in any order."""
    rows = [("x", "x", "x", "x", "x"), ("y", "y", "y", "y", "y")] * 3
    for _ in range(5):
        people = sf.characterize(table(rows), 3, "s", individuals=True).individuals.to_arrow()
        assert people.column("s by").to_pylist() == ["a", "a"]
    # Here all but a alone tell everything, whatever rounding says.
    rows = [("x", "x", "x", "x", "x"), ("x", "y", "y", "y", "y"), ("x", "z", "z", "z", "z")]
    found = sf.characterize(table(rows), 3, "s", individuals=True).individuals
    assert found.to_arrow().column("s by").to_pylist() == ["b"] * 3


def test_the_order_in_which_combinations_come_does_not_show() -> None:
    """Also where leakages differ by rounding alone."""
    base = Marginal((0, 1, 2), (1, 1, 1), np.zeros((3, 1), dtype=np.int32), np.ones(1))
    target = LeakageTarget((2,), 2, "s")
    asked = {(0, 2): [target], (1, 2): [target], (0, 1, 2): [target]}
    leaks = {(0, 2): 0.5, (1, 2): 0.5 + 1e-16, (0, 1, 2): 0.5 + 3e-16}
    named = Naming(("a", "b", "s"), (["x"], ["x"], ["x"]))
    priors = TargetPriors({2: weighted([1])}, None, None, {})
    for order in permutations(asked):
        exposure = LargestLeakage(base, CombinationPlan((0, 1), (target,), asked, {}, ()))
        for columns in order:
            cells = base.onto(columns)
            found = Leakage(np.array([leaks[columns] ** 2]), np.zeros(1), np.zeros(1))
            exposure.add(replace(measure(cells, target, priors), leakage=found))
        assert exposure.result(named, 3).to_arrow().column("s by").to_pylist() == ["a"]


def test_uniform_and_given_shares() -> None:
    rows = [("x", "x", "x", "x", "x"), ("y", "x", "x", "y", "x")]
    uniform = sf.characterize(table(rows), 1, "s", prior="uniform").finding("a")
    assert uniform.distribution.largest == pytest.approx(math.sqrt(0.5))
    shares = sf.characterize(table(rows), 1, "s", prior={"x": 1}).finding("a")
    assert shares.distribution.largest == pytest.approx(math.sqrt(2))
    assert shares.entropy.largest == 0
    assert shares.distribution.mean == pytest.approx(math.sqrt(2) / 2)


# -- releases -------------------------------------------------------------------------------------


def patients(n: int = 200) -> sf.Table:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 60, n)
    ill = np.where(age < 30, rng.choice(["flu", "cold"], n), rng.choice(["flu", "cold", "gout"], n))
    schema = sf.Schema(
        quasi=["age", "sex", "zip"],
        sensitive="ill",
        keep=["job"],
        identifiers=["who"],
        hierarchies={"age": sf.intervals([5, 10, 20]), "zip": sf.mask()},
    )
    return sf.read(
        pa.table(
            {
                "age": age,
                "sex": rng.choice(["F", "M"], n),
                "zip": [f"1{v}" for v in rng.integers(100, 140, n)],
                "ill": ill,
                "job": rng.choice(["a", "b", "c"], n),
                "who": np.arange(n),
                "note": ["x"] * n,
            }
        ),
        schema,
        threads=1,
    )


def numbers() -> sf.Table:
    schema = sf.Schema(quasi=["a"], sensitive="s")
    rows = {"a": [at % 9 for at in range(60)], "s": [(at * 7 + at // 9) % 3 for at in range(60)]}
    return sf.read(pa.table(rows), schema, threads=1)


def test_further_metrics_are_what_the_criteria_measure() -> None:
    subject = numbers()
    groups = as_it_stands(subject).groups
    for found in (
        sf.characterize(subject, metrics="all"),
        sf.characterize(as_it_stands(subject), metrics="all"),
    ):
        (finding,) = found.findings
        assert tuple(finding.metrics) == FURTHER
        for name, spread in finding.metrics.items():
            measured = sf.DistributionLeakage(0.5, metric=name).measure(groups).per_group
            assert spread.largest == pytest.approx(measured.max())
            assert spread.mean == pytest.approx(measured.mean())
            assert spread.weighted == pytest.approx(measured @ groups.sizes / 60)
        assert "Hellinger" in str(found)
    assert sf.characterize(subject).findings[0].metrics == {}
    with pytest.raises(sf.InputError, match="did you mean 'hellinger'"):
        sf.characterize(subject, metrics=["helinger"])
    unordered = table([("x", "y", "x", "x", "y")])
    with pytest.raises(sf.InputError, match="needs values in an order"):
        sf.characterize(unordered, metrics=["earth-mover"])
    assert "earth-mover" not in sf.characterize(unordered, metrics="all").findings[0].metrics


def test_infinite_leakage_is_said_as_such() -> None:
    found = sf.characterize(numbers(), prior={"0": 1, "1": 1}, metrics=["chi-square"])
    assert "not expected at all" in str(found)
    facts = json.loads(found.to_json())["facts"]["findings"][0]["metrics"]["chi-square"]
    assert facts["largest"] == facts["weighted"] == "inf"


def test_a_release_shows_its_cells_and_refers_to_the_published_people() -> None:
    policy = sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Lattice(), suppression=0.05)
    release = sf.anonymize(patients(), policy, seed=3)
    assert release.suppressed > 0
    found = sf.characterize(release, 3)
    whole = found.finding(["age", "sex", "zip"])
    published = release.groups.unreferenced()
    criterion = sf.DistributionLeakage(0.1).measure(published)
    assert whole.distribution.largest == pytest.approx(criterion.value, abs=1e-12)
    assert whole.distribution.mean == pytest.approx(criterion.per_group.mean(), abs=1e-12)
    entropy = sf.EntropyLeakage(0.1).measure(published)
    assert whole.entropy.largest == pytest.approx(entropy.value, abs=1e-12)
    assert whole.k >= 4
    assert whole.worst.cells == release.regions.describe(criterion.worst[0])
    assert any("suppressed people are in no class" in note for note in found.notes)


def test_generalizing_maps_every_record_to_one_and_never_adds_values() -> None:
    raw = sf.characterize(patients(), 3)
    coarse = sf.characterize(sf.generalize(patients(), {"age": 2, "zip": 1}), 3)
    assert raw.people == coarse.people == 200
    for one, other in zip(raw.findings, coarse.findings, strict=True):
        assert one.columns == other.columns
        assert other.classes <= one.classes
        assert other.distribution.largest <= one.distribution.largest + 1e-12


def test_a_release_read_back_says_the_same(tmp_path: Path) -> None:
    release = sf.anonymize(
        patients(), sf.Policy([sf.KAnonymity(4)], anonymizer=sf.Mondrian()), seed=3
    )
    release.save(tmp_path / "out")
    again = sf.characterize(sf.read_release(tmp_path / "out"), 2)
    for one, other in zip(sf.characterize(release, 2).findings, again.findings, strict=True):
        assert (one.columns, one.classes, one.k) == (other.columns, other.classes, other.k)
        assert one.distribution.weighted == pytest.approx(other.distribution.weighted, abs=1e-12)


def test_a_bucket_shows_its_tuples_and_the_shares_of_its_values() -> None:
    rows = [
        ("x", "x", "x", "flu"),
        ("y", "x", "x", "cold"),
        ("x", "y", "x", "flu"),
        ("y", "y", "x", "gout"),
    ]
    schema = sf.Schema(quasi=["a", "b", "c"], sensitive="s")
    subject = table(rows, schema, NAMES[:4])
    release = sf.anonymize(
        subject, sf.Policy([sf.DistinctDiversity(2)], anonymizer=sf.Anatomy(2)), seed=1
    )
    found = sf.characterize(release, 3)
    whole = found.finding(["a", "b", "c"])
    assert whole.classes == 4
    assert whole.unique == 1
    groups = sf.DistributionLeakage(0.1).measure(release.groups)
    assert whole.distribution.largest == pytest.approx(groups.value, abs=1e-12)
    assert found.finding(["c"]).distribution.largest == pytest.approx(0, abs=1e-7)
    assert any("expected ones" in note for note in found.notes)


def test_overlapping_or_noisy_groups_are_refused() -> None:
    rows = pa.table({"a": ["1", "*"], "s": ["u", "v"]})
    schema = sf.Schema(quasi=["a"], sensitive="s")
    with pytest.raises(sf.InputError, match="matching='exact'"):
        sf.characterize(sf.read_release(rows, schema, matching="wildcard"), 1)
    assert sf.characterize(sf.read_release(rows, schema), 1).finding("a").classes == 2
    noisy = replace(
        read := sf.read_release(rows, schema), regions=of_scheme(read.regions, "randomised")
    )
    with pytest.raises(sf.InputError, match="noisy"):
        sf.characterize(noisy, 1)


def test_a_person_in_several_classes_is_one_person_in_the_title() -> None:
    rows = pa.table({"who": [1, 1, 2, 3], "a": ["x", "y", "x", "y"], "s": ["u", "u", "v", "u"]})
    subject = sf.read(rows, sf.Schema(quasi=["a"], sensitive="s", person="who"), threads=1)
    for found in (sf.characterize(subject), sf.characterize(as_it_stands(subject))):
        assert found.people == 3
        assert ", 3 people" in found.document().title
        assert any("1 more places than people" in note for note in found.notes)


def test_people_with_several_values_have_a_set_for_a_value() -> None:
    rows = pa.table({"who": [1, 1, 2, 3], "a": ["x", "x", "x", "y"], "s": ["u", "v", "u", "v"]})
    subject = sf.read(rows, sf.Schema(quasi=["a"], sensitive="s", person="who"), threads=1)
    worst = sf.characterize(subject, 1).finding("a").worst
    assert set(worst.values) == {"{u, v}", "{u}", "{v}"}
    assert worst.cells == {"a": "y"}
    assert worst.only_here == ("{v}",)


# -- ranking, columns, advice ---------------------------------------------------------------------


def test_ranking_puts_first_what_leaks_most_to_people() -> None:
    found = sf.characterize(patients(), 3)
    ranking = found.ranking("ill")
    weighted = [one.distribution.weighted for one in ranking]
    assert weighted == sorted(weighted, reverse=True)
    assert len(ranking) == len(found.findings) == 7
    assert ranking[0].columns == ("age", "sex", "zip")
    assert ranking[-1].columns == ("sex",)


def test_a_column_adds_the_mean_of_what_it_adds() -> None:
    found = sf.characterize(patients(), 3)
    by = {frozenset(one.columns): one for one in found.findings}
    for one in found.contributions:
        rest = [s for s in by if one.column not in s]
        gains = [
            by[s | {one.column}].distribution.weighted - by[s].distribution.weighted for s in rest
        ]
        assert one.adds == pytest.approx(sum(gains) / len(gains))
        assert one.alone == by[frozenset({one.column})].distribution.weighted
    assert [one.column for one in found.contributions][-1] == "sex"
    alone = sf.characterize(patients(), 1)
    assert all(one.adds is None for one in alone.contributions)


def test_advice_is_what_a_coarser_column_really_buys() -> None:
    found = sf.characterize(patients(), 2)
    worst = found.ranking()[0]
    assert worst.columns == ("age", "zip")
    steps = {one.column: one for one in found.coarsenings}
    for column, one in steps.items():
        coarser = sf.generalize(patients(), {column: 1})
        right = sf.characterize(coarser, 2).finding(["age", "zip"])
        assert one.after.distribution.weighted == pytest.approx(right.distribution.weighted)
        assert (one.after.k, one.after.unique) == (right.k, pytest.approx(right.unique))
        assert one.after.distribution.weighted < worst.distribution.weighted
    first = found.coarsenings[0]
    assert first.after.distribution.weighted == min(
        one.after.distribution.weighted for one in steps.values()
    )
    assert f"Coarsen {first.column} first (level 1 of" in found.advice("ill")
    assert f"leaves {first.after.distribution.weighted:.2f} on average" in found.advice("ill")


def test_without_a_hierarchy_the_column_is_dropped() -> None:
    rows = [("x", "x", "x", "x", "x"), ("y", "x", "x", "y", "x"), ("y", "y", "x", "x", "x")]
    found = sf.characterize(table(rows), 2, "s")
    assert found.coarsenings
    assert f"Drop {found.coarsenings[0].column} first: that leaves" in found.advice()
    assert "Others dropped would leave: " in found.advice()
    assert "oarse" not in found.advice()
    for one in found.coarsenings:
        assert one.to == "dropped"
        assert one.after == found.finding([c for c in one.columns if c != one.column])
    lone = sf.characterize(table(rows), 1, "s", columns=["a"])
    assert lone.coarsenings == ()
    assert "leave it out" in lone.advice()


def test_coarser_and_dropped_columns_are_listed_apart() -> None:
    found = sf.characterize(patients(), 3)
    assert [one.dropped for one in found.coarsenings] == [False, False, True]
    advice = found.advice()
    assert advice.index("Coarsen ") < advice.index("Others one level coarser would leave: ")
    assert "Others dropped would leave: sex 0." in advice
    titles = [sheet.title for sheet in found.document().sections[0].tables]
    assert titles[-2:] == [
        "age, sex, zip with one column a level coarser",
        "age, sex, zip with one column dropped",
    ]


def test_nothing_leaks_where_everybody_is_alike() -> None:
    found = sf.characterize(table([("x",) * 5] * 3), 2, "s")
    assert found.finding(["a", "b"]).distribution.largest == 0
    assert "tells anything about s" in found.advice()


# -- results --------------------------------------------------------------------------------------


def test_what_may_show_single_people_is_apart() -> None:
    found = sf.characterize(patients(), 2, individuals=True)
    worst = found.ranking()[0].worst
    cell = f"zip {worst.cells['zip']}"
    public, private = found.to_json(), found.to_json(private=True)
    assert cell not in public + str(found)
    assert cell in private
    assert "The most exposed people" not in public
    assert "The most exposed people" in private
    facts = json.loads(public)["facts"]
    assert len(facts["findings"]) == len(found.findings)
    assert facts["findings"][0]["distribution"]["largest"] == found.findings[0].distribution.largest


def test_what_a_release_shows_is_no_secret() -> None:
    found = sf.characterize(as_it_stands(table([("x",) * 5, ("y",) * 5])), 1, "s")
    assert "Of a x (1 person)" in found.to_json()


def test_a_kept_column_can_be_learnt_and_known() -> None:
    found = sf.characterize(patients(), 2, ["job", "ill"], columns=["age", "sex"])
    assert found.targets == ("job", "ill")
    other = sf.characterize(patients(), 2, "ill", columns=["job", "sex"])
    assert other.finding(["job", "sex"]).classes == 6
    assert "job" in sf.characterize(patients(), 1, "*").targets
    assert "job" not in sf.characterize(patients(), 1).columns


# -- bad input ------------------------------------------------------------------------------------

WRONG = {
    "no role": ({"targets": "note"}, "column 'note' is not in the table or has no role; "),
    "role of another kind": ({"targets": "who"}, "column 'who' has the role 'identifiers'"),
    "unknown target": (
        {"targets": "il"},
        "column 'il' is not in the table or has no role; did you mean",
    ),
    "unknown column": ({"columns": ["agee"]}, "did you mean 'age'?"),
    "identifier": ({"targets": ["name"]}, "column 'name' is not in the table"),
    "target inside Q": (
        {"columns": ["age", "ill"], "targets": "ill"},
        "target 'ill' is one of the columns that are combined",
    ),
    "joint target inside Q": (
        {"columns": ["age"], "targets": [("ill", "age")]},
        "target 'age' is one of the columns that are combined",
    ),
    "no target": ({"targets": []}, "targets is empty"),
    "target twice": ({"targets": ["ill", "ill"]}, "the same target twice"),
    "column twice in a target": ({"targets": [("ill", "ill")]}, "name columns, each once"),
    "columns as text": ({"columns": "age"}, "list columns, each once"),
    "no size": ({"max_size": 0}, "max_size = 0 is not allowed"),
    "half a size": ({"max_size": 1.5}, "max_size = 1.5 is not allowed"),
    "nothing to combine": (
        {"columns": ["age"], "prior": {"given": ["age"]}},
        "there is no combination to measure",
    ),
    "given the target": ({"prior": {"given": ["ill"]}}, "'ill' is the target 'ill' itself"),
    "given elsewhere": (
        {"columns": ["age", "sex"], "prior": {"given": ["zip"]}},
        "'zip' is not one of the columns combined",
    ),
    "shares for two": (
        {"targets": ["ill", "sex"], "prior": {"flu": 1}},
        "fit one target of one column",
    ),
    "shares of nothing": ({"prior": {"flux": 1}}, "did you mean 'flu'?"),
    "prior by class": (
        {"prior": [{"class": ["x"], "shares": {"flu": 1}}]},
        "is not allowed; use 'table', 'uniform', shares",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_clear_line(case: str) -> None:
    how, said = WRONG[case]
    with pytest.raises(sf.SfumatoError) as caught:
        sf.characterize(patients(20), **how)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_prior_that_does_not_cover_a_class_names_it_unless_it_is_one_person_s() -> None:
    one, several = ("secret",) * 5, [("y",) * 5] * 2
    outside = table([("x",) * 5])
    for rows, said in (
        ([("x",) * 5, one], "does not cover 1 of 2 classes of a, none of which has several people"),
        ([("x",) * 5, one, *several], "2 of 3 classes of a, among them a y (2 people)"),
    ):
        with pytest.raises(sf.InputError) as caught:
            sf.characterize(table(rows), 1, "s", columns=["a"], prior=outside)
        assert said in str(caught.value)
        assert "secret" not in str(caught.value)
        bound = sf.DistributionLeakage(0.1, prior=outside, sensitive="s")
        with pytest.raises(sf.InputError) as caught:
            bound.verdict(as_it_stands(table(rows)).groups_for("s"))
        assert "secret" not in str(caught.value)
        assert ("a y, b y, c y (2 people)" in str(caught.value)) == (len(rows) > 2)


def test_any_size_is_at_most_the_number_of_columns() -> None:
    found = sf.characterize(patients(20), 10**9)
    assert found.max_size == 3
    assert len(found.findings) == 7


def test_too_many_combinations_are_not_begun() -> None:
    names = [f"q{i}" for i in range(40)]
    schema = sf.Schema(quasi=names, sensitive="s")
    subject = sf.read(pa.table({name: ["x"] for name in [*names, "s"]}), schema)
    with pytest.raises(sf.ResourceError, match="lower max_size"):
        sf.characterize(subject, 6)


def test_no_sensitive_column_and_unknown_answers() -> None:
    subject = sf.read(pa.table({"a": ["x"], "b": ["y"]}), sf.Schema(quasi=["a", "b"]))
    with pytest.raises(sf.InputError, match="has no sensitive column; name targets"):
        sf.characterize(subject)
    found = sf.characterize(subject, 1, "*")
    with pytest.raises(sf.InputError, match="'c' is no target"):
        found.ranking("c")
    with pytest.raises(sf.InputError, match="was not measured against b"):
        found.finding(["b"], "b")


def test_advice_does_not_deny_hierarchies_that_it_did_not_try() -> None:
    ages = {str(age): "young" if age < 40 else "old" for age in (20, 30, 40, 50)}
    schema = sf.Schema(["age", "sex"], "s", hierarchies={"age": sf.taxonomy(ages)})
    people = pa.table(
        {"age": list(ages) * 3, "sex": list("FFMFFMMFMFMM"), "s": list("xyyxxyxxyyxy")}
    )
    read = sf.read(people, schema)
    assert "Coarsen age first" in sf.characterize(read, 1, "s").advice("s")
    given_sex = sf.characterize(read, 2, "s", prior={"given": ["sex"]})
    assert given_sex.prior == "what sex tells already"
    assert "not worked out" in given_sex.advice("s")
    assert "no coarser form" not in given_sex.advice("s")
