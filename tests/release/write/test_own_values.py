"""No bound, centroid or label in public/ is the value of exactly one person, unless it must be."""

from __future__ import annotations

import csv
import datetime as dt
import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.anonymizers.base import Anonymizer, Task
from sfumato.release.release import Release
from sfumato.release.write.cells import own_values

TOKEN = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?|-?\d+(?:\.\d+)?(?:e-?\d+)?")
DAY, SECOND = dt.timedelta(days=1), dt.timedelta(seconds=1)
STEP: dict[str, Any] = {"age": 1, "cost": 0.01, "born": DAY, "seen": SECOND}
ANONYMIZERS: dict[str, Anonymizer] = {
    **{
        f"{regions}, {'strict' if strict else 'relaxed'}": sf.Mondrian(
            regions=regions, strict=strict
        )
        for regions in ("cell", "tight", "hierarchy")
        for strict in (True, False)
    },
    "by gain": sf.Mondrian(order="gain", target="ill"),
    "microaggregation": sf.Microaggregation(3),
    "lattice": sf.Lattice(),
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "plain": {},
    "hierarchies": {
        "hierarchies": {
            "age": sf.intervals([5, 20]),
            "cost": sf.intervals([50, 100]),
            "weight": sf.intervals(cuts=[0.2, 0.6]),
            "born": sf.dates("month", "year"),
            "seen": sf.dates("month"),
        }
    },
    "units": {"units": {"age": 2, "cost": 0.5, "weight": 0.1, "born": "month", "seen": "hour"}},
}


def people(seed: int) -> dict[str, list[Any]]:
    """Whole and decimal numbers, floats, dates and timestamps, near and far, some missing."""
    chance = Random(seed)
    total = chance.randint(12, 40)
    start = dt.datetime(2023, 1, 1)

    def some(make: Any) -> list[Any]:
        lean = chance.choice([0.0, 0.1])
        return [None if chance.random() < lean else make() for _ in range(total)]

    return {
        "age": some(lambda: chance.choice([chance.randint(20, 50), 30, 117])),
        "cost": some(lambda: round(chance.choice([chance.uniform(40, 41), 99.9]), 2)),
        "weight": some(lambda: chance.random()),
        "born": some(lambda: start.date() + chance.randint(0, 400) * DAY),
        "seen": some(lambda: start + chance.randint(0, 10**7) * SECOND),
        "ill": [chance.choice(["flu", "cold"]) for _ in range(total)],
    }


def lone_texts(values: list[Any]) -> dict[str, Any]:
    """The values that exactly one person has, as a published text shows them."""
    having = Counter(value for value in values if value is not None)
    return {
        (str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)): value
        for value, n in having.items()
        if n == 1
    }


def shown_own(release: Release, rows: dict[str, list[Any]]) -> dict[str, set[Any]]:
    """By column: the values of one person that the published cells show."""
    found = {}
    data = release.tables()["data"]
    for name in release.schema.quasi:
        lone = lone_texts(rows[name])
        cells = {str(cell) for cell in data.column(name).to_pylist() if cell is not None}
        tokens = {token for cell in cells for token in TOKEN.findall(cell)}
        tokens |= {token.removesuffix(".0") for token in tokens}
        tokens |= {token.removesuffix(" 00:00:00") for token in tokens}
        found[name] = {lone[token] for token in tokens if token in lone}
    return found


def is_forced(name: str, value: Any, rows: dict[str, list[Any]], kind: str) -> bool:
    """Whether a bound had to be this: the value below is next to it, or the schema says so."""
    if kind == "hierarchies":
        begins = {"age": lambda: value % 5 == 0, "born": lambda: value.day == 1}
        return name in begins and begins[name]()
    if kind == "units" and name != "age":
        return name == "born" and value.day == 1
    if name not in STEP:
        return False
    step = 2 if kind == "units" else STEP[name]
    others = {other for other in rows[name] if other is not None and other < value}
    if isinstance(value, float):
        return any(round(value - other, 9) <= step for other in others)
    return any(value - other <= step for other in others)


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("name", ANONYMIZERS)
def test_no_bound_is_the_value_of_one_person_unless_it_must_be(name: str, kind: str) -> None:
    for seed in range(5):
        rows = people(seed)
        quasi = [column for column in rows if column != "ill"]
        schema = sf.Schema(quasi=quasi, sensitive="ill", **SCHEMAS[kind])
        table = sf.read(pa.table(rows), schema)
        release = ANONYMIZERS[name].run(Task(table, (sf.KAnonymity(2),), suppression=0.5))
        counted = own_values(release)
        for column, own in shown_own(release, rows).items():
            # Labels of a hierarchy stand for ranges whose ends are not written out.
            assert len(own) == counted[column].total or counted[column].declared
            for value in own:
                assert is_forced(column, value, rows, kind), (seed, column, value)


