"""Knowledge skylines: how much an acquaintance may know before a value is given away."""

from __future__ import annotations

from sfumato.adversaries.skyline.knowledge import knowledge_skyline
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.skyline import skyline_figure, summary_sheet

_TITLE = "Somebody who knows some facts"
CONFIDENCE = 0.9  # where a policy names none
_VALUES = 40  # of each attribute, the most frequent
_MOST_COUNTS = 500_000  # stored counts; beyond, walks along skylines take too long


def section(report: Report) -> Section | None:
    """A row for each value, and the points of those that allow least, in space."""
    evidence = report.evidence
    if evidence is None or evidence.release.scheme == "randomised":
        return None
    asked = [one for one in evidence.criteria if isinstance(one, SkylinePrivacy)]
    confidence = min((float(p.c) for one in asked for p in one.points), default=CONFIDENCE)
    found, left, large = [], 0, False
    for groups in evidence.release.by_attribute.values():
        if not len(groups) or not groups.width:
            continue
        if len(groups.data) > _MOST_COUNTS:
            large = True
            continue
        order = sorted(range(groups.width), key=lambda code: -groups.reference[code])
        left += len(order[_VALUES:])
        found += [
            knowledge_skyline(groups, groups.values[code], confidence) for code in order[:_VALUES]
        ]
    if not found:
        words = f"Not measured: more than {_MOST_COUNTS:,} counts. Run: sfumato skyline RELEASE."
        return Section(_TITLE, words) if large else None
    words = (
        f"How much may somebody know before she is {confidence:.4g} sure of a value? l: facts "
        "about the target; k: other people, none of them of the family, whose value she knows; m: "
        "relatives who would share it. The table says how far each may go alone, a point of the "
        "chart how far they may go together."
    )
    if left:
        words += f" {left:,} rarer values are not shown."
    pictured = (skyline_figure(found),) if any(one.points for one in found) else ()
    return Section(_TITLE, words, (summary_sheet(found),), pictured)
