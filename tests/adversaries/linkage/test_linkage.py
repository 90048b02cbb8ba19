"""Linkage: every figure equals a loop over people; populations are matched as people would."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.base import BeliefChange
from sfumato.adversaries.linkage.presence import presence
from sfumato.adversaries.linkage.risks import Linkage, Risk, linkage
from sfumato.adversaries.locating.people import (
    PopulationPerGroup,
    count_behind,
    people_surely_inside,
)
from sfumato.release.description import NoisyCells, Regions
from sfumato.release.release import as_it_stands
from sfumato.report.sections.threats import matrix
from sfumato.schema.region import Anything, Mask, Region, Span, ValueSet
from sfumato.workflow.audit import as_read
from tests.examples import few
from tests.table.beyond_memory import beyond

SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="disease")


def table(people: list[tuple[object, ...]], weight: list[float] | None = None) -> sf.Table:
    """A table of (age, zip) with somebody's disease."""
    columns = {
        "age": [person[0] for person in people],
        "zip": [person[1] for person in people],
        "disease": ["flu"] * len(people),
    }
    if weight is None:
        return sf.read(pa.table(columns), SCHEMA)
    columns["w"] = weight
    return sf.read(pa.table(columns), replace(SCHEMA, weight="w"))


def release(
    sizes: list[int],
    population: list[float] | None = None,
    kind: type[Regions] = Regions,
    **more,
) -> sf.Release:
    """Groups of these sizes, told apart by age."""
    regions = kind(
        ("age",),
        (tuple(ValueSet(frozenset({age})) for age in range(len(sizes))),),
        np.arange(len(sizes), dtype=np.int32)[None, :],
    )
    groups = sf.Groups(np.array(sizes, dtype=np.int64).reshape(-1, 1), ["flu"])
    weights = None if population is None else np.array(population, dtype=np.float64)
    return sf.Release(
        sf.Schema(quasi=["age"], sensitive="disease"),
        {"disease": groups},
        regions,
        population=weights,
        **more,
    )


# -- the loop -------------------------------------------------------------------------------------


def oracle(own: list[int], candidates: list[Fraction], thresholds: list[str]) -> dict[str, object]:
    """Everybody's risk, one person at a time."""
    risks = [1 / c for f, c in zip(own, candidates, strict=True) for _ in range(f)]
    n = len(risks)
    return {
        "highest": float(max(risks)),
        "mean": float(sum(risks) / n),
        "above": [sum(r > Fraction(t) for r in risks) / n for t in thresholds],
        "at_highest": sum(r == max(risks) for r in risks) / n,
        "unique": sum(r == 1 for r in risks) / n,
    }


def equals(risk: Risk | None, expected: dict[str, object]) -> None:
    assert risk is not None
    for name, value in expected.items():
        assert getattr(risk, name) == pytest.approx(value, rel=1e-12), name


group_sizes = st.lists(st.integers(1, 8), min_size=1, max_size=8)
some_thresholds = st.lists(
    st.sampled_from(["0.05", "0.1", "0.2", "0.25", "0.3", "0.5", "0.7", "1"]), min_size=1
)


@given(group_sizes, some_thresholds)
def test_the_prosecutor_equals_the_loop(sizes: list[int], thresholds: list[str]) -> None:
    found = linkage(release(sizes), thresholds=[float(t) for t in thresholds])
    equals(found.prosecutor, oracle(sizes, [Fraction(f) for f in sizes], thresholds))
    assert found.prosecutor.per_group == pytest.approx([1 / f for f in sizes])
    assert (found.people, found.groups) == (sum(sizes), len(sizes))
    assert found.marketer == found.prosecutor.mean == len(sizes) / sum(sizes)
    assert found.sample_uniqueness == sizes.count(1) / sum(sizes)
    assert found.journalist is None
    assert found.marketer_in_population is None


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 20)), min_size=1), some_thresholds)
def test_the_journalist_by_weights_equals_the_loop(groups, thresholds: list[str]) -> None:
    sizes = [f for f, _ in groups]
    quarters = [Fraction(f) + Fraction(more, 4) for f, more in groups]
    found = linkage(
        release(sizes, [float(q) for q in quarters]), thresholds=[float(t) for t in thresholds]
    )
    equals(found.journalist, oracle(sizes, quarters, thresholds))
    assert found.source == "weights"
    assert found.notes == ()
    assert found.marketer_in_population == pytest.approx(
        sum(f / float(F) for f, F in zip(sizes, quarters, strict=True)) / sum(sizes)
    )


