"""What was done to each column: level, values left, cells changed, people before and after.

The owner sees it beside the table. The public sees what is published and nothing else: no column
that is not published, no value or level of the table, no cell of few people.

Stands apart: one section a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from sfumato.numbers import percent
from sfumato.release.treatment import NO_ROLE, ColumnTreatment, column_treatments
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.report.report import Report, few, few_of
from sfumato.table import Table

TITLE = "What was done to each column"
CHANGED, MOVED = "cells changed", "people moved"
_NAMED = 20  # columns without a role that are named
_WORDS = (
    "Values are those that people have in the table, and the different labels that are published; "
    "cells changed show something else than the person's own value. People moved: the share who "
    "would have to change their value to make the published distribution of the original one."
)
_SPREAD = (
    "Bars are percent of {}, all on one scale. A cell of several values counts for "
    "each of them alike, a range along its length."
)
_PUBLISHED = "Only what is published is told"


def treatments_of(report: Report) -> tuple[ColumnTreatment, ...]:
    """What was done to the columns of a release; of a table as it stands, nothing was."""
    evidence = report.evidence
    if evidence is None or (report.raw and _table(report) is None):
        return ()
    return column_treatments(evidence.release, _table(report))


def _table(report: Report) -> Table | None:
    """The table before, for its owner."""
    evidence = report.evidence
    if evidence is None or report.audience == "public":
        return None
    placement = evidence.release.placement
    return evidence.table if placement is None else placement.table


def treatments_section(report: Report) -> Section | None:
    """A row and a small picture for each column."""
    treatments = treatments_of(report)
    if not treatments:
        return None
    before = _table(report) is not None
    listed = [
        treatment for treatment in treatments if treatment.role != NO_ROLE or treatment.published
    ]
    columns = ("column", "role", "what was done", "values before", "values left")
    sheet = Sheet(
        (*columns, CHANGED, "of cells", MOVED) if before else (*columns[:3], *columns[4:], CHANGED),
        tuple(_row(treatment, report, before=before) for treatment in listed),
        notes=_left_at_home(treatments, names=True),
        percent=(MOVED,),
    )
    words = [_WORDS if before else f"{_PUBLISHED}{_how_to(report)}.", *_suppressed(report)]
    charts = tuple(
        chart for treatment in listed if (chart := _picture(treatment, report)) is not None
    )
    if charts:
        words.append(_SPREAD.format(_counted(report)))
    return Section(TITLE, "\n\n".join(words), (sheet,), charts)


def _counted(report: Report) -> str:
    """What the bars count: of rows that are published one by one, rows."""
    evidence = report.evidence
    several = evidence is not None and evidence.release.schema.rows == "unlinked"
    return "rows" if several else "people"


def brief_treatments(report: Report) -> Section | None:
    """The same for a terminal of 80 columns: what, values and cells."""
    treatments = treatments_of(report)
    listed = [
        treatment for treatment in treatments if treatment.role != NO_ROLE or treatment.published
    ]
    if not listed:
        return None
    rows = tuple(
        (treatment.column, treatment.how, _values(treatment), _changed_share(treatment))
        for treatment in listed
    )
    notes = _left_at_home(treatments, names=False)
    if _table(report) is None:
        notes = (*notes, f"{_PUBLISHED}{_how_to(report)}.")
    sheet = Sheet(
        ("column", "what was done", "values", "changed"), rows, notes=notes, percent=("changed",)
    )
    return Section(TITLE, tables=(sheet,))


def treatment_facts(report: Report) -> list[dict[str, object]]:
    """For programs."""
    facts = []
    for treatment in treatments_of(report):
        told = asdict(treatment) | {
            "shift": treatment.shift,
            "changed": None if treatment.changed is None else few(report, treatment.changed),
            "cells": None if treatment.cells is None else few(report, treatment.cells),
            "shares": [
                asdict(share) | {"after": _after(share.after, treatment, report)}
                for share in treatment.shares
            ],
        }
        facts.append(told)
    return facts


def _row(one: ColumnTreatment, report: Report, *, before: bool) -> tuple[object, ...]:
    changed = None if one.changed is None else few(report, one.changed)
    head = (one.column, one.role, one.how)
    if not before:
        return (*head, one.values_after, changed)
    return (*head, one.values_before, one.values_after, changed, one.cells, one.shift)


def _values(one: ColumnTreatment) -> str:
    """Values before and after, such as 74 -> 8."""
    if one.values_after is None:
        return "-"
    after = f"{one.values_after:,}"
    return after if one.values_before is None else f"{one.values_before:,} -> {after}"


def _changed_share(one: ColumnTreatment) -> float | str:
    if one.changed is None or not one.published:
        return "-"
    return one.changed / one.cells if one.cells else 0.0


def _how_to(report: Report) -> str:
    owner = report.audience == "private" and not report.noisy
    return "; what was there before takes the table (--table)" if owner else ""


def _suppressed(report: Report) -> Sequence[str]:
    hidden = few(report, report.summary.suppressed)
    if not hidden or report.noisy:
        return ()
    told = "their cells count before and not after" if _table(report) is not None else ""
    return (f"{hidden} people are not published{told and ': '}{told}.",)


def _left_at_home(treatments: Sequence[ColumnTreatment], *, names: bool) -> tuple[str, ...]:
    """Columns without a role, by name or by their number: names may be a row, without a header."""
    home = [
        treatment.column
        for treatment in treatments
        if treatment.role == NO_ROLE and not treatment.published
    ]
    if not home:
        return ()
    many = f"{len(home)} column{'s' * (len(home) != 1)} without a role "
    more = f" and {len(home) - _NAMED} more" if len(home) > _NAMED else ""
    listed = f": {', '.join(home[:_NAMED])}{more}" if names else ""
    return (f"{many}{'are' if len(home) != 1 else 'is'} not published{listed}.",)


def _picture(one: ColumnTreatment, report: Report) -> Chart | None:
    """People by value, before and after, side by side."""
    if not one.shares:
        return None
    labels = [share.label for share in one.shares]
    before = [share.before for share in one.shares]
    after = [_after(share.after, one, report) for share in one.shares]
    known = any(share is not None for share in before)
    series = (Series("before", labels, before),) if known else ()
    moved = "" if one.shift is None else f", {percent(one.shift)} of people moved"
    told = "; ".join(
        f"{label} {_percent(was)} to {_percent(now)}" if known else f"{label} {_percent(now)}"
        for label, was, now in zip(labels, before, after, strict=True)
    )
    return Chart(
        one.column,
        "shares",
        one.column,
        "share of people",
        (*series, Series("after", labels, after)),
        alt=f"{one.how}{moved}. {'Before to after' if known else 'Published'}: {told}.",
        percent="y",
        name=f"column/{one.column}",
    )


def _after(share: float | None, one: ColumnTreatment, report: Report) -> float | str | None:
    return None if share is None else few_of(report, share, one.cells or 0)


def _percent(share: float | str | None) -> str:
    return "-" if share is None else share if isinstance(share, str) else percent(share)


def without_pictures(section: Section | None) -> list[Section]:
    """For a file of words: its table alone."""
    return [] if section is None else [replace(section, words="", charts=())]
