"""Linkage: who can link rows to names, and which columns help most."""

from __future__ import annotations

from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.report.exhibit import Section
from sfumato.report.model import Report
from sfumato.report.public import few_of
from sfumato.report.sheet import Sheet
from sfumato.report.text import number

_SOURCES = {None: "", "table": " (population)", "weights": " (survey weights)"}


def section(report: Report) -> Section | None:
    """Risks of prosecutor, journalist and marketer; the weakest columns first."""
    linked = report.linkage
    if linked is None:
        return None
    title = "Whose row is this?"
    if linked.prosecutor is None:
        return Section(title, f"Linkage was not measured: {linked.reason}.")
    sheets = [_risks(report, linked)]
    if report.columns:
        sheets.append(_columns(report))
    return Section(
        title,
        "The risk of being found by somebody who looks a person up by quasi-identifiers, as a "
        "chance from 0 to 1.",
        tuple(sheets),
    )


def _risks(report: Report, linked: Linkage) -> Sheet:
    limits = tuple(f"people above {limit:g}" for limit in linked.thresholds)
    rows = [
        ("prosecutor: knows that the target is in it", *_risk(report, linked, linked.prosecutor))
    ]
    if linked.journalist is not None:
        name = "journalist: has a register of the population" + _SOURCES[linked.source]
        rows.append((name, *_risk(report, linked, linked.journalist)))
    blank = (None,) * len(limits)
    at_most = linked.prosecutor is not None and linked.prosecutor.at_most
    marketer = _bounded(linked.marketer, at_most=at_most)
    rows.append(("marketer: links everybody", None, marketer, *blank, None, None))
    notes = list(linked.notes) if report.audience == "private" else []
    chosen = linked.population_uniqueness
    if chosen is not None and report.audience == "private":
        notes.append(
            f"Unique in the population, estimated ({chosen.model}, sampling fraction "
            f"{linked.sampling_fraction:g}): "
            f"{'not converged' if chosen.share is None else number(chosen.share)}."
        )
    return Sheet(
        ("adversary", "highest", "mean", *limits, "people at highest", "unique people"),
        tuple(rows),
        "Chance of being found, and shares of people",
        tuple(notes),
    )


def _risk(report: Report, linked: Linkage, risk: Risk | None) -> tuple[float | str | None, ...]:
    if risk is None:
        return (None,) * (len(linked.thresholds) + 4)
    shares = (*risk.above, risk.at_highest, risk.unique)
    told = [risk.mean, *(few_of(report, share, linked.people) for share in shares)]
    return risk.highest, *(_bounded(one, at_most=risk.at_most) for one in told)


def _bounded(figure: float | str | None, *, at_most: bool) -> float | str | None:
    """A figure, or the text that says that it is a bound."""
    if not at_most or not figure:
        return figure
    return f"at most {figure if isinstance(figure, str) else number(figure)}"


def _columns(report: Report) -> Sheet:
    rows = tuple((one.name, one.shows, one.success, one.unique) for one in report.columns)
    return Sheet(
        ("column", "values shown", "rows found without it", "unique people without it"),
        rows,
        "Columns, the weakest first: the shares that are left when one of them is not known",
    )
