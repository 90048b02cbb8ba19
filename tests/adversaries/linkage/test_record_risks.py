"""The risk of every record: against counting rows by hand, in the order of the table."""

from __future__ import annotations

import stat
from collections import Counter
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from tests.examples import few
from tests.oracles import special_uniques_oracle as oracle

Row = tuple[int, int, str]
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from("xy")), min_size=4, max_size=14
)
SCHEMA = sf.Schema(quasi=["a", "b"], sensitive="s", hierarchies={"a": sf.intervals([2])})


def table(rows: list[Row]) -> sf.Table:
    a, b, s = zip(*rows, strict=True)
    return sf.read(pa.table({"a": a, "b": b, "s": s}), SCHEMA)


@settings(max_examples=few(80), deadline=None)
@given(rows=ROWS, level=st.integers(0, 2))
def test_every_record_is_told_as_its_published_row_is(rows: list[Row], level: int) -> None:
    """One node of the lattice; groups of one person are suppressed."""
    shown = [(a if level == 0 else a // 2 if level == 1 else 0, b) for a, b, _ in rows]
    sizes = Counter(shown)
    if max(sizes.values()) < 2:
        return
    values = Counter((*cell, s) for cell, (_, _, s) in zip(shown, rows, strict=True))
    release = sf.generalize(table(rows), {"a": level, "b": 0}, [sf.KAnonymity(2)], 1.0)
    report = sf.audit(release, [sf.KAnonymity(2)])
    told = report.record_risks(size=2).to_arrow().to_pylist()
    scores = oracle.scores([row[:2] for row in rows], 2)
    group_of: dict[int, tuple[int, int]] = {}
    for place, (record, cell, score) in enumerate(zip(told, shown, scores, strict=True)):
        assert record["record"] == place + 1
        assert record["suda_table"] == score
        assert record["journalist"] is None
        if sizes[cell] < 2:
            assert (record["group"], record["people"], record["prosecutor"]) == (None, None, 0)
            continue
        assert record["people"] == sizes[cell]
        assert record["prosecutor"] == pytest.approx(1 / sizes[cell])
        commonest = max(values[(*cell, value)] for value in "xy")
        assert record["worst_belief"] == pytest.approx(commonest / sizes[cell])
        assert record["suda_release"] == 0
        assert group_of.setdefault(record["group"], cell) == cell


def test_a_register_gives_the_journalists_risk() -> None:
    register = table([(0, 0, "x")] * 4 + [(1, 1, "x")] * 3)
    subject = table([(1, 1, "x"), (0, 0, "x"), (0, 0, "y")])
    told = sf.audit(subject, [sf.KAnonymity(1)], population=register).record_risks().to_arrow()
    assert told.column("prosecutor").to_pylist() == [1, 0.5, 0.5]
    assert told.column("journalist").to_pylist() == [pytest.approx(1 / 3), 0.25, 0.25]


def test_buckets_hide_values_and_nobody() -> None:
    rows: list[Row] = [(0, 0, "x"), (0, 0, "y"), (3, 1, "x"), (2, 1, "y")]
    release = sf.anonymize(table(rows), sf.Policy([sf.DistinctDiversity(2)], sf.Anatomy(2)), seed=1)
    told = sf.audit(release, [sf.DistinctDiversity(2)]).record_risks().to_arrow()
    assert told.column("prosecutor").to_pylist() == [0.5, 0.5, 1, 1]
    assert told.column("worst_belief").to_pylist() == [0.5] * 4


def test_it_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    rows: list[Row] = [(0, 0, "x"), (1, 0, "y"), (3, 1, "x"), (2, 1, "y")]
    policy = sf.Policy([sf.KAnonymity(2)], sf.Lattice())
    release = sf.anonymize(table(rows), policy)
    report = sf.audit(release, policy)
    risks = report.record_risks()
    out = tmp_path / "out"
    release.save(out, report=report, policy=policy, format="csv", records=risks)
    written = out / "private" / "record-risks.csv"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert pa_csv.read_csv(written).num_rows == 4
    assert not [path for path in (out / "public").rglob("*") if "risk" in path.name]
    # A release that was read back takes the table to know who is who.
    read = sf.read_release(out, SCHEMA)
    again = sf.audit(read, policy, table=table(rows)).record_risks().save(tmp_path / "r.parquet")
    assert stat.S_IMODE(again.stat().st_mode) == 0o600
    columns = ["record", "people", "prosecutor", "suda_table", "worst_belief"]
    assert pq.read_table(again, columns=columns).equals(risks.to_arrow().select(columns))
    with pytest.raises(sf.InputError, match="public/"):
        risks.save(out / "public" / "risks.csv")
    (tmp_path / "linked").symlink_to(out / "public")
    (tmp_path / "store").mkdir()
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "public").symlink_to(tmp_path / "store")
    for handed_out in ("linked", "served/public"):
        with pytest.raises(sf.InputError, match="public/"):
            risks.save(tmp_path / handed_out / "risks.csv")
    risks.save(out / "public" / ".." / "risks.csv")
    with pytest.raises(sf.InputError, match="ending in"):
        risks.save(tmp_path / "risks.json")
    with pytest.raises(sf.InputError, match="owner"):
        report.public().record_risks()


def test_what_cannot_be_told_is_refused(tmp_path: Path) -> None:
    data = pa.table({"a": [1, 2, 3], "b": [1, 1, 1], "s": ["x"] * 3, "who": ["p", "p", "q"]})
    several = sf.read(data, sf.Schema(quasi=["a", "b"], sensitive="s", person="who"))
    with pytest.raises(sf.InputError, match="keep one row each, or say rows"):
        sf.audit(several, [sf.KAnonymity(1)]).record_risks()
    path = tmp_path / "release.csv"
    path.write_text('a,b,s\n"[0, 2)",0,x\n"[0, 2)",0,y\n')
    with pytest.raises(sf.InputError, match="--table"):
        sf.audit(sf.read_release(path, SCHEMA), [sf.KAnonymity(1)]).record_risks()


# -- several rows a person -------------------------------------------------------------------------

VISITS = st.lists(
    st.tuples(st.sampled_from("pqrs"), st.integers(0, 3), st.sampled_from("xy")),
    min_size=3,
    max_size=12,
)


def visits(rows: list[tuple[str, int, str]], shown: str, knows: int | str) -> sf.Table:
    who, a, s = zip(*rows, strict=True)
    schema = sf.Schema(quasi=["a"], sensitive="s", person="who", rows=shown, knows=knows)
    return sf.read(pa.table({"who": who, "a": a, "s": s}), schema)


@settings(max_examples=few(25), deadline=None)
@given(rows=VISITS, knows=st.sampled_from(["all", 1, 2]))
def test_rows_one_by_one_are_told_by_group_and_by_what_is_known(rows, knows) -> None:
    told = sf.audit(visits(rows, "unlinked", knows), [sf.KAnonymity(1)]).record_risks()
    everyone = {who: Counter(a for person, a, _ in rows if person == who) for who, _, _ in rows}
    for record, (who, a, _) in zip(told.to_arrow().to_pylist(), rows, strict=True):
        there = sum(a in cells for cells in everyone.values())
        assert (record["people"], record["prosecutor"]) == (there, pytest.approx(1 / there))
        mine = sorted(everyone[who].elements())
        many = len(mine) if knows == "all" else min(knows, len(mine))
        fitting = [
            sum(Counter(known) <= cells for cells in everyone.values())
            for known in combinations(mine, many)
        ]
        assert record["by_known_rows"] == pytest.approx(1 / min(fitting))


@settings(max_examples=few(25), deadline=None)
@given(rows=VISITS, knows=st.sampled_from(["all", 1, 2]))
def test_linked_rows_are_told_by_their_person(rows, knows) -> None:
    report = sf.audit(visits(rows, "linked", knows), [sf.KAnonymity(1)])
    told = report.record_risks().to_arrow().to_pylist()
    everyone = {who: Counter(a for person, a, _ in rows if person == who) for who, _, _ in rows}
    for record, (who, _, _) in zip(told, rows, strict=True):
        mine = sorted(everyone[who].elements())
        many = len(mine) if knows == "all" else min(knows, len(mine))
        fitting = [
            sum(
                cells == everyone[who] if knows == "all" else Counter(known) <= cells
                for cells in everyone.values()
            )
            for known in combinations(mine, many)
        ]
        assert record["prosecutor"] == pytest.approx(1 / min(fitting))
        assert record["people"] == min(fitting)


def test_a_linked_release_tells_its_records_where_it_is_made(tmp_path: Path) -> None:
    rows = [(f"p{at // 2}", at % 4, "xyx"[at % 3]) for at in range(40)]
    policy = sf.Policy([sf.KAnonymity(3)], anonymizer=sf.Mondrian())
    for shown in ("linked", "unlinked"):
        release = sf.anonymize(visits(rows, shown, "all"), policy, seed=1)
        report = sf.audit(release, policy)
        told = report.record_risks()
        assert len(told) == len(rows)
        highest = max(told.to_arrow()["prosecutor"].to_pylist())
        assert highest == pytest.approx(report.linkage.prosecutor.highest)
