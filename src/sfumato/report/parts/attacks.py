"""Attacks that were run beside the audit: learner and attacker, other releases. Private.

They take long, or need more than the release, so whoever has run one hands its result to the audit.
Each kind of result is told by its own exhibit; the table below says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sfumato.report.exhibit import Exhibit, Section
from sfumato.report.model import Report


def _relative(result: Any) -> Exhibit:
    from sfumato.report.relative import relative_exhibit

    return relative_exhibit(result, "the release")


def _intersection(result: Any) -> Exhibit:
    from sfumato.report.intersection import attack_exhibit

    return attack_exhibit(result)


# By the name of a result's type: its modules are heavy, and loaded by whoever ran it.
EXHIBITS: dict[str, tuple[str, Callable[[Any], Exhibit]]] = {
    "RelativeThreat": ("Learner against attacker", _relative),
    "IntersectionAttack": ("Other releases about the same people", _intersection),
}


def sections(report: Report) -> Iterator[Section]:
    """One section for each result: its words, tables and charts."""
    if report.evidence is None or report.audience == "public":
        return
    for result in report.evidence.attacks:
        title, tell = EXHIBITS[type(result).__name__]
        exhibit = tell(result)
        parts = [one for one in exhibit.sections if not one.private]
        words = [exhibit.about, *(one.words for one in parts if one.words)]
        yield Section(
            title,
            "\n\n".join(words),
            tuple(
                replace(sheet, title=sheet.title or one.title)
                for one in parts
                for sheet in one.sheets
            ),
            tuple(figure for one in parts for figure in one.figures),
            private=True,
        )
