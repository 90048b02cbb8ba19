"""The leakage paper's examples and experiments run, and say what print gets wrong."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from sfumato.papers import RunSettings, reproduce
from sfumato.papers.leakage import run, worked

WRONG = {
    "Examples 1 and 3, L_D, class 3": math.sqrt(32) / 12,
    "Example 3, EMD": 1 / 6,
    "Example 3, t of the release": 1 / 3,
    "Example 4, EMD of {7, 7, 7} and {3, 4, 5}": 5 / 18,
    "Example 4, L_D of {3, 4, 5} and {7, 7, 7}": math.sqrt(2 / 9),
    "Example 4, L_E of {3, 4, 5}": math.log2(3),
}


def test_what_is_printed_wrong_is_told_with_the_right_value() -> None:
    rows = [row for row in worked() if row.item.startswith("Example")]
    assert {row.item for row in rows if row.outcome == "differs"} == set(WRONG)
    for row in rows:
        if row.item in WRONG:
            assert float(row.measured.split(", ")[0]) == pytest.approx(WRONG[row.item], abs=5e-4)
        else:
            assert row.outcome == "agrees"


def test_on_the_census_where_there_is_no_data() -> None:
    found = reproduce("leakage", None, quick=True)
    assert "synthetic people stand in for Adult" in found.about
    assert len(found.sections) == 6
    assert "12 not run" in found.sections[0].words
    assert not any(section.private for section in found.sections)


def test_on_adult_the_classes_are_those_of_print(data_folder: Path) -> None:
    found = run(data_folder, RunSettings(quick=True))
    assert "30,162" in found.stands_in
    rows = {row.item: row for row in found.evidence if row.data == "Adult"}
    for item in (
        "classes of (1, 2)",
        "classes of (2, 3)",
        "classes of (2, 4)",
        "classes of (3, 4)",
    ):
        assert rows[f"Fig. 4, {item}"].outcome == "agrees"
    assert rows["Fig. 2, the class that leaks most"].measured.startswith("[75, 100), Gov")
    assert rows["0.1-close, values ruled out"].measured == "Armed-Forces in [50, 100), *"
    assert rows["0.1-close, L_D of the classes"].measured == "0.01338, 0.051"  # by hand: below
    *_, pairs = found.sections
    raw = {row[0]: row[1:] for row in pairs.tables[0].rows}
    assert raw["age, workclass (1, 2) as it stands"][:2] == (406, 1)


def test_leakage_of_two_ages_by_hand(data_folder: Path) -> None:
    rows = pa_csv.read_csv(
        data_folder / "adult" / "adult.csv", parse_options=pa_csv.ParseOptions(delimiter=";")
    )
    people = list(zip(rows["age"].to_pylist(), rows["occupation"].to_pylist(), strict=True))
    whole = Counter(job for _, job in people)
    for old, expected in ((False, 0.01338), (True, 0.051)):
        jobs = Counter(job for age, job in people if (age >= 50) == old)
        leaks = math.dist(
            [whole[job] / whole.total() for job in whole],
            [jobs[job] / jobs.total() for job in whole],
        )
        assert leaks == pytest.approx(expected, abs=5e-6)