people = st.tuples(
    st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, "13010", "13011", "14000"])
)


@settings(max_examples=few(40))
@given(
    st.lists(people, min_size=1, max_size=12), st.lists(people, max_size=12), st.integers(0, 2**32)
)
def test_the_journalist_by_a_register_equals_the_loop(sample, others, seed: int) -> None:
    """A table as it stands: a person's candidates are the people with her very values."""
    register = [*sample, *others]
    np.random.default_rng(seed).shuffle(register)
    found = linkage(as_it_stands(table(sample)), population=table(register))
    each = [Fraction(register.count(person)) for person in sample]
    equals(found.journalist, oracle([1] * len(sample), each, ["0.2"]))
    equals(found.prosecutor, oracle([1] * len(sample), [sample.count(p) for p in sample], ["0.2"]))
    assert (found.source, found.notes) == ("table", ())


wild_rows = st.lists(
    st.tuples(*[st.sampled_from(["x", "y", "*", None])] * 3, st.sampled_from("ab")),
    min_size=1,
    max_size=14,
)


@settings(max_examples=few(60))
@given(wild_rows, some_thresholds)
def test_with_wildcards_people_are_rows_and_their_risk_is_one_of_the_compatible(
    rows, thresholds: list[str]
) -> None:
    """sdcMicro's f_k, row by row: how many rows agree with it wherever both show something."""
    open_cell = {"*", None}
    alike = [
        sum(
            all(a == b or {a, b} & open_cell for a, b in zip(one[:3], other[:3], strict=True))
            for other in rows
        )
        for one in rows
    ]
    schema = sf.Schema(quasi=["p", "q", "r"], sensitive="s")
    file = pa.table({name: [row[c] for row in rows] for c, name in enumerate("pqrs")})
    read = sf.read_release(file, schema, matching="wildcard")
    found = linkage(read, thresholds=[float(t) for t in thresholds])
    equals(found.prosecutor, oracle([1] * len(rows), [Fraction(f) for f in alike], thresholds))
    assert found.people == read.people == len(rows)
    report = sf.audit(read, [sf.KAnonymity(3), sf.TCloseness(0.3)])
    assert report.summary.people == len(rows)
    verdict = report.verdicts[0]
    assert verdict.measured == min(alike)
    few = sum(f < 3 for f in alike)
    assert verdict.holds is not bool(few)
    if few:
        assert f"{few:,} people" in verdict.note
    # What the public is told refers to the rows too, not to sums of groups that share people.
    shares = Counter(row[3] for row in rows)
    seen = as_read(read).groups
    assert dict(zip(seen.values, seen.reference, strict=True)) == shares
    assert seen.everybody().counts_of(0) == read.groups.everybody().counts_of(0) == shares
    assert report.public().summary.people == len(rows)
    for told in (report, report.public()):
        (belief,) = (t.belief for t in told.threats if t.adversary == "random worlds")
        assert belief.before == shares[belief.value] / len(rows)


@pytest.mark.parametrize("several", ["set", "multiset"])
def test_before_a_file_with_wildcards_lists_are_as_common_as_among_its_rows(several) -> None:
    lists = [["flu", "hiv"], ["flu", "flu"], ["hiv"], [], ["tb"], ["flu"]]
    rows = pa.table({"q": ["1", "*", "1", "*", "2", "2"], "s": lists})
    schema = sf.Schema(quasi=["q"], sensitive="s", several=several)
    stars, plain = (sf.read_release(rows, schema, matching=m) for m in ("wildcard", "exact"))
    # (0, 0, 0) tells an acquaintance what the groups tell, so both begin at the shares of rows.
    report = sf.audit(stars, [sf.SkylinePrivacy([(0, 0, 0, 0.9)])])
    had = {"flu": 3 / 6, "hiv": 2 / 6, "tb": 1 / 6}
    told = [t for t in report.threats if t.adversary in ("random worlds", "acquaintance")]
    assert len(told) == 2
    for threat in told:
        assert threat.belief.before == pytest.approx(had[threat.belief.value])
    assert stars.groups.everybody().dense().tolist() == plain.groups.everybody().dense().tolist()


