"""The leakage paper's examples and experiments run, and say what print gets wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sfumato.papers import reproduce
from sfumato.papers.leakage import examples

WRONG = {
    ("1 and 3", "class 3", "L_D"): math.sqrt(32) / 12,
    ("3", "class 1", "EMD"): 1 / 6,
    ("3", "class 2", "EMD"): 1 / 6,
    ("3", "class 3", "EMD"): 1 / 3,
    ("4", "{7, 7, 7}", "EMD, ordered"): 5 / 18,
    ("4", "{3, 4, 5}", "EMD, ordered"): 3 / 8,
    ("4", "{3, 4, 5}", "L_D"): math.sqrt(2 / 9),
    ("4", "{7, 7, 7}", "L_D"): math.sqrt(8 / 9),
    ("4", "{3, 4, 5}", "L_E"): math.log2(3),
}


def test_what_is_printed_wrong_is_told_with_the_right_value() -> None:
    (sheet,) = examples().tables
    told = {row[:3]: row[3:] for row in sheet.rows}
    assert {key for key, (_, _, agrees) in told.items() if agrees is False} == set(WRONG)
    for key, right in WRONG.items():
        assert told[key][1] == pytest.approx(right, abs=1e-12)
    assert told["2", "class 1", "L_E"][1] == pytest.approx(0.45120505930460153, abs=1e-12)


def titles(data: Path | None) -> list[str]:
    return [section.title for section in reproduce("leakage", data, quick=True).sections]


def test_on_the_census_where_there_is_no_data() -> None:
    found = reproduce("leakage", None, quick=True)
    assert "synthetic people stand in for Adult" in found.about
    assert len(found.sections) == 6
    assert not any(section.private for section in found.sections)


def test_on_adult(data_folder: Path) -> None:
    found = reproduce("leakage", data_folder, quick=True)
    assert "30,162 people" in found.about
    *_, pairs = found.sections
    (sheet,) = pairs.tables
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert rows["age, workclass (1, 2) as it stands"][:2] == (406, 1)
    classes, k, largest, mean, *_ = rows["age, workclass (1, 2) released"]
    assert k >= 6
    assert classes > 1
    assert 0 < mean <= largest < rows["age, workclass (1, 2) as it stands"][2]
    strict = found.sections[4]
    assert "0.1-close, 13-diverse" in strict.title
    assert strict.tables[0].rows[0][3] <= 0.1 * math.sqrt(2)
