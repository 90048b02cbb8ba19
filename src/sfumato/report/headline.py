"""The first things a reader sees: the verdict in one sentence, and the release in a few numbers."""

from __future__ import annotations

from sfumato.criteria.base import Verdict
from sfumato.report.ladder import noisy
from sfumato.report.model import Report
from sfumato.report.public import few
from sfumato.report.text import measured

KEPT = "people kept"  # told as a share


def headline(report: Report) -> str:
    """The verdict of the policy in one sentence."""
    verdicts = report.verdicts
    if report.status == "holds":
        every = (
            "its only criterion holds"
            if len(verdicts) == 1
            else f"all {len(verdicts)} criteria hold"
        )
        if noisy(report):  # how many they are is not told
            return f"The policy holds: {every} for everybody."
        whom = "people of the table" if report.raw else "people published"
        return f"The policy holds: {every} for the {report.summary.people:,} {whom}."
    if report.status == "violated":
        failing = [verdict for verdict in verdicts if verdict.status == "violated"]
        told = "; ".join(_shortfall(verdict) for verdict in failing)
        return f"The policy is violated: {told}."
    open_ = [verdict for verdict in verdicts if not verdict.holds]
    told = "; ".join(
        f"{verdict.criterion}{_about(verdict)} ({verdict.note or verdict.status.replace('_', ' ')})"
        for verdict in open_
    )
    return f"The policy could not be judged in full, so it is not shown safe: {told}."


def _shortfall(verdict: Verdict) -> str:
    if verdict.measured is None:
        return f"{verdict.criterion}{_about(verdict)}, required {verdict.required}"
    return (
        f"{verdict.criterion}{_about(verdict)} is {measured(verdict)}, required {verdict.required}"
    )


def _about(verdict: Verdict) -> str:
    return f" of {verdict.attribute}" if verdict.attribute else ""


def glance(report: Report) -> dict[str, int | float | str]:
    """The release in a few numbers; usefulness as far as it was measured."""
    summary = report.summary
    everybody = summary.people + summary.suppressed
    group = "bucket" if summary.scheme == "bucketized" else "group"
    told: dict[str, int | float | str] = {
        "people" if report.raw else "people published": few(report, summary.people),
        f"{group}s": few(report, summary.groups),
    }
    if noisy(report):  # nobody is in a noisy cell, and how many are is noise too
        told = {"people, by noisy counts": few(report, summary.people)}
        return told | {"cells published": few(report, summary.groups)}
    # Anybody sees it in the data, and the risks told beside it say it too.
    told[f"smallest {group}"] = summary.smallest
    if report.raw:
        return told
    told["people suppressed"] = few(report, summary.suppressed)
    if summary.suppressed == 0 or report.audience == "private":
        told[KEPT] = summary.people / everybody if everybody else 0.0
    return told | {name: cost for name, cost in report.costs.items() if cost == cost}
