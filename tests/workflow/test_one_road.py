"""A raw table is judged by one road: the command and Python say the same of a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from sfumato.engines import duckdb as duckdb_module
from tests.program import sfumato

REQUIRE = """
[[require]]
kind = "k-anonymity"
k = 3

[[require]]
kind = "distinct-diversity"
l = 2
"""
PLAIN = """
[schema]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]
"""
HIERARCHIES = """
[schema.hierarchies]
age = { kind = "intervals", widths = [10, 20, 40] }
zip = { kind = "mask" }
sex = { kind = "suppression" }
"""


def hospital(people: int = 60, ages: tuple[object, ...] = (23, 25, 31, 36, 44, 58)) -> pa.Table:
    rng = np.random.default_rng(3)

    def some(*values: object) -> list[object]:
        return [values[at] for at in rng.integers(0, len(values), people)]

    return pa.table(
        {
            "age": some(*ages),
            "zip": some("10115", "10117", "20095"),
            "sex": some("F", "M"),
            "disease": some("flu", "HIV", "none"),
            "income": some("low", "high"),
            "who": [f"p{at // 2}" for at in range(people)],
            "weight": some(1, 10, 25),
        }
    )


def told(folder: Path, table: pa.Table, schema: str, *options: str, file: str = "people.csv"):
    """What the command prints of a file, and what Python makes of it."""
    path = folder / file
    if file.endswith(".csv"):
        pa_csv.write_csv(table, path)
    else:
        pa_parquet.write_table(table, path)
    policy = folder / "policy.toml"
    policy.write_text(schema + REQUIRE)
    printed = sfumato("audit", path, "--policy", policy, "--json", *options)
    rules = sf.Policy.load(policy)
    assert rules.schema is not None
    given = dict(zip((one[2:] for one in options[::2]), options[1::2], strict=True))
    report = sf.audit(sf.read(path, rules.schema, **given), rules)
    assert printed.returncode == {"violated": 1, "holds": 0, "could_not_judge": 3}[report.status]
    return json.loads(printed.stdout), json.loads(report.to_json())


KEPT = 'keep = ["income", "who", "weight"]\n'
SCHEMAS = {
    "hierarchies": PLAIN + KEPT + HIERARCHIES,
    "no hierarchies": PLAIN + KEPT,
    "columns without a role": PLAIN + HIERARCHIES,
    "identifiers": PLAIN + 'identifiers = ["who"]\n' + HIERARCHIES,
    "persons": PLAIN + 'person = "who"\nkeep = ["income", "weight"]\n' + HIERARCHIES,
    "weights": PLAIN + 'weight = "weight"\nkeep = ["income", "who"]\n' + HIERARCHIES,
    "several sensitive": PLAIN.replace('["disease"]', '["disease", "income"]') + HIERARCHIES,
    "declared values": PLAIN + KEPT + '\n[schema.domains]\nsex = ["M", "F", "X"]\n',
}


@pytest.mark.parametrize("file", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_of_one_file_command_and_python_say_the_same(tmp_path: Path, name: str, file: str) -> None:
    printed, made = told(tmp_path, hospital(), SCHEMAS[name], file=file)
    assert printed == made
    assert printed["release"]["raw"]


def test_missing_values_are_values_on_both_sides(tmp_path: Path) -> None:
    table = hospital(ages=(23, 31, None))
    printed, made = told(tmp_path, table, SCHEMAS["hierarchies"])
    assert printed == made


def test_a_value_written_in_two_ways_is_told_on_both_sides(tmp_path: Path) -> None:
    table = hospital(ages=("5", "5.0", "31"))
    printed, made = told(tmp_path, table, SCHEMAS["hierarchies"])
    assert printed == made
    assert any("are written in two ways" in note for note in made["notes"])


@pytest.mark.parametrize("odd", ["*", "{F, M}"])
def test_cells_that_show_more_than_a_value_are_read_on_both_sides(tmp_path: Path, odd: str) -> None:
    """As anybody reads them: everybody fits a `*`."""
    table = hospital()
    shown = ["M" if at % 4 else odd for at in range(table.num_rows)]
    table = table.set_column(2, "sex", pa.array(shown))
    printed, made = told(tmp_path, table, PLAIN + KEPT)
    assert not printed["release"]["raw"]
    for document in (printed, made):
        assert any("not published are not in the file" in note for note in document["notes"])
    # What is no plain table is fingerprinted as a release where it was read as one.
    about_files = {"provenance", "first_screen"}
    assert {key: printed[key] for key in printed.keys() - about_files} == {
        key: made[key] for key in made.keys() - about_files
    }


def test_a_table_larger_than_memory_is_judged_the_same(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(duckdb_module, "_OWN_SHARE", 0.0005)
    options = ("--memory", "64MB")
    cells = [(age, code, sex) for age in range(20, 60) for code in ("1", "2", "3") for sex in "FM"]
    rows = [(*cell, ill) for cell in cells for ill in ("flu", "flu", "HIV") for _ in range(5)]
    named = zip(("age", "zip", "sex", "disease"), zip(*rows, strict=True), strict=True)
    table = pa.table({name: list(column) for name, column in named})
    printed, made = told(tmp_path, table, PLAIN + HIERARCHIES, *options)
    assert any("larger than memory" in note for note in made["notes"])
    assert printed == made


def test_advice_climbs_the_hierarchies_of_the_policy(tmp_path: Path) -> None:
    printed, _ = told(tmp_path, hospital(), SCHEMAS["hierarchies"])
    steps = [sheet for part in printed["sections"] for sheet in part.get("tables", ())]
    assert any("[20, 30)" in json.dumps(sheet) for sheet in steps)
