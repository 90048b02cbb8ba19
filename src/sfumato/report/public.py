"""The public variant of a report: what may be handed out with a release.

It tells nothing that the published data and the manifest do not tell anybody. Threats and charts
are worked out anew on what is published alone, so that nothing is said about suppressed people.
Worst groups, notes on single groups, suggestions, the search and outside registers are left out.
Counts of people or groups from 1 to `FLOOR` - 1 (or the policy's k, if that is larger) are told as
"<10"; 0 is told as 0. What a criterion measures is told, whatever its size: that is the promise.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.criteria.base import Verdict
from sfumato.errors import InputError
from sfumato.report.model import Finding, Report

FLOOR = 10  # the usual threshold of statistical offices


def public_report(report: Report) -> Report:
    """The variant of a report that may be handed out."""
    evidence = report.evidence
    if evidence is None or evidence.as_published is None:
        raise InputError("the public variant needs the release: audit it, then save the report")
    seen = evidence.as_published()
    assert seen.evidence is not None
    told = zip(report.verdicts, report.published, strict=True)
    return Report(
        summary=report.summary,
        findings=tuple(Finding(_bare(verdict, shown), ()) for verdict, shown in told),
        threats=seen.threats,
        # A note with a figure may be about few people.
        notes=tuple(note for note in seen.notes if not any(sign.isdigit() for sign in note)),
        linkage=seen.linkage,
        published=report.published,
        evidence=replace(seen.evidence, advise=None, as_published=None),
        audience="public",
    )


def _bare(verdict: Verdict, shown: Verdict) -> Verdict:
    """Decided against the whole table, measured on what is published, without its groups."""
    return replace(
        verdict,
        measured=shown.measured,
        at_most=shown.at_most,
        worst=(),
        per_group=None,
        bounded=None,
        note="",
    )


def floor_of(report: Report) -> int:
    """Below this, counts are not told to the public."""
    criteria = report.evidence.criteria if report.evidence is not None else ()
    return max([FLOOR, *(criterion.fewest_people for criterion in criteria)])


def few(report: Report, count: int) -> int | str:
    """A count as it may be told: in a public report small ones only as small."""
    floor = floor_of(report)
    return f"<{floor}" if report.audience == "public" and 0 < count < floor else count


def few_of(report: Report, share: float, everybody: int) -> float | str:
    """A share of people as it may be told: not where it is that of few."""
    count = few(report, round(share * everybody))
    return share if not isinstance(count, str) else count
