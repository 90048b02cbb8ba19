"""The criteria: what was required and measured, whether it holds, and which groups are worst.

Worst groups are private: who they are, and how their sensitive values differ from the table's.
Where everything holds they are the groups that came nearest to a bound.

One table of verdicts told three ways (page, summary, terminal), and the private
groups behind it; the page around it only says in what order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.criteria.base import Verdict
from sfumato.release.groups import Groups
from sfumato.report.document import CellNumber, Chart, Section, Series, Sheet, number, percentage
from sfumato.report.report import CriterionFinding, Report, WorstGroup

_JUDGED = ("criterion", "required", "measured")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DRAWN = 4  # groups beside the table in a chart
_VALUES = 14  # values in a chart, those that differ most
_LONG = 240  # letters of a description: a bucket may list many tuples


def criteria_section(report: Report) -> Section:
    """One row a criterion."""
    public = report.audience == "public"
    words = "Every criterion of the policy must hold. Measured is the worst of all groups."
    if public:
        words += " Measured on what is published; decided against the whole table."
    return Section("Criteria", words, (verdicts_sheet(report.verdicts, noisy=report.noisy),))


def verdicts_sheet(verdicts: Sequence[Verdict], *, noisy: bool = False) -> Sheet:
    """What was required and measured, a row each; `noisy`: of counts that are nobody's own."""
    columns = ("criterion", "about", "required", "measured", "verdict", "remark")
    rows = [
        (
            verdict.criterion,
            verdict.about or ("everybody" if noisy else "group sizes"),
            verdict.required,
            _measured(verdict.measured, at_most=verdict.at_most, beside=verdict.required),
            verdict.status.replace("_", " "),
            verdict.note,
        )
        for verdict in verdicts
    ]
    last = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    return Sheet(
        columns[:last],
        tuple(row[:last] for row in rows),
        digits=6,
        remark="remark" if last == len(columns) else "",
    )


def worst_groups_section(report: Report) -> Section | None:
    """A table of the worst groups by criterion, and a chart for each sensitive attribute."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or evidence.release.regions.noisy:
        return None
    release = evidence.release
    named: dict[tuple[str, int], str] = {}
    rows = []
    for finding in report.findings:
        for group, worst in zip(finding.verdict.worst, finding.worst, strict=False):
            key = (finding.verdict.per, group)
            letter = named.setdefault(key, _letter(len(named)))
            description = described(worst)
            cut = description if len(description) <= _LONG else f"{description[:_LONG]}…"
            rows.append((letter, *_judged(finding, worst), worst.people, cut))
    if not rows:
        return None
    sheet = Sheet(("group", *_JUDGED, "people", "who"), tuple(rows), digits=6, keys=2)
    charts = [
        chart
        for attribute, groups in release.by_attribute.items()
        if (chart := _chart(attribute, groups, _of(report.findings, attribute, named)))
    ]
    nearest = " All of them keep it: they are the nearest to it." if report.holds else ""
    return Section(
        "The weakest groups",
        f"Up to five groups for each bound, the worst first.{nearest} A group has the same letter "
        "wherever it is named.",
        (sheet,),
        tuple(charts),
    )


def brief_worst_groups(report: Report, *, private: bool) -> Section | None:
    """The worst group of each criterion that does not hold; not who it is where others read."""
    rows = []
    for finding in report.findings:
        if finding.verdict.holds or not finding.worst:
            continue
        group = finding.worst[0]  # the page and the JSON have more of them
        description = "shown on a terminal only; --html and --report tell it"
        if private:
            description = described(group)
        rows.append((*_judged(finding, group), group.people, description))
    sheet = Sheet((*_JUDGED, "people", "who"), tuple(rows), digits=6)
    return Section("Worst group by criterion (private)", "", (sheet,)) if rows else None


def described(group: WorstGroup) -> str:
    return ", ".join(f"{column} {value}" for column, value in group.description.items())


def _judged(finding: CriterionFinding, group: WorstGroup) -> tuple[object, ...]:
    """What is required of a group beside what it measures, in digits that tell them apart."""
    required = finding.verdict.required
    measured = _measured(group.measured, at_most=group.at_most, beside=required)
    return finding.verdict.criterion, required, measured


def _measured(value: float | None, *, at_most: bool, beside: str) -> float | str | None:
    """A number, or a text where it is an upper bound."""
    return number(value, at_most=True, beside=beside) if at_most else value


def _letter(place: int) -> str:
    return _LETTERS[place] if place < len(_LETTERS) else f"{_LETTERS[place % 26]}{place // 26}"


def _of(
    findings: tuple[CriterionFinding, ...], attribute: str, named: Mapping[tuple[str, int], str]
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


def _chart(attribute: str, groups: Groups, chosen: dict[int, str]) -> Chart | None:
    if not chosen or groups.width == 0:
        return None
    table = groups.reference_share
    shares = {
        group: groups.dense(group, group + 1)[0] / max(int(groups.sizes[group]), 1)
        for group in chosen
    }
    apart = np.max([np.abs(share - table) for share in shares.values()], axis=0)
    values = np.sort(np.argsort(-apart, kind="stable")[:_VALUES])
    labels: list[CellNumber] = [groups.values[code] for code in values]
    series = [Series("the whole table", table[values].tolist(), labels, mark="line-ns-open")]
    words = []
    for group, letter in chosen.items():
        people = int(groups.sizes[group])
        share = shares[group]
        has = [float(part) if part else None for part in share[values]]
        many = "1 person" if people == 1 else f"{people:,} people"
        series.append(Series(f"group {letter} ({many})", has, labels))
        most = int(np.argmax(share))
        words.append(
            f"group {letter}: {groups.values[most]!r} {percentage(float(share[most]))} "
            f"against {percentage(float(table[most]))} in the table"
        )
    left = groups.width - len(values)
    undrawn = f" {left:,} further values, which differ less, are not drawn." if left else ""
    return Chart(
        f"{attribute or 'Sensitive values'}: the worst groups against the table",
        "points",
        "share of people",
        attribute or "value",
        tuple(series),
        percent="x",
        name=f"worst-groups/{attribute}",
        alt=f"No mark: nobody in the group has the value. Most frequent value of each: "
        f"{'; '.join(words)}.{undrawn}",
    )