def saved(tmp_path: Path, table: sf.Table, policy: sf.Policy) -> tuple[list[dict[str, str]], Any]:
    release = sf.anonymize(table, policy)
    release.save(tmp_path, force=True)
    manifest = json.loads((tmp_path / "public" / "manifest.json").read_text())
    with (tmp_path / "public" / "data.csv").open() as file:
        return list(csv.DictReader(file)), {one["name"]: one for one in manifest["columns"]}


def test_the_manifest_counts_the_ends_that_are_one_person_s(tmp_path: Path) -> None:
    policy = sf.Policy(require=[sf.KAnonymity(2)], anonymizer=sf.Mondrian())
    schema = sf.Schema(quasi=["age"])
    # Neighbouring whole numbers, one person each: every bound is somebody's.
    rows, columns = saved(tmp_path, sf.read(pa.table({"age": [*range(1, 9)]}), schema), policy)
    assert {row["age"] for row in rows} == {"<3", "[3, 5)", "[5, 7)", ">=7"}
    assert columns["age"]["ends_of_one_person"] == 3
    # Where there is room, or a value that several have, none is.
    ages = [1, 2, 2, 4, 5, 5, 8, 9, 9]
    rows, columns = saved(tmp_path, sf.read(pa.table({"age": ages}), schema), policy)
    assert {row["age"] for row in rows} == {"<5", "5", ">=6"}  # two are 5
    assert columns["age"]["ends_of_one_person"] == 0
    # An end of the declared hierarchy tells nothing about who is there, and is counted too.
    declared = sf.Schema(quasi=["age"], hierarchies={"age": sf.intervals([5, 10])})
    ages = [1, 3, 4, 5, 7, 8]
    rows, columns = saved(tmp_path, sf.read(pa.table({"age": ages}), declared), policy)
    assert {row["age"] for row in rows} == {"<5", ">=5"}
    assert columns["age"]["ends_of_one_person"] == columns["age"]["of_these_declared"] == 1


def test_bounds_keep_to_the_months_that_are_declared(tmp_path: Path) -> None:
    chance = Random(3)
    start = dt.datetime(2022, 1, 1)
    admitted = [start + chance.randint(0, 6 * 10**7) * SECOND for _ in range(300)]
    schema = sf.Schema(quasi=["admitted"], hierarchies={"admitted": sf.dates("month", "year")})
    for regions in ("cell", "tight"):
        policy = sf.Policy(require=[sf.KAnonymity(5)], anonymizer=sf.Mondrian(regions=regions))
        rows, columns = saved(tmp_path, sf.read(pa.table({"admitted": admitted}), schema), policy)
        tokens = {token for row in rows for token in TOKEN.findall(row["admitted"])}
        assert len(tokens) > 10
        assert all(re.fullmatch(r"\d{4}-\d\d-01", token) for token in tokens)
        assert columns["admitted"]["ends_of_one_person"] == 0


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Microaggregation(k=5)])
def test_times_in_a_text_file_are_widened_like_typed_ones(tmp_path: Path, anonymizer: Any) -> None:
    """As mere texts they would be listed, or stand for their group, to the second."""
    chance = Random(4)
    start = dt.datetime(2022, 1, 1)
    admitted = sorted({start + chance.randint(0, 6 * 10**7) * SECOND for _ in range(300)})
    (tmp_path / "in.csv").write_text("admitted\n" + "\n".join(map(str, admitted)) + "\n")
    table = sf.read(tmp_path / "in.csv", sf.Schema(quasi=["admitted"]))
    policy = sf.Policy(require=[sf.KAnonymity(5)], anonymizer=anonymizer)
    rows, columns = saved(tmp_path / "out", table, policy)
    tokens = {token for row in rows for token in TOKEN.findall(row["admitted"])}
    assert len(tokens) > 10
    assert not tokens & {str(moment) for moment in admitted}
    assert columns["admitted"]["ends_of_one_person"] == 0


@pytest.mark.parametrize("odd", [10.5, 30.0])
def test_the_type_of_a_column_does_not_tell_of_suppressed_people(tmp_path: Path, odd: Any) -> None:
    """The one who is suppressed has the only fraction, the only time of day, the only word."""
    start = dt.datetime(2020, 1, 1)
    rows = {
        "zip": ["a"] * 4 + ["b"] * 4 + ["c"],
        "size": [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, odd],
        "seen": [start] * 8 + [start + 3 * SECOND if odd == 10.5 else start],
        "pay": [10.0, 20.0, 30.0, 40.0, 10.0, 20.0, 30.0, 40.0, odd],
    }
    schema = sf.Schema(quasi=["zip", "size", "seen"], sensitive="pay")
    release = sf.generalize(
        sf.read(pa.table(rows), schema), {"zip": 0}, require=[sf.KAnonymity(2)], suppression=0.2
    )
    assert release.suppressed == 1
    release.save(tmp_path / "out", format="parquet")
    manifest = json.loads((tmp_path / "out" / "public" / "manifest.json").read_text())
    types = {column["name"]: column["type"] for column in manifest["columns"]}
    assert types == {"zip": "string", "size": "int64", "seen": "date32[day]", "pay": "int64"}
