"""A report as JSON. Infinity is a value and written "inf": JSON has no number for it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from sfumato.report.model import Finding, Report


def to_json(report: Report) -> str:
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False, allow_nan=False)


def to_dict(report: Report) -> dict[str, Any]:
    content = {
        "holds": report.holds,
        "status": report.status,
        "release": asdict(report.summary),
        "verdicts": [_finding(finding) for finding in report.findings],
        "threats": [asdict(threat) for threat in report.threats],
        "notes": report.notes,
    }
    cleaned: dict[str, Any] = _clean(content)
    return cleaned


def _finding(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    return {
        "criterion": verdict.criterion,
        "attribute": verdict.attribute,
        "status": verdict.status,
        "holds": verdict.holds,
        "required": verdict.required,
        "measured": verdict.measured,
        "note": verdict.note,
        "worst": [asdict(group) for group in finding.worst],
    }


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
