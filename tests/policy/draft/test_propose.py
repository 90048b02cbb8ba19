"""A hierarchy proposed for one column: recognised, balanced, nested, and readable as a taxonomy."""

from __future__ import annotations

import datetime as dt
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.schema.recipes import Intervals, Taxonomy
from tests.program import sfumato


def proposed(values: list[Any], name: str = "column", **options: Any) -> sf.ProposedHierarchy:
    return sf.propose_hierarchy(pa.table({name: values}), name, **options)


@pytest.mark.parametrize(
    ("name", "values", "hierarchy"),
    [
        ("diagnosis", ["I10", "E11", "C50", "I10"], sf.icd10()),
        ("x", ["I10.9", "E11.9", "C50.1"], sf.icd10()),
        ("age", [0, 17, 45, 90, 91], sf.age_groups()),
        ("zip", ["13053", "13068", "14850", "14853"], sf.prefix(4, 3, 2, 1)),
        ("zip", [80331, 80469, 81241, 10115], sf.prefix(4, 3, 2, 1)),
        ("born", [dt.date(2001, 2, 3), dt.date(2003, 1, 1)], sf.dates("month", "quarter", "year")),
        (
            "admitted",
            [dt.datetime(2023, 2, 3, 4, 5), dt.datetime(2023, 8, 3)],
            sf.dates("day", "month", "quarter", "year"),
        ),
        (
            "admitted",
            [dt.date(2023, 2, 3), dt.date(2023, 3, 3)],
            sf.dates("week", "month", "quarter"),
        ),
    ],
)
def test_what_is_known_is_recognised(name: str, values: list[Any], hierarchy: object) -> None:
    assert proposed(values, name).hierarchy == hierarchy


@given(st.lists(st.integers(0, 10_000) | st.just(77), min_size=40, max_size=120))
def test_numbers_are_cut_at_round_bounds_that_are_nobodys_own(values: list[int]) -> None:
    hierarchy = proposed(values, "cost").hierarchy
    if isinstance(hierarchy, Taxonomy):  # hardly two values
        return
    assert isinstance(hierarchy, Intervals)
    for cut in hierarchy.cuts[0]:
        assert values.count(cut) != 1  # type: ignore[arg-type]


def test_parts_are_about_equal() -> None:
    values = np.random.default_rng(1).lognormal(10, 1, 4000).round(2).tolist()
    found = proposed(values, "income", levels=2)
    assert isinstance(found.hierarchy, Intervals)
    assert all(cut % 100 == 0 for cut in found.hierarchy.cuts[0])
    parts = [
        np.bincount(level.codes, weights=found.rows) / 4000 for level in found.levels.levels[1:-1]
    ]
    assert [len(part) for part in parts] == [8, 4]
    assert all(abs(share - 1 / len(part)) < 0.08 for part in parts for share in part)


words = st.text("ab1-; ", min_size=1, max_size=5).map(str.strip).filter(bool)
columns = st.lists(words, min_size=1, max_size=25) | st.lists(st.integers(-9, 99), min_size=1)


@given(columns, st.integers(1, 5))
def test_the_file_is_read_back_as_the_same_tree(values: list[Any], levels: int) -> None:
    found = proposed(values, levels=levels)
    rows = [line.split(";") for line in found.to_csv().splitlines() if '"' not in line]
    assert all(row[-1] == "*" for row in rows)
    if any(";" in str(value) for value in values):
        return
    paths = {value: tuple(labels) for value, *labels in rows}
    again = Taxonomy(paths).bind(found.levels.domain)  # refuses what is not nested
    assert [level.labels for level in again.levels[1:]] == [
        tuple(dict.fromkeys(level.labels[code] for code in level.codes))
        for level in found.levels.levels[1:]
    ][-again.height + 1 :]


def test_a_label_names_nobody_who_is_alone() -> None:
    values = ["baker"] * 9 + ["cook"] * 8 + ["driver"] * 9 + ["farmer"] * 8 + ["smith"] * 7
    paths = proposed([*values, "astronaut", "zookeeper"], "job", levels=1).hierarchy.paths  # type: ignore[attr-defined]
    labels = {label for path in paths.values() for label in path}
    assert len(labels) > 1
    assert not any("astronaut" in label or "zookeeper" in label for label in labels)
    assert "baker .. cook (3 values)" in labels
    unique = proposed([f"name {n:c}" for n in range(97, 117)], "who", levels=1).hierarchy
    assert {path[0] for path in unique.paths.values()} == {f"part {n} of 4" for n in range(1, 5)}  # type: ignore[attr-defined]


def test_from_the_command_line(tmp_path: Path) -> None:
    table = pa.table(
        {
            "edu": ["1", "2", "3", "10", "11", "x, y"] * 20 + ["12"],
            "diagnosis": ["I10.9", "E11.9", "C50.1"] * 40 + ["J45.0"],
        }
    )
    pa_csv.write_csv(table, tmp_path / "data.csv")
    out = tmp_path / "edu.csv"
    run = sfumato("hierarchy", tmp_path / "data.csv", "edu", "--levels", 2, "--out", out)
    assert run.returncode == 0, run.stderr
    assert 'kind = "taxonomy"\nfile = "edu.csv"' in run.stdout
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    listed = out.read_text().splitlines()
    assert [line.split(";")[0] for line in listed] == ["1", "2", "3", "10", "11", "12", "x, y"]
    schema = sf.Schema(
        quasi=["edu"], domains={"edu": "categorical"}, hierarchies={"edu": sf.taxonomy(out)}
    )
    assert sf.generalize(sf.read(tmp_path / "data.csv", schema), {"edu": 1}).people == 121
    refused = sfumato("hierarchy", tmp_path / "data.csv", "edu", "--out", out)
    assert refused.returncode == 2
    piped = sfumato("hierarchy", tmp_path / "data.csv", "diagnosis")
    assert 'kind = "icd10"' in piped.stdout
    assert "level 1: 4 labels, the smallest of fewer than 5 rows" in piped.stdout
    told = json.loads(sfumato("hierarchy", tmp_path / "data.csv", "diagnosis", "--json").stdout)
    assert told["levels"][0] == {"labels": 4, "rows_of_smallest": None}
    for arguments, said in {
        ("edux",): "'edux' (hierarchy) is not in data.csv; did you mean 'edu'",
        ("edu", "--levels", "0"): "levels = 0 is not allowed; use 1 to 10",
        ("diagnosis", "--levels", "2"): "leave levels out",
    }.items():
        run = sfumato("hierarchy", tmp_path / "data.csv", *arguments)
        assert run.returncode == 2
        assert said in run.stderr
        assert len(run.stderr.splitlines()) == 1
