"""Everybody of a table larger than memory: attacked, and checked, part by part as in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.composition.attack import IntersectionAttack
from sfumato.ledger.check import check_release
from sfumato.report.characterization import write_table
from sfumato.report.sections.composition import attack_document, exposed_section
from tests.examples import few
from tests.table.beyond_memory import SCHEMA, beyond, rows

LEVELS = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1))


def everybody(columns: list[str] | None = None) -> sf.Table:
    schema = SCHEMA
    if columns is not None:
        hierarchies = {name: own for name, own in SCHEMA.hierarchies.items() if name in columns}
        schema = replace(SCHEMA, quasi=columns, hierarchies=hierarchies)
    return sf.read(rows(total=300), schema, threads=1)


def releases_of(levels: list[tuple[int, int, int]]) -> list[sf.Release]:
    """Of most of the people: some are in no group."""
    table = sf.read(rows(total=260), SCHEMA, threads=1)
    return [sf.generalize(table, level, [sf.KAnonymity(2)], 0.5) for level in levels]


def told_of_people(attack: IntersectionAttack) -> list[str]:
    return sorted(
        json.dumps(row, default=str, sort_keys=True)
        for part in attack.targets_by_part()
        for row in part.to_pylist()
    )


def assert_alike(ours: IntersectionAttack, theirs: IntersectionAttack) -> None:
    for name, expected in vars(theirs.summary).items():
        got = getattr(ours.summary, name)
        if name == "right":
            assert got == pytest.approx(expected), name
        elif name == "beliefs":
            assert [vars(point) for point in got] == [
                pytest.approx(vars(point), nan_ok=True) for point in expected
            ]
        else:
            assert repr(got) == repr(expected), name  # NaN is itself
    assert ours.notes == theirs.notes
    assert ours.threats() == theirs.threats()
    assert len(list(ours.targets_by_part())) > 1
    if ours.summary.right is None:
        assert str(attack_document(ours)) == str(attack_document(theirs))


@given(
    levels=st.lists(LEVELS, min_size=2, max_size=3),
    truth=st.sampled_from([None, "ill"]),
    overlap=st.sampled_from(["count", "volume"]),
    prior=st.sampled_from(["uniform", "pooled"]),
)
@settings(max_examples=few(10))
def test_an_attack_on_everybody_is_that_of_memory(
    levels: list[tuple[int, int, int]], truth: str | None, overlap: str, prior: str
) -> None:
    table, releases = everybody(), releases_of(levels)
    asked = {"overlap": overlap, "prior": prior, "sensitive": "ill"}
    ours, theirs = (
        sf.intersection_attack(releases, targets, truth, **asked)
        for targets in (beyond(table, 80), table)
    )
    assert_alike(ours, theirs)
    if truth is None:  # where values are told, people of equal columns are rows of their own
        assert told_of_people(ours) == told_of_people(theirs)
    section = exposed_section(theirs)
    assert exposed_section(ours).words == section.words
    assert [sheet.notes for sheet in exposed_section(ours).tables] == [
        sheet.notes for sheet in section.tables
    ]


@pytest.mark.parametrize(
    "columns", [["age", "sex"], ["zip", "age"]], ids="a column is unknown: {}".format
)
def test_people_of_whom_not_everything_is_known(columns: list[str]) -> None:
    table, releases = everybody(columns), releases_of([(0, 1, 0), (1, 0, 0)])
    ours, theirs = (
        sf.intersection_attack(releases, targets, "ill", sensitive="ill")
        for targets in (beyond(table, 40), table)
    )
    assert theirs.summary.partly_known == 300
    assert_alike(ours, theirs)


def test_what_cannot_be_told_of_some_is_not_told_of_the_others() -> None:
    """How often the nearest group is the right one, where a column is unknown of somebody."""
    people = rows(total=300)
    ages, sexes = people["age"].to_pylist(), people["sex"].to_pylist()
    marked = ["unknown" if age < 24 else sex for age, sex in zip(ages, sexes, strict=True)]
    by_age, by_sex = (replace(SCHEMA, quasi=[name], hierarchies={}) for name in ("age", "sex"))
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Microaggregation(3))
    near = sf.anonymize(sf.read(people, by_age, threads=1), policy, seed=1)
    shown = sf.generalize(sf.read(people, by_sex, threads=1), (0,))
    place = people.schema.get_field_index("sex")
    table = sf.read(people.set_column(place, "sex", pa.array(marked)), SCHEMA, threads=1)
    ours, theirs = (
        sf.intersection_attack([near, shown], targets, sensitive="ill")
        for targets in (beyond(table, 20), table)
    )
    assert 0 < theirs.summary.partly_known < 300
    assert theirs.summary.correctly_located == (None, None)
    assert_alike(ours, theirs)


def test_people_are_told_apart_by_more_than_the_releases_show() -> None:
    """Those of equal columns come in several parts."""
    table = everybody()
    schema = replace(SCHEMA, quasi=["sex"], hierarchies={})
    first = sf.generalize(sf.read(rows(total=260), schema, threads=1), (0,))
    second = sf.generalize(sf.read(rows(2, total=90), schema, threads=1), (0,))
    ours, theirs = (
        sf.intersection_attack([first, second], targets, sensitive="ill")
        for targets in (beyond(table, 80), table)
    )
    assert_alike(ours, theirs)
    people = sum(part["people"].to_pylist() != [] for part in ours.targets_by_part())
    assert people > 1
    assert sum(sum(part["people"].to_pylist()) for part in ours.targets_by_part()) == 300


def test_what_needs_everybody_at_once_says_so() -> None:
    table, releases = everybody(), releases_of([(0, 1, 0), (1, 0, 0)])
    large = beyond(table, 80)
    attack = sf.intersection_attack(releases, large, sensitive="ill")
    with pytest.raises(sf.ResourceError, match="targets_by_part"):
        attack.targets  # noqa: B018
    with pytest.raises(sf.ResourceError, match="larger than memory"):
        sf.intersection_attack(releases, large, locate="oracle", sensitive="ill")
    with pytest.raises(sf.InputError, match="name its sensitive column"):
        sf.intersection_attack(releases, large, ["flu"] * 300, sensitive="ill")


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_private_rows_are_written_part_by_part(tmp_path: Path, ending: str) -> None:
    whole = pa.table({"who": list(range(50)), "left": [None, 1] * 25})
    write_table(whole, tmp_path / f"whole.{ending}")
    write_table(
        iter([whole[:10], whole[10:11], whole[11:]]), tmp_path / f"parts.{ending}", force=False
    )
    ours, theirs = (tmp_path / f"{name}.{ending}" for name in ("parts", "whole"))
    if ending == "json":
        assert ours.read_text() == theirs.read_text()
    else:
        read = pq.read_table if ending == "parquet" else pa_csv.read_csv
        assert read(ours).equals(read(theirs))


def test_no_private_rows_are_an_empty_list(tmp_path: Path) -> None:
    write_table(pa.table({"who": pa.array([], pa.int64())}), tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text()) == []


@given(
    levels=st.lists(LEVELS, min_size=2, max_size=4),
    share=st.sampled_from([0.0, 0.02, 0.1, 1.0]),
    confidence=st.sampled_from([1.0, 0.5]),
    counting=st.sampled_from(["all", "added"]),
    drop=st.integers(0, 1),
)
@settings(max_examples=few(10))
def test_a_check_for_everybody_is_that_of_memory(
    levels: list[tuple[int, int, int]], share: float, confidence: float, counting: str, drop: int
) -> None:
    table = everybody()
    new, *earlier = releases_of(levels)
    asked = {"share": share, "confidence": confidence, "counting": counting, "drop": drop}
    large = beyond(table, 80)
    ours, theirs = (check_release(new, earlier, targets, **asked) for targets in (large, table))
    assert ours == theirs
    assert check_release(new, earlier, population=large, **asked).findings == ours.findings


def test_blame_on_pairs_of_releases_is_worked_out_in_one_go() -> None:
    """A value left by any of two is hidden by leaving both out, and by no single one."""
    table = everybody()
    new, first, second = releases_of([(1, 1, 1), (0, 0, 0), (0, 0, 0)])
    third = releases_of([(2, 2, 1)])[0]
    ours, theirs = (
        check_release(new, [first, second, third], targets, share=0.0)
        for targets in (beyond(table, 80), table)
    )
    assert ours == theirs
    assert any(len(blamed) == 2 for finding in theirs.findings for blamed in finding.culprits)
