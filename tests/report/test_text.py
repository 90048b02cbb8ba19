"""Reports on a terminal: readable at 80 columns, whatever the notes."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.datasets.census import census, census_schema


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return sf.read(census(400), census_schema())


def criteria_of(text: str) -> list[str]:
    lines = text.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("Criteria")))
    end = lines.index(next(line for line in lines if line.startswith("Worst group")))
    return lines[start:end]


def test_a_sentence_stands_under_the_table_in_few_lines(table: sf.Table) -> None:
    her = sf.EpsilonPrivacy(2.5, sf.RealisticAdversary("table", 1e6))
    report = sf.audit(table, [sf.KAnonymity(5), her])
    lines = criteria_of(report.brief().text(80))
    assert max(map(len, lines)) <= 80
    (size, epsilon) = report.verdicts
    first = next(place for place, line in enumerate(lines) if line.startswith("(1)"))
    notes = " ".join(" ".join(lines[first:]).split())
    assert notes == f"(1) {size.note} (2) {epsilon.note}"
    assert "outside records" in notes
    assert len([line for line in lines[first:] if line.strip()]) <= 5
    table_lines = " ".join(lines[:first])
    assert "violated (1)" in table_lines
    assert "violated (2)" in table_lines


def test_short_notes_stay_beside_their_criterion(table: sf.Table) -> None:
    report = sf.audit(table, [sf.KAnonymity(5), sf.DistinctDiversity(2)])
    lines = criteria_of(report.brief().text(120))
    row = next(line for line in lines if "k-anonymity" in line)
    assert report.verdicts[0].note in row
    assert not any(line.startswith("(1)") for line in lines)
