"""The rule set: one line a paragraph, what it asks and whether it holds.

Reasons name columns and count cells; no cell is quoted, and the public is told no reason at all.

Told on the page, the terminal and in JSON, and only where a policy names a rule set.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.policy.rules.base import NO_ADVICE, Paragraph, RuleFinding
from sfumato.report.document import Section, Sheet
from sfumato.report.report import Report

WORDS = {"holds": "holds", "violated": "does not hold", "cannot_judge": "could not judge"}


def rule_set_section(report: Report) -> Section | None:
    """Every paragraph."""
    if report.rules is None:
        return None
    words = f"{report.rules.name} ({report.rules.source}). {NO_ADVICE}"
    return Section("Rule set", words, (_sheet(report.rules.paragraphs),))


def _sheet(paragraphs: Sequence[Paragraph]) -> Sheet:
    columns = ("paragraph", "asks", "verdict", "remark")
    rows = [
        (paragraph.name, paragraph.statement, verdict_told(paragraph), paragraph.reason)
        for paragraph in paragraphs
    ]
    last = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    return Sheet(
        columns[:last],
        tuple(row[:last] for row in rows),
        remark="remark" if last == len(columns) else "",
    )


def verdict_told(paragraph: Paragraph) -> str:
    return WORDS.get(paragraph.status, paragraph.status.replace("_", " "))


def rules_told(rules: RuleFinding) -> str:
    """What stands against a release by a rule set, in a clause; empty where nothing does."""
    against = rules.having("violated") or rules.having("cannot_judge")
    if not against:
        return ""
    named = ", ".join(paragraph.name for paragraph in against)
    many = len(against) > 1
    failing = "could not be judged"
    if rules.having("violated"):
        failing = "do not hold" if many else "does not hold"
    return f"{rules.name} paragraph{'s' * many} {named} {failing}"


def rules_facts(rules: RuleFinding) -> dict[str, object]:
    """The same for JSON."""
    return {
        "name": rules.name,
        "source": rules.source,
        "status": rules.status,
        "notice": NO_ADVICE,
        "paragraphs": [
            {
                "paragraph": paragraph.name,
                "asks": paragraph.statement,
                "status": paragraph.status,
                "reason": paragraph.reason,
            }
            for paragraph in rules.paragraphs
        ],
    }
