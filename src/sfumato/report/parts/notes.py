"""What the reader must know besides."""

from __future__ import annotations

from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.public import floor_of

_WORDS = (
    "Holds: shown on this release. Violated: shown not to hold. Not applicable, not converged and "
    "cannot judge are never safe; not measured says nothing either way. inf: no finite bound "
    "holds. n/a: does not apply."
)


def section(report: Report) -> Section:
    """Notes of the release, and how statuses are to be read."""
    told = [f"{note[:1].upper()}{note[1:]}." for note in report.notes]
    if report.audience == "public":
        told.append(
            f"Counts from 1 to {floor_of(report) - 1} are told as <{floor_of(report)}; figures "
            "are measured on what is published."
        )
    return Section("Notes", "\n\n".join([*told, _WORDS]))
