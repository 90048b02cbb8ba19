"""A register beside a table larger than memory: linkage, presence, k-map as they are in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversaries.linkage.presence import PresenceSeeker
from sfumato.adversaries.linkage.risks import Linker
from sfumato.anonymizers.anatomy import Anatomy
from sfumato.anonymizers.base import Task
from sfumato.counts import stored
from sfumato.criteria.base import Verdict, judge
from sfumato.release.release import Release, as_it_stands
from tests.anonymizers.mondrian_tables import TABLES, small_table
from tests.examples import few
from tests.table.beyond_memory import beyond

MOST = 10_000


def register_of(table: sf.Table, seed: int, *, lacks: bool) -> sf.Table:
    """People with values of the table or others, most of the table's own among them."""
    chance = np.random.default_rng(seed)
    counts = table.counts.in_memory("a test")
    columns: dict[str, Any] = {}
    rows = np.repeat(np.arange(len(counts)), counts.n * chance.integers(1, 4, len(counts)))
    if lacks:
        rows = rows[chance.random(len(rows)) < 0.7]
    for domain, codes in zip(counts.quasi, counts.codes, strict=True):
        own = [domain.values[code] for code in codes[rows]]
        others = [domain.values[code] for code in chance.integers(0, len(domain), 6)]
        columns[domain.name] = pa.array([*own, *others], from_pandas=False)
    schema = replace(table.schema, sensitive=[], domains={}, hierarchies={})
    return sf.read(pa.table(columns), schema)


@settings(max_examples=few(60))
@given(
    number=st.integers(0, TABLES - 1),
    seed=st.integers(0, 10_000),
    lacks=st.booleans(),
    kept=st.booleans(),
)
def test_a_table_as_it_stands_beside_a_register(
    number: int, seed: int, lacks: bool, kept: bool
) -> None:
    table = small_table(number)
    register = register_of(table, seed, lacks=lacks)
    given_register = beyond(register, 5) if kept else register
    small, large = as_it_stands(table), as_it_stands(beyond(table, MOST))
    assert large.groups.multiplicity is not None
    ours = Linker(given_register).attack(large)
    theirs = Linker(register).attack(small)
    assert ours.journalist is not None
    assert theirs.journalist is not None
    for name in ("highest", "mean", "above", "at_highest", "unique", "blind"):
        expected = getattr(theirs.journalist, name)
        assert getattr(ours.journalist, name) == pytest.approx(expected), name
    assert ours.journalist.moved == theirs.journalist.moved
    assert (ours.source, ours.reason) == (theirs.source, theirs.reason)
    assert ours.notes == theirs.notes
    assert ours.threats() == theirs.threats()
    found, expected_presence = (
        PresenceSeeker(population).attack(release)
        for population, release in ((given_register, large), (register, small))
    )
    for name in ("people", "before", "highest", "lowest", "outside", "suppressed", "moved"):
        assert getattr(found, name) == getattr(expected_presence, name), name
    for k, minimum, maximum in ((2, 0.0, 0.5), (3, 0.2, 0.9), (1, 0.0, 1.0)):
        by_engine = bounds(k, minimum, maximum, given_register, large)
        in_memory = bounds(k, minimum, maximum, register, small)
        for one, other in zip(by_engine, in_memory, strict=True):
            assert (one.status, one.measured) == (other.status, other.measured)
            assert one.note == other.note
            assert one.per_group is None


def bounds(
    k: int, minimum: float, maximum: float, register: sf.Table, release: Release
) -> list[Verdict]:
    criteria = [sf.KMap(k, register), sf.DeltaPresence(minimum, maximum, register)]
    return [judge(criterion, release) for criterion in criteria]


def people(seed: int = 3) -> sf.Table:
    chance = np.random.default_rng(seed)
    rows = {
        "age": chance.integers(20, 26, 90),
        "sex": np.array(["F", "M"])[chance.integers(0, 2, 90)],
        "ill": np.array(["flu", "gout", "cold"])[np.arange(90) % 3],
    }
    return sf.read(pa.table(rows), sf.Schema(quasi=["age", "sex"], sensitive="ill"))


