"""Records at risk: one section of what is known of those who are easiest to find."""

from __future__ import annotations

import pyarrow as pa

import sfumato as sf
from sfumato.report.document import Section

SCHEMA = sf.Schema(quasi=["age", "zip"], sensitive="s", household="home")
ROWS = pa.table(
    {
        "age": [30, 30, 31, 31, 40],
        "zip": [1, 1, 2, 2, 2],
        "s": ["flu", "flu", "HIV", "flu", "TB"],
        "home": ["a", "b", "a", "c", "d"],
    }
)


def section(report: sf.Report) -> Section:
    return next(one for one in report.sections if one.title == "Records at risk")


def test_special_uniques_households_population_and_presence_stand_together() -> None:
    table = sf.read(ROWS, SCHEMA)
    register = sf.read(pa.concat_tables([ROWS, ROWS]), sf.Schema(quasi=["age", "zip"]))
    report = sf.audit(table, [sf.KAnonymity(2)], population=register, sampling_fraction=0.5)
    (sheet,) = section(report).tables
    told = {str(row[0]): row[1] for row in sheet.rows}
    assert told["alone by all quasi-identifiers"] == 1
    assert told["alone by 2 columns or fewer"] == 1
    assert told["of a household found with a chance above 20%"] == 5
    assert told["found by a journalist with a chance above 20%"] == 5
    assert any(name.startswith("alone in the population, estimated") for name in told)
    notes = " ".join(sheet.notes)
    assert "whether the target is in it: from 0.5 to 0.5" in notes
    assert "age 100%" in notes


def test_the_public_is_told_of_few_people_only_that_they_are_few() -> None:
    report = sf.audit(sf.read(ROWS, SCHEMA), [sf.KAnonymity(2)]).public()
    (sheet,) = section(report).tables
    assert {row[0]: row[1] for row in sheet.rows} == {
        "alone by all quasi-identifiers": "<10",
        "alone by 2 columns or fewer": "<10",
    }
    assert not any("share of the SUDA scores" in note for note in sheet.notes)


def test_special_uniques_that_were_looked_for_have_a_section() -> None:
    table = sf.read(ROWS, SCHEMA)
    report = sf.audit(table, [sf.KAnonymity(2)], attacks=[sf.special_uniques(table, 1)])
    assert any(one.title == "Special uniques" for one in report.sections)
    assert any(threat.adversary == "prosecutor, by few columns" for threat in report.threats)
