"""A report as JSON, by the schema in `schema/`: everything that is on its page, and more.

Infinity is a value and written "inf": JSON has no number for it. A public report has no worst
groups and no small counts ("<10").
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.report.model import Finding, Report, Summary

SCHEMA_VERSION = 2
SCHEMA = Path(__file__).parent / "schema" / f"report-{SCHEMA_VERSION}.json"


def to_json(report: Report) -> str:
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False, allow_nan=False)


def to_dict(report: Report) -> dict[str, Any]:
    from sfumato.report.headline import glance, headline
    from sfumato.report.ladder import matrix
    from sfumato.report.worth import closing_words

    public = report.audience == "public"
    content = {
        "schema_version": SCHEMA_VERSION,
        "made_by": f"sfumato {version('sfumato')}",
        "audience": report.audience,
        "holds": report.holds,
        "status": report.status,
        "headline": headline(report),
        "release": _release(report, report.summary),
        "glance": glance(report),
        "warnings": [] if public else closing_words(report),
        "verdicts": [_finding(finding) for finding in report.findings],
        # Shares of few people would tell how few; the section on linkage tells what may be told.
        "linkage": None if public or report.linkage is None else _linkage(report.linkage),
        "columns": [asdict(column) for column in report.columns],
        "threats": [row.to_dict() for row in matrix(report)],
        "notes": report.notes,
        "sections": [section.to_dict() for section in report.sections],
    }
    cleaned: dict[str, Any] = _clean(content)
    return cleaned


def _release(report: Report, summary: Summary) -> dict[str, Any]:
    from sfumato.report.public import few

    counts = ("people", "groups", "suppressed")
    return asdict(summary) | {name: few(report, getattr(summary, name)) for name in counts}


def _finding(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    return {
        "criterion": verdict.criterion,
        "attribute": verdict.attribute,
        "status": verdict.status,
        "holds": verdict.holds,
        "required": verdict.required,
        "measured": verdict.measured,
        "at_most": verdict.at_most,
        "note": verdict.note,
        "worst": [asdict(group) for group in finding.worst],
    }


def _linkage(linkage: Linkage) -> dict[str, Any]:
    chosen = linkage.population_uniqueness
    return {
        "people": linkage.people,
        "groups": linkage.groups,
        "thresholds": linkage.thresholds,
        "prosecutor": _risk(linkage.prosecutor),
        "journalist": _risk(linkage.journalist),
        "marketer": {
            "in_release": linkage.marketer,
            "in_population": linkage.marketer_in_population,
        },
        "population": linkage.source,
        "sample_uniqueness": linkage.sample_uniqueness,
        "population_uniqueness": None
        if chosen is None
        else {
            "sampling_fraction": linkage.sampling_fraction,
            "chosen": chosen.model,
            "share": chosen.share,
            "estimates": [asdict(estimate) for estimate in linkage.estimates],
        },
        "notes": linkage.notes,
        "reason": linkage.reason,
    }


def _risk(risk: Risk | None) -> dict[str, Any] | None:
    """A risk without its array per group: a report has worst groups, not everybody."""
    if risk is None:
        return None
    return {
        "highest": risk.highest,
        "at_most": risk.at_most,
        "mean": risk.mean,
        "above": risk.above,
        "at_highest": risk.at_highest,
        "unique": risk.unique,
    }


def promises(report: Report) -> list[dict[str, Any]]:
    """The public part of the verdicts: no groups, no counts of people.

    Figures are those that anybody can measure on the published data; whether the criterion holds
    was decided against the whole table.
    """
    told: list[dict[str, Any]] = _clean(
        [
            {
                "criterion": verdict.criterion,
                "about": verdict.attribute,
                "required": verdict.required,
                "measured": shown.measured,
                "at_most": shown.at_most,
                "holds": verdict.holds,
            }
            for verdict, shown in zip(report.verdicts, report.published, strict=True)
        ]
    )
    return told


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