def test_buckets_of_a_table_larger_than_memory_beside_a_register() -> None:
    table = people()
    register = register_of(table, 1, lacks=False)
    policy = sf.Policy([sf.KMap(2, register)])
    small, large = (
        Anatomy(3).run(Task(counted, (), seed=1)) for counted in (table, beyond(table, 40))
    )
    ours, theirs = (sf.audit(release, policy, population=register) for release in (large, small))
    assert ours.threats == theirs.threats
    assert ours.holds == theirs.holds
    assert [f.verdict.measured for f in ours.findings] == [
        f.verdict.measured for f in theirs.findings
    ]


def test_an_audit_tells_what_a_register_tells() -> None:
    table = people()
    register = register_of(table, 1, lacks=True)
    require = [sf.KMap(2, register), sf.DeltaPresence(0.0, 0.6, register)]
    ours, theirs = (sf.audit(given, require) for given in (beyond(table, MOST), table))
    assert [f.verdict.status for f in ours.findings] == [f.verdict.status for f in theirs.findings]
    assert ours.threats == theirs.threats
    assert "does not contain the release" in " ".join(ours.linkage.notes)  # type: ignore[union-attr]
    assert str(ours)


def test_a_file_that_is_audited_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people()
    register = register_of(table, 1, lacks=True)
    counts = table.counts.in_memory("a test")
    rows = counts.take(np.repeat(np.arange(len(counts)), counts.n))
    columns = {
        domain.name: [domain.values[code] for code in codes]
        for domain, codes in zip(rows.quasi, rows.codes, strict=True)
    }
    columns["ill"] = [rows.sensitive[0].domain.values[code] for code in rows.values[0]]
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    small = sf.read_release(tmp_path / "people.parquet", table.schema)
    monkeypatch.setattr(stored, "COPIES", 10**9)  # as if every tuple took a gigabyte
    large = sf.read_release(tmp_path / "people.parquet", table.schema)
    assert large.groups.multiplicity is not None
    ours, theirs = (
        sf.audit(release, [sf.KMap(2, register)], population=register) for release in (large, small)
    )
    assert ours.linkage is not None
    assert ours.linkage.journalist is not None
    assert ours.threats == theirs.threats
    assert ours.findings[-1].verdict.measured == theirs.findings[-1].verdict.measured


def test_spark_counts_the_same(spark) -> None:
    from sfumato.engines.spark import Spark

    table = people()
    register = register_of(table, 1, lacks=False)
    there = as_it_stands(beyond(table, MOST, Spark(session=spark)))
    ours, theirs = (Linker(register).attack(r).threats() for r in (there, as_it_stands(table)))
    assert ours == theirs


def test_a_register_without_a_column_is_refused() -> None:
    table = people()
    other = sf.read(pa.table({"age": [20, 21]}), sf.Schema(quasi=["age"]))
    with pytest.raises(sf.InputError, match="lacks quasi-identifiers of the release: 'sex'"):
        Linker(other).attack(as_it_stands(beyond(table, MOST)))


def test_whoever_fits_no_group_may_be_surest_to_be_in_it() -> None:
    """Where as many are suppressed as fit no group, though groups hide their own well."""
    table = sf.read(
        pa.table({"age": [20, 20, 30, 30], "ill": list("abab")}), sf.Schema(["age"], "ill")
    )
    register = sf.read(pa.table({"age": [*[20] * 6, *[30] * 5, 90, 91]}), sf.Schema(["age"]))
    ours, theirs = (
        PresenceSeeker(register).attack(replace(as_it_stands(given), suppressed=2))
        for given in (beyond(table, MOST), table)
    )
    assert max(ours.per_group) == 2 / 5
    assert (ours.highest, ours.outside, ours.suppressed) == (1.0, 2, 1.0)
    assert ours.threats() == theirs.threats()


def test_a_register_of_others_alone_hides_nobody() -> None:
    table = people()
    others = {"age": [90, 91, 92], "sex": ["F", "M", "M"]}
    register = sf.read(pa.table(others), sf.Schema(quasi=["age", "sex"]))
    ours, theirs = (
        PresenceSeeker(register).attack(as_it_stands(given))
        for given in (beyond(table, MOST), table)
    )
    assert (ours.outside, ours.lowest, ours.highest) == (3, 0.0, 1.0)
    assert ours.threats() == theirs.threats()
    linked = [Linker(register).attack(as_it_stands(t)) for t in (beyond(table, MOST), table)]
    assert linked[0].notes == linked[1].notes
    assert linked[0].threats() == linked[1].threats()
