"""Leaves of a taxonomy say in a file's own notation what its cells say, and nothing else."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

import sfumato as sf
from sfumato.counts.leaves import leaves_as_values
from sfumato.engines.base import literal
from sfumato.engines.notations import (
    DateForm,
    check_date_form,
    number_regex,
    number_text,
    plain_number,
)
from sfumato.errors import InputError, SchemaError
from sfumato.schema.domain import Domain

DATES = [
    "31.12.2023", "1.2.2023", "01.02.2023", "30.02.2023", "31.12.23", "12/31/2023", "2023-12-31",
    "31-Dec-2023", "December 31, 2023", "31.12.2023 14:05", "12/31/2023 2:05 PM",
    "31.12.2023 7:05:09", "2023/12/31 14:05:09.25", "", "x", "٣١.12.2023",
]  # fmt: skip
PATTERNS = [
    "%d.%m.%Y", "%-d.%-m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d-%b-%Y", "%B %d, %Y", "%d.%m.%Y %H:%M",
    "%m/%d/%Y %-I:%M %p", "%d.%m.%Y %-H:%M:%S", "%Y/%m/%d %H:%M:%S.%f",
]  # fmt: skip
NUMBERS = [
    "1", "1,5", "1.5", "1,50", "1.234", "1,234", "1.234,56", "1,234.56", "$1,234.56", "1.234,56 €",
    "1 234,56", "1'234.56", "(12.50)", "(12,50)", "−3,5", "-3.5", "03", "1e5", "900,00 EUR",
    "US$ 7", "(1.234,5 €)", "", "N", "1,23,4",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_date_is_read_as_the_engine_reads_it(pattern: str) -> None:
    check_date_form(pattern)
    form = DateForm(pattern, 1930 if "%y" in pattern else None)
    for text in DATES:
        (row,) = duckdb.sql(f"SELECT {form.iso(literal(text))}").fetchall()
        assert form.read(text) == row[0], text


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_number_is_read_as_the_engine_reads_it(decimal: str) -> None:
    for text in NUMBERS:
        cell, shape = literal(text), literal(number_regex(decimal))
        query = f"SELECT regexp_full_match({cell}, {shape}), {plain_number(cell, decimal)}"
        ((fits, plain),) = duckdb.sql(query).fetchall()
        if fits:
            assert number_text(text, decimal) == plain, text


def table_of(
    folder: Path, cells: Sequence[str], paths: dict[str, list[str]], **said: object
) -> sf.Release:
    """The release that shows the first labels of a column with these cells."""
    file = folder / "data.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows([["x", "y"], *([cell, "a"] for cell in cells)])
    schema = sf.Schema(quasi=["x"], sensitive="y", hierarchies={"x": sf.taxonomy(paths)})
    return sf.generalize(sf.read(file, schema, **said), {"x": 1})  # type: ignore[arg-type]


def shown(release: sf.Release) -> dict[str, int]:
    counted: dict[str, int] = {}
    for label in release.to_pandas()["x"]:
        counted[label] = counted.get(label, 0) + 1
    return counted


GERMAN = ["31.12.2023", "01.02.2023", "13.05.2022"]
AMOUNTS = ["1.234,50 EUR", "900,00 EUR", "1.000,00 EUR"]


@pytest.mark.parametrize(
    ("cells", "leaves", "said"),
    [
        (GERMAN, GERMAN, {}),
        (GERMAN, ["2023-12-31", "2023-02-01", "2022-05-13"], {}),
        (["03/04/2023", "12/11/2023"], ["03/04/2023", "12/11/2023"], {}),  # texts: nobody knows
        (["03/04/2023", "12/11/2023"], ["03/04/2023", "12/11/2023"], {"dates": "DMY"}),
        (["31.12.23", "01.01.30"], ["31.12.23", "01.01.30"], {"first_year": 1925}),
        (["1,5", "1,50", "2", "3,25"], ["1,5", "1,50", "2", "3,25"], {}),
        (["1,5", "1,50", "2", "3,25"], ["1.5", "2", "3.25"], {}),
        (["1,5", "1.000", "950"], ["1,5", "1.000", "950"], {"decimal": ","}),
        (["1.5", "1.50", "2"], ["1.5", "1.50", "2"], {}),
        (AMOUNTS, AMOUNTS, {}),
        (AMOUNTS, ["1234.5", "900", "1000"], {}),
        (["01", "1", "10"], ["01", "1", "10"], {}),  # codes
    ],
)
def test_leaves_are_written_as_the_file_writes_them_or_plainly(
    cells: list[str], leaves: list[str], said: dict[str, object], tmp_path: Path
) -> None:
    high = {leaves[-1]: ["high"]}
    release = table_of(tmp_path, cells, {**{leaf: ["low"] for leaf in leaves}, **high}, **said)
    assert shown(release) == {"low": len(cells) - 1, "high": 1}


def test_a_register_written_plainly_takes_the_same_leaves(tmp_path: Path) -> None:
    for cells, leaves in [
        (["2023-12-31", "2023-02-01", "2022-05-13"], GERMAN),
        (["1.5", "2", "1234.5"], ["1,5", "2", "1.234,50"]),
    ]:
        release = table_of(tmp_path, cells, {leaf: ["low"] for leaf in leaves})
        assert shown(release) == {"low": 3}


def test_codes_and_marks_are_no_leaves(tmp_path: Path) -> None:
    cells = ["1,5", "N", "-9", "?", "2,5"]
    paths = {"1,5": ["low"], "2,5": ["high"], "N": ["N"], "-9": ["asked"], "?": ["unknown"]}
    said = {"codes": {"x": ["N", "-9"]}, "missing": ["?"]}
    release = table_of(tmp_path, cells, paths, **said)
    assert {text for text in shown(release) if isinstance(text, str)} == {"low", "high", "N", "-9"}


@pytest.mark.parametrize(
    ("cells", "leaves", "reason"),
    [
        (GERMAN, ["31.12.2023", "2023-02-01", "13.05.2022"], "1 of its 3 values are not written"),
        (["1,5", "2,5"], ["1,5", "2.5"], "1 of its 2 values are not written as the others ('2.5')"),
        (GERMAN, GERMAN[:2], "not covered by its hierarchy: '2022-05-13'"),
    ],
)
def test_a_mix_and_a_gap_are_refused(
    cells: list[str], leaves: list[str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises((SchemaError, InputError)) as refused:
        table_of(tmp_path, cells, {leaf: ["some"] for leaf in leaves})
    assert reason in str(refused.value)


def test_two_texts_of_a_value_have_the_same_labels(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"value '1.5' stands there twice, as '1,50' too"):
        table_of(tmp_path, ["1,5", "1,50"], {"1,5": ["low"], "1,50": ["high"]})


@pytest.mark.parametrize(
    ("cells", "leaves"),
    [
        (["1,5", "2,5", "1.234,50"], ["1,5", "2,5", "1.234,50"]),
        (["1,5", "2,5", "1.234,50"], ["1.5", "2.5", "1234.5", "unknown"]),
        (GERMAN, GERMAN),
    ],
)
def test_values_are_as_far_apart_as_their_taxonomy_says_however_it_writes_them(
    cells: list[str], leaves: list[str], tmp_path: Path
) -> None:
    recipe = sf.taxonomy({leaf: ["low" if leaf != leaves[2] else "high"] for leaf in leaves})
    file = tmp_path / "data.csv"
    rows = [("q", "y"), ("a", cells[0]), ("a", cells[1]), ("b", cells[1]), ("b", cells[2])]
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows(rows)
    schema = sf.Schema(quasi=["q"], sensitive="y", hierarchies={"y": recipe})
    release = sf.generalize(sf.read(file, schema), {"q": 0})
    # Of each group a quarter is moved, from a low value to the high one.
    measured = sf.TCloseness(0.3, distance=recipe).measure(release.groups_for("y"))
    assert measured.per_group.tolist() == [0.25, 0.25]


def test_a_distance_that_could_be_two_is_refused() -> None:
    leaves = ["03/04/2023", "04/03/2023"]
    domain = Domain("y", "date", (dt.date(2023, 3, 4), dt.date(2023, 4, 3)))
    paths = {leaves[0]: ["low"], leaves[1]: ["high"]}
    with pytest.raises(SchemaError, match="'y': its values can be read in 2 ways; write them"):
        leaves_as_values(sf.taxonomy(paths), domain)
    alike = leaves_as_values(sf.taxonomy({leaf: ["low"] for leaf in leaves}), domain)
    assert alike.paths == {"2023-03-04": ("low",), "2023-04-03": ("low",)}