def test_groups_that_share_people_are_refused_where_each_is_in_one(tmp_path) -> None:
    schema = sf.Schema(quasi=["q"], sensitive="s", domains={"q": "categorical"})
    rows = pa.table({"q": ["1", "*", "2"], "s": ["a", "b", "b"]})
    stars, exact = sf.read_release(rows, schema, matching="wildcard"), sf.read_release(rows, schema)
    people = sf.read(pa.table({"q": ["1", "1", "2"], "s": ["a", "b", "b"]}), schema)
    ledger = sf.Ledger(tmp_path / "ledger.sqlite")
    for refused in (
        lambda: sf.intersection_attack([exact, stars], people),
        lambda: sf.relative_threat(stars),
        lambda: sf.characterize(stars, 1),
        lambda: people_surely_inside(exact.regions, stars),
        lambda: ledger.add(stars, "stars", "people"),
        lambda: ledger.check(stars),
    ):
        with pytest.raises(sf.InputError, match="read it with matching='exact'"):
            refused()
    verdict = sf.audit(stars, [sf.CompositionBound(0.5, 0.5, [exact])]).verdicts[0]
    assert verdict.status == "not_applicable"
    advice = sf.audit(stars, [sf.KAnonymity(4)]).to_json()
    assert "its groups share people" in advice
    # Without such a cell there is nothing to share.
    plain = sf.read_release(rows.slice(0, 1), schema, matching="wildcard")
    assert not plain.shares_people


@pytest.mark.parametrize("levels", [(0, 0), (1, 0), (1, 1)])
def test_a_register_larger_than_memory_is_looked_up_part_by_part(levels) -> None:
    chance = np.random.default_rng(7)
    columns = {"age": chance.integers(0, 12, 300), "town": chance.integers(0, 9, 300)}
    schema = sf.Schema(
        quasi=list(columns), hierarchies={name: sf.intervals([4]) for name in columns}
    )
    everybody = pa.table({name: pa.array(row) for name, row in columns.items()})
    register, table = (sf.read(rows, schema, threads=1) for rows in (everybody, everybody[:80]))
    larger = beyond(register, 10)
    parts = list(larger.counts.parts())
    assert len(parts) > 3
    # What is held besides leaves room for fewer tuples at a time, but for some.
    smaller = list(larger.counts.parts(beside=larger.counts.engine.memory))
    assert len(smaller) > len(parts)
    assert sum(map(len, smaller)) == sum(map(len, parts)) == len(larger.counts)
    for suppression in (0.0, 0.6):
        made = sf.generalize(table, levels, [sf.KAnonymity(2)] if suppression else [], suppression)
        for alone in (False, True):
            there = count_behind(made.regions, larger, alone=alone)
            assert there.tolist() == count_behind(made.regions, register, alone=alone).tolist()
        assert linkage(made, population=larger) == linkage(made, population=register)
        for overlapping in (False, True):
            one, other = (
                presence(made.indistinguishable, people, made.suppressed, overlapping=overlapping)
                for people in (register, larger)
            )
            assert one == other
            assert one.per_group.tolist() == other.per_group.tolist()
        bounds = [sf.KMap(3, people) for people in (register, larger)]
        mine, theirs = (sf.audit(made, [bound]).verdicts[0] for bound in bounds)
        assert (mine.measured, mine.status) == (theirs.measured, theirs.status)


# -- known figures --------------------------------------------------------------------------------


def test_adult_as_it_stands(data_folder) -> None:
    from sfumato.datasets.public_files import adult

    read = sf.read(*adult(data_folder))
    found = sf.audit(read, [sf.KAnonymity(2)]).linkage
    assert found.people == 30_162
    assert found.sample_uniqueness == pytest.approx(0.293117, abs=5e-7)
    assert found.prosecutor.mean == pytest.approx(0.413036, abs=5e-7)
    assert found.marketer == pytest.approx(0.413036, abs=5e-7)
    assert found.prosecutor.above == pytest.approx([0.509018], abs=5e-7)
    assert found.prosecutor.highest == 1
    as_register = linkage(as_it_stands(read), population=read)
    assert as_register.journalist == as_register.prosecutor  # everybody was sampled


