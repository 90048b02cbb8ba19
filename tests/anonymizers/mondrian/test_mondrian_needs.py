"""Mondrian with criteria that look at more than counts: regions, weights, protect columns."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Task
from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.release.release import Release
from tests.oracles.containing import containing

STYLES = ("cell", "tight", "hierarchy")
JOBS = ["nurse", "doctor", "baker", "smith"]
SCHEMA = sf.Schema(
    quasi=["age", "job"],
    sensitive="ill",
    hierarchies={
        "age": sf.intervals([10, 40]),
        "job": sf.taxonomy({"nurse": "care", "doctor": "care", "baker": "craft", "smith": "craft"}),
    },
    domains={"job": JOBS, "ill": ["cold", "flu"]},
)


def people(seed: int, total: int, columns: dict[str, Any] | None = None) -> dict[str, list[Any]]:
    chance = Random(seed)
    rows = {
        "age": [chance.randint(20, 79) for _ in range(total)],
        "job": [chance.choice(JOBS) for _ in range(total)],
        "ill": [chance.choice(["cold", "flu", "flu"]) for _ in range(total)],
    }
    for name, choices in (columns or {}).items():
        rows[name] = [chance.choice(choices) for _ in range(total)]
    return rows


def fitting(release: Release, register: dict[str, list[Any]]) -> list[int]:
    """How many people of a register fit each group, one after another."""
    found = Counter(
        int(group)
        for age, job in zip(register["age"], register["job"], strict=True)
        for group in containing(release.regions, {"age": age, "job": job})
    )
    return [found[group] for group in range(len(release.groups))]


@pytest.mark.parametrize("regions", STYLES)
@pytest.mark.parametrize("k", [4, 20])
def test_k_map_by_a_register(regions: Any, k: int) -> None:
    register = people(1, 300)
    sample = {name: values[:60] for name, values in register.items()}
    table, population = (sf.read(pa.table(rows), SCHEMA) for rows in (sample, register))
    release = Mondrian(regions=regions).run(Task(table, (sf.KMap(k, population),)))
    behind = fitting(release, register)
    assert min(behind) >= k
    assert len(release.groups) > 1
    assert sf.audit(release, [sf.KMap(k, population)]).holds
    # More than k-anonymity could give: some group is smaller than k, unless its people may be
    # told from others by where else those fit.
    assert (int(release.groups.sizes.min()) < k) == release.regions.disjoint()


def test_k_map_by_survey_weights() -> None:
    rows = people(2, 80, {"weight": [1, 2, 9]})
    schema = sf.Schema(quasi=SCHEMA.quasi, sensitive="ill", weight="weight")
    table = sf.read(pa.table(rows), schema)
    release = Mondrian().run(Task(table, (sf.KMap(12, "weights"),)))
    assert release.population is not None
    assert release.population.min() >= 12
    assert int(release.groups.sizes.min()) < 12
    sums: Counter[int] = Counter()
    for age, job, weight in zip(rows["age"], rows["job"], rows["weight"], strict=True):
        (group,) = containing(release.regions, {"age": age, "job": job})
        sums[int(group)] += weight
    assert [sums[group] for group in range(len(release.groups))] == release.population.tolist()


@pytest.mark.parametrize("regions", STYLES)
def test_priors_by_region(regions: Any) -> None:
    outside = sf.read(pa.table(people(3, 400)), SCHEMA)
    table = sf.read(pa.table(people(4, 120)), SCHEMA)
    her = sf.RealisticAdversary(outside, by_region=True)
    criteria = [sf.EpsilonPrivacy(1.7, her)]
    release = Mondrian(regions=regions).run(Task(table, tuple(criteria)))
    assert len(release.groups) > 1
    assert sf.audit(release, criteria).holds


def test_what_members_protect_decides_which_splits_are_allowed() -> None:
    """The young protect nothing and fall apart; the old, with the same values, stay together."""
    schema = sf.Schema(quasi=["age"], sensitive="ill", protect="wish")
    ages = [*range(20, 28), *range(60, 68)]
    rows = {"age": ages, "ill": ["cold", "flu"] * 8, "wish": ["none"] * 8 + ["all"] * 8}
    table = sf.read(pa.table(rows), schema)
    predicates = {"protect": {"all": "values", "none": []}}
    her = sf.RealisticAdversary("table", 20)
    criterion = sf.EpsilonPrivacy(1.5, her, predicates=predicates)
    release = Mondrian().run(Task(table, (criterion,)))
    assert sf.audit(release, [criterion]).holds
    places = [containing(release.regions, {"age": age})[0] for age in ages]
    young, old = places[:8], places[8:]
    assert len(set(young)) == 8
    plain = Mondrian().run(Task(table, (sf.EpsilonPrivacy(1.5, her),)))
    together = {containing(plain.regions, {"age": age})[0] for age in ages[8:]}
    assert len(set(old)) == len(together)
