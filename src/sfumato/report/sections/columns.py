"""What was done to each column: level, values left, cells changed, people before and after.

The owner sees it beside the table. The public sees what is published and nothing else: no column
that is not published, no value or level of the table, no cell of few people.
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
        fact = asdict(treatment) | {
            "shift": treatment.shift,
            "changed": None if treatment.changed is None else few(report, treatment.changed),
            "cells": None if treatment.cells is None else few(report, treatment.cells),
            "shares": [
                asdict(share) | {"after": _after(share.after, treatment, report)}
                for share in treatment.shares
            ],
        }
        facts.append(fact)
    return facts


def _row(treatment: ColumnTreatment, report: Report, *, before: bool) -> tuple[object, ...]:
    changed = None if treatment.changed is None else few(report, treatment.changed)
    head = (treatment.column, treatment.role, treatment.how)
    if not before:
        return (*head, treatment.values_after, changed)
    return (
        *head,
        treatment.values_before,
        treatment.values_after,
        changed,
        treatment.cells,
        treatment.shift,
    )


def _values(treatment: ColumnTreatment) -> str:
    """Values before and after, such as 74 -> 8."""
    if treatment.values_after is None:
        return "-"
    after = f"{treatment.values_after:,}"
    return after if treatment.values_before is None else f"{treatment.values_before:,} -> {after}"


def _changed_share(treatment: ColumnTreatment) -> float | str:
    if treatment.changed is None or not treatment.published:
        return "-"
    return treatment.changed / treatment.cells if treatment.cells else 0.0


def _how_to(report: Report) -> str:
    owner = report.audience == "private" and not report.noisy
    return "; what was there before takes the table (--table)" if owner else ""


def _suppressed(report: Report) -> Sequence[str]:
    hidden = few(report, report.summary.suppressed)
    if not hidden or report.noisy:
        return ()
    explanation = "their cells count before and not after" if _table(report) is not None else ""
    return (f"{hidden} people are not published{explanation and ': '}{explanation}.",)


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


def _picture(treatment: ColumnTreatment, report: Report) -> Chart | None:
    """People by value, before and after, side by side."""
    if not treatment.shares:
        return None
    labels = [share.label for share in treatment.shares]
    before = [share.before for share in treatment.shares]
    after = [_after(share.after, treatment, report) for share in treatment.shares]
    known = any(share is not None for share in before)
    series = (Series("before", labels, before),) if known else ()
    moved = "" if treatment.shift is None else f", {percent(treatment.shift)} of people moved"
    listed = "; ".join(
        f"{label} {_percent(was)} to {_percent(now)}" if known else f"{label} {_percent(now)}"
        for label, was, now in zip(labels, before, after, strict=True)
    )
    return Chart(
        treatment.column,
        "shares",
        treatment.column,
        "share of people",
        (*series, Series("after", labels, after)),
        alt=f"{treatment.how}{moved}. {'Before to after' if known else 'Published'}: {listed}.",
        percent="y",
        name=f"column/{treatment.column}",
    )


def _after(share: float | None, treatment: ColumnTreatment, report: Report) -> float | str | None:
    return None if share is None else few_of(report, share, treatment.cells or 0)


def _percent(share: float | str | None) -> str:
    return "-" if share is None else share if isinstance(share, str) else percent(share)


def without_pictures(section: Section | None) -> list[Section]:
    """For a file of words: its table alone."""
    return [] if section is None else [replace(section, words="", charts=())]