def test_a_threshold_is_the_decimal_somebody_wrote_and_strict() -> None:
    found = linkage(release([5, 4, 10, 3]), thresholds=[0.2, 0.1, 0.3, 1])
    assert found.prosecutor.above == (7 / 22, 12 / 22, 3 / 22, 0)


def test_a_threshold_is_strict_for_summed_weights_too() -> None:
    found = linkage(release([1, 1, 1], [5, 4.999, 5.001]))
    assert found.journalist.above == (1 / 3,)


@pytest.mark.parametrize("threshold", [0, -1, 1.5, math.nan, math.inf, "0.2", True, None, 5e-324])
def test_what_is_no_risk_is_refused(threshold) -> None:
    with pytest.raises(sf.InputError, match=r"threshold = .* above 0 and at most 1"):
        linkage(release([1]), thresholds=[threshold])


def test_some_threshold_must_be_given() -> None:
    with pytest.raises(sf.InputError, match="thresholds is empty"):
        linkage(release([1]), thresholds=[])


def test_population_uniqueness_comes_with_a_sampling_fraction() -> None:
    found = linkage(release([1, 1, 2, 3, 5, 8]), sampling_fraction=0.1)
    assert [estimate.model for estimate in found.estimates] == ["pitman", "zayatz", "snb"]
    assert found.population_uniqueness is found.estimates[0]
    assert linkage(release([1, 2])).population_uniqueness is None
    with pytest.raises(sf.InputError, match="sampling_fraction"):
        linkage(release([1, 2]), sampling_fraction=2)


# -- where a population falls short ---------------------------------------------------------------


def test_a_register_that_lacks_released_people_is_told_and_errs_to_unsafe() -> None:
    sample = table([(1, "a"), (1, "a"), (2, "a"), (3, "b")])
    register = table([(1, "a"), (2, "a"), (2, "a")])
    found = linkage(as_it_stands(sample), population=register)
    assert found.journalist.per_group.tolist() == [1 / 2, 1 / 2, 1]
    (note,) = found.notes
    assert "does not contain the release: 2 of 3 groups" in note
    assert "\n" not in note


def test_weights_below_the_people_are_told() -> None:
    found = linkage(release([2, 1], [0.5, 7]))
    assert found.journalist.per_group.tolist() == [1 / 2, 1 / 7]
    assert "survey weights does not contain the release: 1 of 2 groups" in found.notes[0]


def test_weights_that_add_up_with_a_rounding_error_are_not_short() -> None:
    summed = sum([0.1] * 10)
    assert summed < 1
    assert PopulationPerGroup.of(np.array([summed]), np.array([1])).uncovered == 0
    assert linkage(release([1], [summed])).journalist.unique == 1


def test_a_register_without_a_quasi_identifier_is_refused() -> None:
    register = sf.read(pa.table({"age": [1]}), sf.Schema(quasi=["age"]))
    with pytest.raises(sf.InputError, match="lacks quasi-identifiers of the release: 'zip'"):
        linkage(as_it_stands(table([(1, "a")])), population=register)


def test_a_register_that_lists_somebody_twice_is_refused() -> None:
    columns = pa.table({"age": [1, 2], "name": ["x", "x"]})
    register = sf.read(columns, sf.Schema(quasi=["age"], person="name"))
    with pytest.raises(sf.InputError, match="several combinations of quasi-identifiers"):
        linkage(release([1]), population=register)


def test_a_register_may_know_more_columns_and_count_people() -> None:
    columns = {"age": [0, 0, 1], "city": ["a", "b", "a"], "n": [2, 3, 7]}
    register = sf.read(pa.table(columns), sf.Schema(quasi=["city", "age"], count="n"))
    assert count_behind(release([1, 1, 1]).regions, register).tolist() == [5, 7, 0]


# -- regions of every kind ------------------------------------------------------------------------

AGES = [None, 7, 20, 25, 30, 30.5, 99]
ZIPS = [None, "13010", "13011", "14000", "99", "*3"]
DAYS = [None, dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(2021, 5, 5)]
spans = st.builds(
    Span,
    st.sampled_from([-math.inf, 7, 20, 30]),
    st.sampled_from([math.inf, 20, 30, 99]),
    st.booleans(),
    st.booleans(),
    beside=st.frozensets(st.none()),
)
day_spans = st.builds(
    Span,
    st.sampled_from([-math.inf, dt.date(2020, 1, 31), dt.date(2020, 2, 1)]),
    st.sampled_from([math.inf, dt.date(2020, 2, 1), dt.date(2022, 1, 1)]),
    st.booleans(),
    st.booleans(),
    beside=st.frozensets(st.none()),
)
masks = st.sampled_from(["130**", "1****", "*****", "1*0*0", "**", "3*", "2*", "13010", "13*"]).map(
    Mask
)


