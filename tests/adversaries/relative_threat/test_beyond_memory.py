"""Relative threat to the people of a table larger than memory: the figures of memory."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.counts.stored import StoredCounts
from sfumato.errors import ResourceError
from sfumato.release.made import StoredPlacement
from sfumato.release.release import Release
from tests.examples import few
from tests.table.beyond_memory import SCHEMA, beyond, rows

ONE = replace(SCHEMA, sensitive=["ill"])
COARSER = replace(SCHEMA, hierarchies={"age": sf.intervals([3, 6]), "zip": sf.mask()})


def read(seed: int = 1, schema: sf.Schema = ONE, total: int = 400) -> sf.Table:
    return sf.read(rows(seed, total).select([*schema.quasi, *schema.sensitive]), schema)


def released(
    table: sf.Table, k: int = 5, maker: Any = None, suppression: float = 0.0, *more: Any
) -> Release:
    policy = sf.Policy(
        require=[sf.KAnonymity(k), *more],
        anonymizer=maker or sf.Lattice(),
        suppression=suppression,
    )
    return sf.anonymize(table, policy, seed=1)


def numbers(figures: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, figure in figures.items():
        if isinstance(figure, dict):
            flat |= {f"{name}.{inner}": given for inner, given in numbers(figure).items()}
        else:
            flat[name] = figure
    return flat


def same(large: RelativeThreat, small: RelativeThreat) -> None:
    assert large.people is not None
    assert small.people is not None
    assert large.people.parts is not None
    assert small.people.parts is None
    assert large.status == small.status
    assert large.notes == small.notes
    assert large.people.left_out == small.people.left_out
    ours, theirs = numbers(asdict(large.measures)), numbers(asdict(small.measures))
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9, nan_ok=True)
    for ours_, theirs_ in zip(large.threats(), small.threats(), strict=True):
        assert (ours_.adversary, ours_.learns, ours_.people) == (
            theirs_.adversary,
            theirs_.learns,
            theirs_.people,
        )
    by_group = [
        np.bincount(people.group[people.group >= 0], weights=people.n[people.group >= 0])
        for people in (large.people, small.people)
    ]
    assert sorted(by_group[0].tolist()) == sorted(by_group[1].tolist())


ASKED: list[dict[str, Any]] = [
    {},
    {"gain": "top 2"},
    {"gain": {"flu": 3.0, "gout": 0.5}},
    {"known": ["age", "sex"]},
    {"prior": {"age": {25: 7.0}}},
    {"noise": {"sex": 0.2}},
]


@settings(max_examples=few(40))
@given(
    seed=st.integers(0, 10_000),
    k=st.sampled_from([2, 5, 20]),
    suppression=st.sampled_from([0.0, 0.1]),
    asked=st.sampled_from(ASKED),
)
def test_people_told_by_atoms_are_believed_as_each_by_herself(
    seed: int, k: int, suppression: float, asked: dict[str, Any]
) -> None:
    table = read(seed)
    release = released(table, k, suppression=suppression)
    large = beyond(table, 100)
    assert isinstance(large.counts, StoredCounts)
    threat = sf.relative_threat(release, large, **asked)
    same(threat, sf.relative_threat(release, **asked))


@pytest.mark.parametrize("most", [60, 100])
def test_a_release_made_of_a_table_larger_than_memory_knows_its_people(most: int) -> None:
    table = read()
    large = released(beyond(table, most))
    assert isinstance(large.placement, StoredPlacement)
    assert len(large.placement.table.counts) > 2 * most or most > 60
    small = released(table)
    same(sf.relative_threat(large), sf.relative_threat(small))
    verdicts = [
        sf.RelativeThreatBound(bound, max_rgt=0.1, quantile=quantile).of_release(
            release, release.groups
        )
        for release in (large, small)
        for bound in (1.2, 2.0, 3.0)
        for quantile in (None, 0.9)
    ]
    for ours, theirs in zip(verdicts[:6], verdicts[6:], strict=True):
        assert (ours.status, ours.note) == (theirs.status, theirs.note)
        assert ours.measured == pytest.approx(theirs.measured)


def test_the_lattice_is_searched_by_a_bound_on_it() -> None:
    bound = sf.RelativeThreatBound(1.6)
    table = read(3, replace(COARSER, sensitive=["ill"]))
    small = released(table, 5, None, 0.0, bound)
    large = released(beyond(table, 100), 5, None, 0.0, bound)
    assert large.regions.describe(0) == small.regions.describe(0)
    assert len(large.groups) == len(small.groups)


def test_joint_columns_and_lists_are_values_too() -> None:
    table = read(schema=SCHEMA)
    release = released(table)
    asked: dict[str, Any] = {"joint": ("ill", "pay")}
    same(
        sf.relative_threat(release, beyond(table, 200), **asked),
        sf.relative_threat(release, **asked),
    )
    chance = np.random.default_rng(5)
    lists = [
        sorted(set(chance.choice(["flu", "gout", "cold"], chance.integers(0, 3)).tolist()))
        for _ in range(400)
    ]
    listed = sf.read(
        rows().select(ONE.quasi).append_column("had", pa.array(lists, pa.list_(pa.string()))),
        replace(ONE, sensitive=["had"]),
    )
    of_lists = released(listed)
    for gain in ("value", "list"):
        same(
            sf.relative_threat(of_lists, beyond(listed, 200), gain=gain),
            sf.relative_threat(of_lists, gain=gain),
        )


def test_regions_that_cross_are_sampled_for_the_people_of_an_atom() -> None:
    table = read(2)
    release = released(table, 12, sf.Mondrian())
    quickly: dict[str, Any] = {"ess": 60.0, "method": "sample", "seed": 1}
    large = sf.relative_threat(release, beyond(table, 200), **quickly)
    small = sf.relative_threat(release, **quickly)
    assert large.status == small.status == "converged"
    assert large.measures.gt_attacker == pytest.approx(small.measures.gt_attacker, abs=0.05)
    assert large.measures.gt_ideal == pytest.approx(small.measures.gt_ideal)


def test_what_tells_every_person_apart_is_refused_in_a_line() -> None:
    table = read()
    release, large = released(table), beyond(table, 60)
    with pytest.raises(ResourceError, match=r"needs the \d+ tuples that the release .* tell apart"):
        sf.relative_threat(release, large, noise=0.1)
    with pytest.raises(ResourceError, match="asking what is believed of everybody"):
        sf.relative_threat(release, large, learner="conditional")
    with pytest.raises(ResourceError, match="a row for every case"):
        sf.relative_threat(release, large).rows  # noqa: B018
    overlapping = replace(released(beyond(table, 100)), disjoint=False, suppressed=3)
    with pytest.raises(ResourceError, match="where groups overlap"):
        sf.relative_threat(overlapping)
