"""k-map: by weights, by a register, and never by nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.k_anonymity import KMap
from sfumato.release.beside import Beside
from sfumato.release.description import Regions, of_scheme
from sfumato.release.groups import Groups
from sfumato.release.release import as_it_stands
from sfumato.schema.region import Span, ValueSet
from tests.examples import few

SCHEMA = sf.Schema(quasi=["age"], sensitive="disease")


def table(ages: list[int | None], weight: list[float] | None = None) -> sf.Table:
    columns = {"age": pa.array(ages, pa.int64()), "disease": ["flu"] * len(ages)}
    if weight is None:
        return sf.read(pa.table(columns), SCHEMA)
    return sf.read(pa.table({**columns, "w": weight}), replace(SCHEMA, weight="w"))


def weighted(sizes: list[int], population: list[float]) -> Groups:
    return Groups([[n] for n in sizes]).with_beside(
        Beside(population=np.array(population, dtype=np.float64))
    )


def test_every_group_must_fit_k_people_of_the_population() -> None:
    groups = weighted([1, 2, 3], [10, 4.9, 5])
    verdict = KMap(5, "weights").verdict(groups)
    assert (verdict.status, verdict.measured, verdict.worst[0]) == ("violated", 4.9, 1)
    assert KMap(5, "weights").holds(groups).tolist() == [True, False, True]
    assert "1 of 3 groups, 2 people" in verdict.note
    assert KMap(4, "weights").verdict(groups).holds


def test_weights_come_from_the_weight_column() -> None:
    report = sf.audit(table([1, 1, 2], [2.5, 2.5, 4]), [KMap(5, "weights")])
    (verdict,) = report.verdicts
    assert (verdict.status, verdict.measured) == ("violated", 4)
    assert report.findings[0].worst[0].description == {"age": "2"}


def test_a_register_is_counted() -> None:
    register = table([1, 1, 1, 2, 2, 3])
    release = as_it_stands(table([1, 2]))
    assert KMap(2, register).verdict(release.groups).measured == 2
    assert not KMap(3, register).verdict(release.groups).holds


def test_a_register_is_matched_with_generalized_regions() -> None:
    register = table([10, 19, 20, 25, None, 40])
    regions = Regions(
        ("age",),
        ((Span(10, 20), Span(20, 30), ValueSet(frozenset({None}))),),
        np.array([[0, 1, 2]], dtype=np.int32),
    )
    groups = Groups([[1], [1], [1]]).with_beside(Beside(regions))
    assert KMap(2, register).measure(groups).per_group.tolist() == [2, 2, 1]


NOTHING = {
    "weights": (lambda: KMap(1, "weights"), "no survey weights"),
    "table": (lambda: KMap(1, table([1])), "do not publish regions"),
}


@pytest.mark.parametrize(("made", "why"), NOTHING.values(), ids=list(NOTHING))
def test_without_population_information_it_never_holds(made, why: str) -> None:
    criterion, groups = made(), Groups([[9]])
    verdict = criterion.verdict(groups)
    assert (verdict.status, verdict.holds, verdict.measured) == ("not_applicable", False, None)
    assert why in verdict.note
    assert not criterion.holds(groups).any()
    with pytest.raises(sf.InputError, match="k-map cannot be measured"):
        criterion.measure(groups)


def test_an_unweighted_table_could_not_be_judged() -> None:
    report = sf.audit(table([1, 1]), [KMap(2, "weights")])
    assert report.status == "could_not_judge"


def test_noisy_counts_and_no_groups_are_not_applicable() -> None:
    exact = as_it_stands(table([1], [9]))
    noisy = replace(exact, regions=of_scheme(exact.regions, "randomised"))
    assert sf.audit(noisy, [KMap(2, "weights")]).verdicts[0].status == "not_applicable"
    nobody = Groups(np.zeros((0, 1))).with_beside(Beside(population=np.zeros(0)))
    assert KMap(1, "weights").verdict(nobody).status == "not_applicable"


def test_a_group_fits_its_own_people_and_a_short_population_is_told() -> None:
    verdict = KMap(3, "weights").verdict(weighted([3, 1], [1, 9]))
    assert (verdict.status, verdict.measured) == ("holds", 3)
    assert "groups the population does not contain 1" in verdict.note
    wrong = KMap(2, table([7, 7, 7])).verdict(as_it_stands(table([1])).groups)
    assert (wrong.status, wrong.measured) == ("violated", 1)


def test_k_anonymity_implies_k_map() -> None:
    groups = weighted([4, 6], [4, 100])
    for k in range(1, 8):
        if sf.KAnonymity(k).verdict(groups).holds:
            assert KMap(k, "weights").verdict(groups).holds


@settings(max_examples=few(40))
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.lists(st.integers(0, 3), max_size=12),
    st.integers(1, 5),
)
def test_it_equals_the_loop(sample: list[int], others: list[int], k: int) -> None:
    register = [*sample, *others]
    verdict = KMap(k, table(register)).verdict(as_it_stands(table(sample)).groups)
    fewest = min(register.count(age) for age in sample)
    assert (verdict.measured, verdict.holds) == (fewest, fewest >= k)


def test_it_is_equal_by_k_and_the_very_population() -> None:
    one, other = table([1]), table([1])
    assert KMap(2, one) == KMap(2, one)
    assert hash(KMap(2, one)) == hash(KMap(2, one))
    assert KMap(2, one) != KMap(2, other)
    assert KMap(2, one) != KMap(3, one)
    assert KMap(2, "weights") == KMap(2, "weights")
    assert KMap(2, "weights") != KMap(2, one)
    assert KMap(2, "weights") != KMap(2, "weights", sensitive="disease")
    assert KMap(2, "weights") != sf.KAnonymity(2)


def test_in_a_policy_file(tmp_path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[require]]\nkind = "k-map"\nk = 5\npopulation = "weights"\n')
    policy = sf.Policy.load(path)
    assert policy.require == (KMap(5, "weights"),)
    policy.save(path)
    assert sf.Policy.load(path).require == policy.require