def sets(values: list[object]) -> st.SearchStrategy[Region]:
    return st.frozensets(st.sampled_from(values), min_size=1).map(ValueSet)


anything = st.just(Anything())
described = st.tuples(
    st.one_of(anything, spans, sets(AGES), masks),
    st.one_of(anything, masks, sets(ZIPS), spans),
    st.one_of(anything, day_spans, sets(DAYS)),
)
population = st.lists(
    st.tuples(st.sampled_from(AGES), st.sampled_from(ZIPS), st.sampled_from(DAYS)), min_size=1
)


@given(st.lists(described, min_size=1, max_size=8), population)
def test_whoever_a_region_contains_is_counted(groups, people) -> None:
    columns = ("age", "zip", "day")
    parts = [list(dict.fromkeys(group[c] for group in groups)) for c in range(3)]
    codes = [[parts[c].index(group[c]) for group in groups] for c in range(3)]
    regions = Regions(columns, tuple(parts), np.array(codes, dtype=np.int32))
    types = [pa.float64(), pa.string(), pa.date32()]
    arrays = {
        name: pa.array([person[c] for person in people], types[c]) for c, name in enumerate(columns)
    }
    register = sf.read(pa.table(arrays), sf.Schema(quasi=columns))
    expected = [
        sum(all(p.contains(v) for p, v in zip(group, person, strict=True)) for person in people)
        for group in groups
    ]
    assert count_behind(regions, register).tolist() == expected


def test_many_people_and_overlapping_groups_are_matched_in_blocks(monkeypatch) -> None:
    from sfumato.adversaries.locating import people as module

    monkeypatch.setattr(module, "_BLOCK", 7)
    rng = np.random.default_rng(5)
    ages, weights = rng.integers(0, 50, 500), rng.integers(0, 50, 500)
    register = sf.read(pa.table({"a": ages, "b": weights}), sf.Schema(quasi=["a", "b"]))
    low = rng.integers(0, 40, (2, 60))
    parts = [tuple(Span(int(x), int(x) + 15) for x in row) for row in low]
    codes = np.vstack([np.arange(60)] * 2).astype(np.int32)
    expected = [
        int(((ages >= x) & (ages < x + 15) & (weights >= y) & (weights < y + 15)).sum())
        for x, y in low.T
    ]
    assert count_behind(Regions(("a", "b"), tuple(parts), codes), register).tolist() == expected


# -- threats and reports --------------------------------------------------------------------------


def test_the_threats_are_named_as_the_criteria_name_their_adversaries() -> None:
    one, all_, journalist = linkage(release([1, 1, 4, 6], [1, 3, 9, 9])).threats()
    assert (one.adversary, all_.adversary) == (sf.KAnonymity.adversary, "marketer")
    assert journalist.adversary == sf.KMap.adversary
    # Six of twelve: twice, no more.
    assert (one.belief, one.people.number) == (BeliefChange(1 / 12, 1), 6)
    assert "above 0.2 for 6 people, for sure for 2" in one.learns
    assert (all_.belief, all_.people.number) == (BeliefChange(1 / 12, 4 / 12), 6)
    assert (journalist.belief, journalist.people.number) == (BeliefChange(1 / 22, 1), 12)
    assert {threat.about for threat in (one, all_, journalist)} == {None}
    assert {threat.status for threat in (one, all_, journalist)} == {"measured"}


def test_a_journalist_without_a_population_is_not_measured() -> None:
    *_, journalist = linkage(release([1, 2])).threats()
    assert (journalist.status, journalist.belief, journalist.people) == ("not_measured", None, None)
    assert "population table or survey weights" in journalist.learns


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        (release([3], kind=NoisyCells), "counts are noisy"),
        (release([]), "there is no group"),
    ],
    ids=["randomised", "empty"],
)
def test_what_cannot_be_linked_is_not_applicable(subject, why: str) -> None:
    found = linkage(subject, sampling_fraction=0.1)
    assert (found.prosecutor, found.journalist, found.marketer) == (None, None, None)
    assert (found.sample_uniqueness, found.population_uniqueness) == (None, None)
    assert why in found.reason
    assert {threat.status for threat in found.threats()} == {"not_applicable"}
    assert all(why in threat.learns for threat in found.threats())
    report = sf.audit(subject, [sf.KAnonymity(2)])
    assert why in json.loads(report.to_json())["linkage"]["reason"]
    assert why in str(report)


