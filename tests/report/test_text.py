"""Reports on a terminal: readable at 80 columns, whatever the notes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

import sfumato as sf
from sfumato.adversaries.base import BeliefChange
from sfumato.datasets.census import census, census_schema
from sfumato.release.beside import Headcount
from sfumato.report.document import Document, Gist, Sheet
from sfumato.report.report import Report
from sfumato.report.sections.decision import decide
from sfumato.report.text import LINES, show_gist


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


# -- what a terminal shows unless all is asked for -------------------------------------------------


def gist_of(document: Document, width: int = 80) -> str:
    out = io.StringIO()
    show_gist(document, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_every_report_fits_a_screen_and_ends_with_the_answer(report: Report) -> None:
    lines = gist_of(report.short()).splitlines()
    assert len(lines) <= LINES < 30
    assert max(map(len, lines)) <= 80
    words = " ".join(" ".join(lines).split())
    answer = {"holds": "The policy holds", "violated": "The policy is violated"}
    told = words.rindex(answer.get(report.status, "The policy could not be judged"))
    assert told < words.rindex("Promised") < words.rindex(f" {lines[-1].split()[-1]}")
    decision = decide(report)
    assert (decision.promised == ()) is ("Promised nothing" in words)
    for verdict in report.verdicts:
        if verdict.holds:
            assert any(verdict.criterion in promise for promise in decision.promised)


def test_an_adversary_is_one_row_by_her_question_the_worst_first() -> None:
    rows = census(120, seed=1)
    schema = sf.Schema(quasi=["age", "sex"], sensitive=["disease", "income", "work"])
    report = sf.audit(sf.read(rows, schema), [sf.KAnonymity(2)])
    sheet = report.short().gist.table  # type: ignore[union-attr]
    assert sheet is not None
    assert sheet.columns[0] == "worst first"
    names = [row[1] for row in sheet.rows]
    assert len(set(names)) == len(names)
    about = {row[1]: row[4] for row in sheet.rows}
    assert str(about["random worlds"]).endswith(" and 2 more")
    assert about["prosecutor"] == "whose row"
    assert dict(zip(names, (row[0] for row in sheet.rows), strict=True))["prosecutor"] == (
        "Could a colleague find her row?"
    )
    text = gist_of(report.short())
    for question in (row[0] for row in sheet.rows[:2]):
        assert all(word in text for word in str(question).split())


@pytest.mark.parametrize("sensitive", [["disease"], ["disease", "income"]])
def test_how_many_people_stands_beside_a_bound_too(sensitive: list[str]) -> None:
    """A bound is told by a sign, for its words would push the people out of 80 columns."""
    schema = sf.Schema(quasi=["age", "sex"], sensitive=sensitive)
    report = sf.audit(sf.read(census(120, seed=1), schema), [sf.KAnonymity(2)])
    bound = BeliefChange(0.0874, 1.0, "Asthma", at_most=True)
    threats = tuple(
        replace(threat, belief=bound, surest=bound, people=Headcount(1_234_567, at_most=True))
        for threat in report.threats
    )
    lines = gist_of(replace(report, threats=threats).short()).splitlines()
    assert max(map(len, lines)) <= 80
    heading = next(line for line in lines if line.startswith("worst first"))
    assert heading.rstrip().endswith("people")
    (row,) = (line for line in lines if line.startswith("Could a colleague find her row?"))
    assert row.split()[-4:] == ["8.7%", "→", "≤100%", "≤1,234,567"]


@pytest.mark.parametrize("adversaries", [5, 6, 7, 12])
def test_the_worst_five_are_shown_where_more_could_be_told(adversaries: int) -> None:
    """Three commands are read in a minute; a line more is no longer than to say that there is."""
    rows = tuple((f"row {at}", at) for at in range(adversaries))
    gist = Gist({"Next": "go"}, Sheet(("row", "number"), rows), most=5)
    lines = gist_of(Document("d", "title", "about", (), gist=gist)).splitlines()
    shown = [line for line in lines if line.startswith("row ")]
    assert len(shown) - 1 == (adversaries if adversaries <= 6 else 5)  # beside the heading
    assert (f"and {adversaries - 5} more; --verbose shows all" in lines) is (adversaries > 6)


def test_what_is_too_much_gives_way_whole() -> None:
    """Columns from the last one, rows from the last one, words from the end; keys never."""
    rows = tuple((f"a row {at} of many words", "x" * 30, at) for at in range(60))
    sheet = Sheet(("which", "unbroken", "number"), rows, keys=1)
    long = " ".join(f"lorem{at}" for at in range(400))
    document = Document(
        "d", "title", "about", (), gist=Gist({"Told": long, "Page": "z" * 90}, sheet)
    )
    lines = gist_of(document, 40).splitlines()
    assert len(lines) <= LINES
    assert not any("x" in line for line in lines)
    assert [line for line in lines if line.startswith("a row 0 of many words")]
    (more,) = [line for line in lines if line.startswith("and ")]
    shown = len([line for line in lines if line.startswith("a row")])
    assert more == f"and {60 - shown} more; --verbose shows all"
    assert [line for line in lines if line.endswith(" ...")]
    assert lines[-1] == f"Page  {'z' * 90}"
    told = " ".join(lines).split()
    assert all(word in long.split() for word in told if word.startswith("lorem"))


def test_closing_lines_take_the_room_there_is_and_leave_some_rows() -> None:
    long = " ".join(f"lorem{at}" for at in range(400))
    rows = tuple((f"row {at}", at) for at in range(60))
    alone = Document("d", "", "", (), gist=Gist({"Told": long, "Next": "go"}))
    lines = gist_of(alone).splitlines()
    assert len(lines) == 5  # four and one: no more, whatever room there is
    crowded = Gist({f"Told{at}": long for at in range(8)}, Sheet(("row", "number"), rows))
    lines = gist_of(Document("d", "title", "about", (), gist=crowded)).splitlines()
    assert len(lines) <= LINES
    assert len([line for line in lines if line.startswith("row ")]) >= 4
    assert len([line for line in lines if line.startswith("Told")]) == 8
