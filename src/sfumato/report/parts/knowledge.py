"""Knowledge skylines: how much an acquaintance may know before a value is given away."""

from __future__ import annotations

from sfumato.adversaries.skyline.knowledge import KnowledgeSkyline, knowledge_skyline
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from sfumato.release.groups import Groups
from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.skyline import skyline_figure, summary_sheet

_TITLE = "Somebody who knows some facts"
CONFIDENCE = 0.9  # where a policy names none
_MORE = "To have the rest: sfumato skyline RELEASE --policy POLICY --value VALUE."
_VALUES = 40  # of each attribute, the most frequent
_CHECKS = 5_000  # points judged in all: a second or two
_MOST = 50  # how far each kind of knowledge is followed; `sfumato skyline` goes on
_MOST_COUNTS = 500_000  # stored counts; beyond, walks along skylines take too long


def section(report: Report) -> Section | None:
    """A row for each value, and the points of those that allow least, in space."""
    evidence = report.evidence
    if evidence is None or evidence.release.scheme == "randomised":
        return None
    asked = [one for one in evidence.criteria if isinstance(one, SkylinePrivacy)]
    confidence = min((float(p.c) for one in asked for p in one.points), default=CONFIDENCE)
    judged = [g for g in evidence.release.by_attribute.values() if len(g) and g.width]
    small = [groups for groups in judged if len(groups.data) <= _MOST_COUNTS]
    if not small:
        words = f"Not measured: more than {_MOST_COUNTS:,} counts. {_MORE}"
        return Section(_TITLE, words) if judged else None
    found, left = [], 0
    for groups in small:
        followed = _followed(groups, confidence, _CHECKS // len(small))
        found += followed
        left += groups.width - len(followed)
    words = (
        f"How much may somebody know before she is {confidence:.4g} sure of a value? l: facts "
        "about the target; k: other people, none of them of the family, whose value she knows; m: "
        "relatives who would share it. The table says how far each may go alone, a point of the "
        "chart how far they may go together."
    )
    if any(one.cut for one in found):
        words += f" Each was followed up to {_MOST} only."
    if left:
        words += f" {left:,} rarer values are not shown."
    fine = [groups.attribute for groups in judged if _is_fine(groups)]
    if fine:
        words += (
            f" {', '.join(map(str, fine))}: nearly a value each; judged in ranges ([schema.levels] "
            "of the policy) it would tell more."
        )
    if left or len(small) < len(judged) or any(one.cut for one in found):
        words += f" {_MORE}"
    pictured = (skyline_figure(found),) if any(one.points for one in found) else ()
    return Section(_TITLE, words, (summary_sheet(found),), pictured)


def _is_fine(groups: Groups) -> bool:
    """Numbers of which nearly everybody has one of his own."""
    numeric = groups.domain is not None and groups.domain.kind == "numeric"
    return numeric and groups.width > 100 and 2 * groups.width > groups.people()


def _followed(groups: Groups, confidence: float, checks: int) -> list[KnowledgeSkyline]:
    """The skylines of the most frequent values, as many as so many checks allow; one at least."""
    found: list[KnowledgeSkyline] = []
    order = sorted(range(groups.width), key=lambda code: -groups.reference[code])
    for code in order[:_VALUES]:
        found.append(knowledge_skyline(groups, groups.values[code], confidence, most=_MOST))
        checks -= found[-1].checks
        if checks <= 0:
            break
    return found