def test_bucketized_releases_say_what_linkage_is_there() -> None:
    people = sf.read(pa.table({"age": [1, 1, 2], "s": ["a", "b", "c"]}), sf.Schema(["age"], "s"))
    policy = sf.Policy([sf.DistinctDiversity(3)], anonymizer=sf.Anatomy(3))
    found = linkage(sf.anonymize(people, policy, seed=0))
    assert "published exactly" in found.notes[0]
    assert (found.groups, found.prosecutor.highest, found.prosecutor.mean) == (2, 1, 2 / 3)


@pytest.fixture
def report() -> sf.Report:
    subject = table([(1, "a"), (1, "a"), (2, "a"), (3, "b")], weight=[3, 3, 2.5, 1])
    return sf.audit(subject, [sf.KAnonymity(2)], sampling_fraction=0.5, threshold=0.3)


def test_every_audit_carries_the_section(report: sf.Report) -> None:
    assert isinstance(report.linkage, Linkage)
    assert report.linkage.thresholds == (0.3,)
    names = [threat.adversary for threat in report.threats]
    assert names[:4] == ["journalist", "marketer", "prosecutor", "random worlds"]
    covered = [threat.covered for threat in report.threats[:4]]
    assert covered == [*[("k-anonymity",)] * 3, ()]  # who bounds a prosecutor bounds a journalist


def test_every_row_of_the_matrix_has_a_name_of_its_own(report: sf.Report) -> None:
    rows = [(row.adversary, row.about) for row in matrix(report)]
    assert len(set(rows)) == len(rows)
    told = json.loads(report.to_json())["threats"]
    assert {"prosecutor", "marketer", "journalist"} <= {row["adversary"] for row in told}
    assert {"linkage"}.isdisjoint(row["adversary"] for row in told)


def test_json_has_figures_and_nobody_s_own_risk(report: sf.Report) -> None:
    found = json.loads(report.to_json())["linkage"]
    assert found["prosecutor"] == {
        "highest": 1,
        "mean": 0.75,
        "above": [1],
        "at_highest": 0.5,
        "unique": 0.5,
        "at_most": False,
    }
    assert found["journalist"]["highest"] == 1
    assert found["journalist"]["mean"] == pytest.approx((2 / 6 + 1 / 2.5 + 1) / 4)
    assert found["population"] == "weights"
    assert found["marketer"]["in_release"] == found["prosecutor"]["mean"]
    assert found["marketer"]["in_population"] == found["journalist"]["mean"]
    assert found["sample_uniqueness"] == 0.5
    uniqueness = found["population_uniqueness"]
    assert uniqueness["sampling_fraction"] == 0.5
    assert [estimate["model"] for estimate in uniqueness["estimates"]] == [
        "pitman",
        "zayatz",
        "snb",
    ]
    assert "per_group" not in report.to_json()


def test_the_terminal_shows_the_section(report: sf.Report) -> None:
    text = str(report)
    for words in (
        "prosecutor",
        "journalist (survey weights)",
        "above 30%",
        "unique in the population (sampling fraction 50%)",
    ):
        assert words in text


def test_a_k_map_criterion_s_population_serves_the_journalist() -> None:
    sample, register = table([(1, "a")]), table([(1, "a"), (1, "a"), (2, "a")])
    report = sf.audit(sample, [sf.KMap(2, register)])
    assert report.linkage.source == "table"
    assert report.linkage.journalist.highest == 1 / 2
    (journalist,) = (one for one in report.threats if one.adversary == "journalist")
    assert journalist.covered == ("k-map",)
    given_ = sf.audit(sample, [sf.KMap(2, register)], population=sample)
    assert given_.linkage.journalist.highest == 1


def test_a_risk_does_not_show_its_array() -> None:
    assert "per_group" not in repr(linkage(release([1, 2])))
