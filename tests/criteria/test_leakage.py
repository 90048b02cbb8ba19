"""Leakage bounds: golden values, exact ties, every prior, joint targets, searches, bad input."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.base import judge
from sfumato.release.release import as_it_stands
from tests.oracles import leakage_oracle as oracle
from tests.oracles.tables import Small, tables

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "golden" / "leakage_examples.json").read_text()
)
CASES = [
    pytest.param(example["a"], case, id=f"{name}-{place}")
    for name, example in GOLDEN.items()
    for place, case in enumerate(example["classes"])
]


def whole(shares: list[str]) -> list[int]:
    fractions = [Fraction(share) for share in shares]
    scale = math.lcm(*(share.denominator for share in fractions))
    return [int(share * scale) for share in fractions]


@pytest.mark.parametrize(("a", "case"), CASES)
def test_golden(a: list[str], case: dict[str, Any]) -> None:
    groups = sf.Groups([whole(case["x"])], reference=whole(a))
    found = sf.DistributionLeakage(0.5).measure(groups).value
    assert found == pytest.approx(case["L_D"], abs=1e-12)
    assert found**2 == pytest.approx(float(Fraction(case["L_D_squared"])), abs=1e-12)
    assert sf.EntropyLeakage(1).measure(groups).value == pytest.approx(case["L_E"], abs=1e-12)
    equal = sf.TCloseness(0.5).measure(groups).value
    assert equal == pytest.approx(float(Fraction(case["EMD_equal(variational)"])), abs=1e-12)
    if "EMD_ordered" in case:
        ordered = sf.TCloseness(0.5, distance="ordered").measure(groups).value
        assert ordered == pytest.approx(float(Fraction(case["EMD_ordered"])), abs=1e-12)


@given(tables())
def test_brute_force(small: Small) -> None:
    groups = small.groups
    weights = sum(small.reference)
    before = {v: Fraction(n, weights) for v, n in enumerate(small.reference)}
    distribution = sf.DistributionLeakage(0.5).measure(groups).per_group
    entropy = sf.EntropyLeakage(0.5).measure(groups).per_group
    for g, counts in enumerate(small.counts):
        now = {v: Fraction(n, sum(counts)) for v, n in enumerate(counts)}
        exact = oracle.squared(before, now)
        assert distribution[g] == pytest.approx(math.sqrt(exact), abs=1e-12)
        assert entropy[g] == pytest.approx(oracle.entropy_gap(before, now), abs=1e-12)


# -- exact at the bound ---------------------------------------------------------------------------


@given(tables(), st.integers(0, 60))
def test_a_bound_is_decided_as_fractions_decide_it(small: Small, hundredths: int) -> None:
    epsilon = hundredths / 100
    weights = sum(small.reference)
    before = {v: Fraction(n, weights) for v, n in enumerate(small.reference)}
    holds = sf.DistributionLeakage(epsilon).holds(small.groups)
    for g, counts in enumerate(small.counts):
        now = {v: Fraction(n, sum(counts)) for v, n in enumerate(counts)}
        assert holds[g] == (oracle.squared(before, now) <= Fraction(hundredths, 100) ** 2)


def test_ties_are_met_exactly() -> None:
    half = sf.Groups([[1, 1, 0, 0]], reference=[1, 1, 1, 1])
    assert sf.DistributionLeakage(0.5).verdict(half).holds
    assert sf.DistributionLeakage(0.5).measure(half).value == 0.5
    assert not sf.DistributionLeakage(0.4999999999999999).verdict(half).holds
    assert sf.EntropyLeakage(1).verdict(half).holds
    assert not sf.EntropyLeakage(0.9999999999999999).verdict(half).holds
    # 0.1 + 0.2 in floats is not 0.3; (x - a) = (.3, -.3) needs sqrt(.18)
    tenths = sf.Groups([[8, 2]], reference=[5, 5])
    assert not sf.DistributionLeakage(math.sqrt(0.18) - 1e-16).verdict(tenths).holds


def test_entropies_of_three_and_nine_values_differ_by_log_three_which_no_decimal_meets() -> None:
    groups = sf.Groups([[1, 1, 1, 0, 0, 0, 0, 0, 0]], reference=[1] * 9)
    measured = sf.EntropyLeakage(2).measure(groups).value
    assert measured == pytest.approx(math.log2(3), abs=1e-15)
    assert not sf.EntropyLeakage(1.584962500721156).verdict(groups).holds  # log2 3 is ...1561812
    assert sf.EntropyLeakage(1.5849625007211562).verdict(groups).holds


def test_the_same_distribution_leaks_nothing_at_all() -> None:
    same = sf.Groups([[7, 3, 2], [14, 6, 4]])
    assert sf.DistributionLeakage(0).verdict(same).measured == 0
    assert sf.EntropyLeakage(0).verdict(same).measured == 0
    assert sf.DistributionLeakage(0).verdict(same).holds
    assert sf.EntropyLeakage(0).verdict(same).holds
    permuted = sf.Groups([[3, 7, 2]], reference=[7, 3, 2])
    assert sf.EntropyLeakage(0).verdict(permuted).holds
    assert not sf.DistributionLeakage(0.4).verdict(permuted).holds


def test_uniform_is_the_standard_deviation_times_the_root_of_the_number_of_values() -> None:
    import numpy as np

    counts = [5, 1, 0, 2]
    measured = sf.DistributionLeakage(0.5, prior="uniform").measure(sf.Groups([counts])).value
    assert measured == pytest.approx(np.std(np.array(counts) / 8) * 2, abs=1e-15)


# -- priors by class ------------------------------------------------------------------------------

ROWS = [
    ("young", "F", "flu"),
    ("young", "F", "flu"),
    ("young", "M", "cold"),
    ("young", "M", "flu"),
    ("old", "F", "cold"),
    ("old", "F", "ulcer"),
    ("old", "M", "ulcer"),
    ("old", None, "ulcer"),
]
SCHEMA = sf.Schema(quasi=["age", "sex"], sensitive="ill")


def table(rows: list[tuple[Any, ...]] = ROWS, schema: sf.Schema = SCHEMA) -> sf.Table:
    names = [*schema.quasi, *schema.sensitive]
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(len(names))]
    return sf.read(pa.table(columns, names=names), schema, threads=1)


def by_class(criterion: sf.DistributionLeakage, subject: sf.Table) -> dict[object, float]:
    release = as_it_stands(subject)
    measured = criterion.measure(release.groups).per_group
    described = [tuple(release.regions.describe(g).values()) for g in range(len(measured))]
    return dict(zip(described, measured.tolist(), strict=True))


def texts(cells: Any) -> tuple[str, ...]:
    return tuple("(missing)" if cell is None else cell for cell in cells)


def test_given_fewer_columns() -> None:
    def expected(cells: Any) -> oracle.Distribution:
        return oracle.shares([(row[2],) for row in ROWS if row[0] == cells[0]])

    right = oracle.measure(ROWS, [0, 1], [2], expected)
    found = by_class(sf.DistributionLeakage(0.5, prior={"given": ["age"]}), table())
    assert found == {
        texts(cells): pytest.approx(math.sqrt(square), abs=1e-12)
        for cells, (_, square, _) in right.items()
    }
    entropy = by_class(sf.EntropyLeakage(1, prior={"given": "age"}), table())
    assert entropy == {
        texts(cells): pytest.approx(gap, abs=1e-12) for cells, (_, _, gap) in right.items()
    }


def test_given_all_columns_is_no_prior() -> None:
    verdict = judge(
        sf.DistributionLeakage(0.5, prior={"given": ["age", "sex"]}), as_it_stands(table())
    )
    assert verdict.status == "not_applicable"
    assert "nothing could ever leak" in verdict.note


def test_given_columns_whose_cells_overlap_cannot_be_told() -> None:
    rows = pa.table({"age": ["[20, 30)", "[25, 35)"], "sex": ["F", "F"], "ill": ["flu", "cold"]})
    release = sf.read_release(rows, SCHEMA)
    verdict = judge(sf.DistributionLeakage(1, prior={"given": ["age"]}), release)
    assert verdict.status == "not_applicable"
    assert "overlap without being equal" in verdict.note


def test_an_outside_table_is_read_class_by_class() -> None:
    outside = [(*row[:2], "flu" if row[0] == "young" else "gout") for row in ROWS]

    def expected(cells: Any) -> oracle.Distribution:
        return oracle.shares([(row[2],) for row in outside if row[:2] == cells])

    right = oracle.measure(ROWS, [0, 1], [2], expected)
    found = by_class(sf.DistributionLeakage(0.5, prior=table(outside)), table())
    assert found == {
        texts(cells): pytest.approx(math.sqrt(square), abs=1e-12)
        for cells, (_, square, _) in right.items()
    }


def test_the_table_s_own_conditional_leaks_nothing() -> None:
    """Which is why it is no prior for an unsuppressed release."""
    found = by_class(sf.DistributionLeakage(0, prior=table()), table())
    assert set(found.values()) == {0.0}


def test_an_outside_table_with_fewer_columns() -> None:
    coarse = table([(row[0], row[2]) for row in ROWS], sf.Schema(quasi=["age"], sensitive="ill"))
    found = by_class(sf.DistributionLeakage(0.5, prior=coarse), table())
    assert found == pytest.approx(
        by_class(sf.DistributionLeakage(1, prior={"given": ["age"]}), table())
    )


def test_an_earlier_release() -> None:
    before = sf.read_release(
        pa.table({"age": ["young", "young", "old"], "ill": ["flu", "cold", "ulcer"]}),
        sf.Schema(quasi=["age"], sensitive="ill"),
    )
    found = by_class(sf.DistributionLeakage(0.5, prior=before), table())
    assert found["young", "F"] == pytest.approx(math.sqrt(0.5))
    assert found["young", "M"] == 0
    assert found["old", "(missing)"] == 0


LISTED = [
    {"class": {"age": "young"}, "shares": {"flu": 0.5, "cold": 0.5}},
    {"class": {"age": "old"}, "shares": {"ulcer": 3, "cold": 1}},
]


def test_a_listed_distribution_for_each_class() -> None:
    found = by_class(sf.DistributionLeakage(0.5, prior=LISTED), table())
    assert found["young", "M"] == 0
    assert found["young", "F"] == pytest.approx(math.sqrt(0.5))
    assert found["old", "F"] == pytest.approx(math.sqrt(2 / 16))


def test_a_mapping_from_class_to_distribution() -> None:
    mapping = {
        (age, sex): {"flu": 1} for age in ("young", "old") for sex in ("F", "M", "(missing)")
    }
    found = by_class(sf.DistributionLeakage(0.5, prior=mapping), table())
    assert found["young", "F"] == 0
    assert found["old", "M"] == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(
    "prior",
    [
        LISTED[:1],
        table([row for row in ROWS if row[0] == "young"]),
        as_it_stands(table([row for row in ROWS if row[0] == "young"])),
    ],
    ids=["listed", "table", "release"],
)
def test_a_class_no_prior_covers_is_named(prior: Any) -> None:
    criterion = sf.DistributionLeakage(1.4, prior=prior)
    groups = as_it_stands(table()).groups
    for ask in (criterion.verdict, criterion.measure):
        with pytest.raises(sf.InputError, match="among them age old, sex F") as caught:
            ask(groups)
        assert "\n" not in str(caught.value)
    assert criterion.holds(groups).sum() == 2  # a search takes it for unsafe, and goes on


def test_closure_follows_from_the_prior() -> None:
    fixed = [{}, {"prior": "uniform"}, {"prior": {"flu": 1}}]
    by_class_ = [{"prior": {"given": ["age"]}}, {"prior": LISTED}, {"prior": table()}]
    assert all(sf.DistributionLeakage(0.5, **prior).merge_closed for prior in fixed)
    assert not any(sf.DistributionLeakage(0.5, **prior).merge_closed for prior in by_class_)
    assert not any(sf.EntropyLeakage(0.5, **prior).merge_closed for prior in fixed + by_class_)
    assert all(not sf.DistributionLeakage(0.5, **prior).needs for prior in fixed)
    assert all(sf.DistributionLeakage(0.5, **p).needs == {"regions"} for p in by_class_)


def test_priors_that_are_tables_are_equal_only_if_they_are_the_same() -> None:
    one, other = table(), table()
    assert sf.DistributionLeakage(1, prior=one) == sf.DistributionLeakage(1, prior=one)
    assert sf.DistributionLeakage(1, prior=one) != sf.DistributionLeakage(1, prior=other)
    assert sf.DistributionLeakage(1) != sf.EntropyLeakage(1)
    assert sf.DistributionLeakage(1, joint=["a", "b"]) != sf.DistributionLeakage(1)


# -- joint targets --------------------------------------------------------------------------------

PAIRS = [("x", "a", "1"), ("x", "b", "2"), ("y", "a", "2"), ("y", "b", "1"), ("y", None, "1")]
TWO = sf.Schema(quasi=["q"], sensitive=["s", "t"])


def test_a_joint_target_leaks_what_neither_does_alone() -> None:
    release = as_it_stands(table(PAIRS[:4], TWO))
    for criterion in (sf.DistributionLeakage(0), sf.EntropyLeakage(0)):
        assert judge(criterion, release).holds
    together = judge(sf.DistributionLeakage(0.4, joint=["s", "t"]), release)
    assert together.measured == pytest.approx(0.5)
    assert together.attribute == "s | t"
    assert not together.holds


def test_joint_targets_by_brute_force_also_of_a_release_read_back(tmp_path: Path) -> None:
    right = oracle.measure(PAIRS, [0], [1, 2])
    subject = table(PAIRS, TWO)
    made = sf.anonymize(subject, sf.Policy([sf.KAnonymity(1)], anonymizer=sf.Lattice()), seed=1)
    made.save(tmp_path / "out")
    read = sf.read_release(tmp_path / "out", TWO)
    for release in (as_it_stands(subject), made, read):
        verdict = judge(sf.DistributionLeakage(0, joint=["s", "t"]), release)
        assert sorted(verdict.per_group.tolist()) == pytest.approx(
            sorted(math.sqrt(square) for _, square, _ in right.values())
        )


def test_suppressed_people_stay_in_a_joint_reference_but_not_in_what_is_promised() -> None:
    rows = [("x", "a", "1"), ("x", "b", "2"), ("y", "b", "1")]
    policy = sf.Policy([sf.KAnonymity(2)], anonymizer=sf.Lattice(), suppression=0.4)
    release = sf.anonymize(table(rows, TWO), policy, seed=1)
    assert release.suppressed == 1
    report = sf.audit(release, [sf.DistributionLeakage(1, joint=["s", "t"])])
    assert report.verdicts[0].measured == pytest.approx(math.sqrt(2 / 36 + 1 / 9))
    assert report.published[0].measured == 0


def test_a_joint_target_is_of_sensitive_columns() -> None:
    with pytest.raises(sf.SchemaError, match="'q' is not a sensitive column"):
        judge(sf.DistributionLeakage(1, joint=["s", "q"]), as_it_stands(table(PAIRS, TWO)))
    with pytest.raises(sf.PolicyError, match="joint = 'u' is not a sensitive"):
        sf.Policy([sf.DistributionLeakage(1, joint=["s", "u"])], schema=TWO)


# -- policies, searches, reports ------------------------------------------------------------------


@pytest.mark.parametrize(
    "criterion",
    [
        sf.DistributionLeakage(0.25),
        sf.EntropyLeakage(0.5, prior="uniform", sensitive="t"),
        sf.DistributionLeakage(0.5, prior={"a": 0.5, "b": 0.5}, sensitive="s"),
        sf.DistributionLeakage(0.5, prior={"given": ["q"]}),
        sf.EntropyLeakage(0.5, prior=LISTED),
        sf.EntropyLeakage(0.5, prior={("young", "F"): {"flu": 3}}),
        sf.DistributionLeakage(0.5, joint=["s", "t"]),
    ],
    ids=str,
)
def test_a_policy_file_holds_it(criterion: Any, tmp_path: Path) -> None:
    policy = sf.Policy([criterion], schema=TWO)
    policy.save(tmp_path / "policy.toml")
    assert sf.Policy.load(tmp_path / "policy.toml") == policy


def test_a_policy_file_names_an_outside_table(tmp_path: Path) -> None:
    (tmp_path / "census.csv").write_text("age,sex,ill\nyoung,F,flu\nold,M,cold\n")
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi = ["age", "sex"]\nsensitive = "ill"\n[[require]]\n'
        'kind = "distribution-leakage"\nepsilon = 0.3\nprior = { file = "census.csv" }\n'
    )
    (criterion,) = sf.Policy.load(tmp_path / "policy.toml").require
    assert isinstance(criterion.prior.people, sf.Table)
    with pytest.raises(sf.PolicyError, match="needs the"):
        sf.Policy([criterion]).save(tmp_path / "again.toml")
    sf.Policy([sf.EntropyLeakage(1, prior=as_it_stands(table()))]).save(tmp_path / "x.toml")
    (again,) = sf.Policy.load(tmp_path / "x.toml").require
    assert again.prior.people.groups.sizes.tolist() == as_it_stands(table()).groups.sizes.tolist()


def numbers() -> sf.Table:
    ages = [20 + i % 40 for i in range(200)]
    ills = ["abc"[(i * 7 + i // 9) % 3] for i in range(200)]
    schema = sf.Schema(quasi=["q"], sensitive="s", hierarchies={"q": sf.intervals([5, 10, 20])})
    return sf.read(pa.table({"q": ages, "s": ills}), schema, threads=1)


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Lattice()], ids=lambda a: a.name)
@pytest.mark.parametrize(
    "criterion",
    [
        sf.DistributionLeakage(0.15),
        sf.EntropyLeakage(0.05),
        sf.DistributionLeakage(0.15, prior="uniform"),
    ],
    ids=str,
)
def test_searches_keep_the_bound(anonymizer: Any, criterion: Any) -> None:
    subject = numbers()
    assert not judge(criterion, as_it_stands(subject)).holds
    release = sf.anonymize(subject, sf.Policy([criterion], anonymizer=anonymizer), seed=1)
    assert judge(criterion, release).holds
    assert len(release.groups) > 1


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Lattice()], ids=lambda a: a.name)
def test_a_search_by_an_outside_table(anonymizer: Any) -> None:
    criterion = sf.DistributionLeakage(0.1, prior=numbers())
    release = sf.anonymize(numbers(), sf.Policy([criterion], anonymizer=anonymizer), seed=1)
    assert judge(criterion, release).measured == 0


@pytest.mark.parametrize(
    "criterion",
    [sf.DistributionLeakage(1, prior={"given": ["q"]}), sf.EntropyLeakage(1, joint=["s", "t"])],
    ids=str,
)
def test_what_no_search_can_judge_is_refused_at_once(criterion: Any) -> None:
    policy = sf.Policy([criterion], anonymizer=sf.Lattice())
    with pytest.raises(sf.PolicyError, match="judged on a finished release only"):
        sf.anonymize(table(PAIRS, TWO), policy)


def test_an_audit_tells_of_the_observer() -> None:
    report = sf.audit(table(), [sf.DistributionLeakage(0.1), sf.EntropyLeakage(0.1)])
    (threat,) = [threat for threat in report.threats if threat.adversary == "observer"]
    assert threat.covered == ("distribution-leakage", "entropy-leakage")
    assert threat.people.number == 4  # of whom flu, had by three of eight, is known for sure
    assert "some value ruled out for 8 people" in threat.learns
    assert "is had by 1 where 0.38 was expected" in report.verdicts[0].note
    other = sf.audit(table(), [sf.DistributionLeakage(1, prior={"given": ["age"]})])
    (known,) = [t for t in other.threats if t.adversary == "observer who knows age"]
    assert known.covered == ("distribution-leakage",)


def test_a_threat_that_cannot_be_measured_says_why() -> None:
    from sfumato.adversaries.leakage.observer import Observation, Observer

    several = sf.Groups([[2, 2]], sizes=[3])
    for observer, groups, why in (
        (Observer(), several, "several values each"),
        (Observer(), sf.Groups([[1]], reference=[0]), "empty"),
        (Observer(LISTED), sf.Groups([[1]]), "do not publish cells"),
    ):
        (threat,) = Observation(observer, groups).threats()
        assert threat.status == "not_applicable"
        assert why in threat.learns


# -- bad input ------------------------------------------------------------------------------------

WRONG = {
    "unknown word": ("census", "prior = 'census' is not allowed; use 'table', 'uniform'"),
    "nothing": (None, "prior = None is not allowed"),
    "empty": ({}, "prior = {} is not allowed"),
    "not one": ({"flu": 0.5, "cold": 0.4}, "the shares sum to 0.9, not to 1"),
    "nobody": ({"flu": 0}, "the shares sum to 0, not to 1"),
    "negative": ({"flu": -1}, "prior of 'flu' = -1 is not allowed"),
    "no number": ({"flu": "many"}, "prior of 'flu' = 'many' is not allowed"),
    "infinite": ({"flu": math.inf}, "prior of 'flu' = inf is not allowed"),
    "given nothing": ({"given": []}, "given lists the columns she knows"),
    "given twice": ({"given": ["age", "age"]}, "given lists the columns she knows"),
    "given and more": ({"given": ["age"], "flu": 1}, "given lists the columns she knows"),
    "no shares": ([{"class": ["young"]}], "an entry has the keys 'class'"),
    "no cells": ([{"class": {}, "shares": {"flu": 1}}], "an entry's class is empty"),
    "class twice": ([LISTED[0], LISTED[0]], "the class young is listed twice"),
    "other columns": (
        [LISTED[0], {"class": {"sex": "F"}, "shares": {"flu": 1}}],
        "classes name different columns",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_prior_that_cannot_be_meant_is_refused(case: str) -> None:
    prior, said = WRONG[case]
    with pytest.raises(sf.PolicyError) as caught:
        sf.DistributionLeakage(0.5, prior=prior)
    assert said in str(caught.value)
    assert str(caught.value).startswith("distribution-leakage: prior")
    assert "\n" not in str(caught.value)


LATE = {
    "no such value": ({"flux": 1}, sf.PolicyError, "not a value of 'ill'; did you mean 'flu'"),
    "an unknown column": ({"given": ["agee"]}, sf.InputError, "did you mean 'age'"),
    "the target itself": ({"given": ["ill"]}, sf.InputError, "'ill' is the target itself"),
    "too few cells": ({"a": {"flu": 1}}, sf.InputError, "lists 1 cells, the release has 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_a_prior_that_does_not_fit_is_refused_when_it_is_used(case: str) -> None:
    prior, kind, said = LATE[case]
    with pytest.raises(kind) as caught:
        judge(sf.DistributionLeakage(0.5, prior=prior), as_it_stands(table()))
    assert said in str(caught.value)
