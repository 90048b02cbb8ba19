"""The worst groups: who they are, and how their sensitive values differ from the table's. Private.

Where everything holds they are the groups that came nearest to a bound.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.release.groups import Groups
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Number, Series
from sfumato.report.model import Finding, Report
from sfumato.report.sheet import Sheet
from sfumato.report.text import number

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DRAWN = 4  # groups beside the table in a chart
_VALUES = 14  # values in a chart, those that differ most
_LONG = 240  # letters of a description: a bucket may list many tuples


def section(report: Report) -> Section | None:
    """A table of the worst groups by criterion, and a chart for each sensitive attribute."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or evidence.release.scheme == "randomised":
        return None
    release = evidence.release
    named: dict[tuple[str, int], str] = {}
    rows = []
    for finding in report.findings:
        for group, told in zip(finding.verdict.worst, finding.worst, strict=False):
            key = (finding.verdict.per, group)
            letter = named.setdefault(key, _letter(len(named)))
            who = ", ".join(f"{column} {value}" for column, value in told.description.items())
            cut = who if len(who) <= _LONG else f"{who[:_LONG]}…"
            criterion = finding.verdict.criterion
            measured = number(told.measured, at_most=True) if told.at_most else told.measured
            rows.append((letter, criterion, measured, told.people, cut))
    if not rows:
        return None
    sheet = Sheet(("group", "criterion", "measured", "people", "who"), tuple(rows))
    figures = [
        figure
        for attribute, groups in release.by_attribute.items()
        if (figure := _figure(attribute, groups, _of(report.findings, attribute, named)))
    ]
    title = "Worst groups" if not report.holds else "Groups nearest to a bound"
    return Section(
        title,
        "Up to five groups a criterion, the worst first; a group has the same letter wherever it "
        "is named.",
        (sheet,),
        tuple(figures),
        private=True,
    )


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else f"{_LETTERS[place % 26]}{place // 26}"


def _of(
    findings: tuple[Finding, ...], attribute: str, named: Mapping[tuple[str, int], str]
) -> dict[int, str]:
    """The worst group of each criterion about an attribute, then the next ones."""
    about = [
        finding.verdict.worst
        for finding in sorted(findings, key=lambda finding: finding.verdict.holds)
        if finding.verdict.attribute in (attribute, None) and finding.verdict.per == "group"
    ]
    turns = [group[turn] for turn in range(5) for group in about if turn < len(group)]
    chosen = list(dict.fromkeys(turns))[:_DRAWN]
    return {group: named["group", group] for group in chosen if ("group", group) in named}


def _figure(attribute: str, groups: Groups, chosen: dict[int, str]) -> Figure | None:
    if not chosen or groups.width == 0:
        return None
    table = groups.reference_share
    shares = {
        group: groups.dense(group, group + 1)[0] / max(int(groups.sizes[group]), 1)
        for group in chosen
    }
    apart = np.max([np.abs(share - table) for share in shares.values()], axis=0)
    shown = np.sort(np.argsort(-apart, kind="stable")[:_VALUES])
    labels: list[Number] = [groups.values[code] for code in shown]
    series = [Series("the whole table", table[shown].tolist(), labels, mark="line-ns-open")]
    told = []
    for group, letter in chosen.items():
        people = int(groups.sizes[group])
        share = shares[group]
        has = [float(one) if one else None for one in share[shown]]
        many = "1 person" if people == 1 else f"{people:,} people"
        series.append(Series(f"group {letter} ({many})", has, labels))
        most = int(np.argmax(share))
        told.append(
            f"group {letter}: {groups.values[most]!r} {number(round(float(share[most]), 3))} "
            f"against {number(round(float(table[most]), 3))} in the table"
        )
    left = groups.width - len(shown)
    others = f" {left:,} further values, which differ less, are not drawn." if left else ""
    return Figure(
        f"{attribute or 'Sensitive values'}: the worst groups against the table",
        "points",
        "share of people",
        attribute or "value",
        tuple(series),
        percent="x",
        alt=f"No mark: nobody in the group has the value. Most frequent value of each: "
        f"{'; '.join(told)}.{others}",
    )
