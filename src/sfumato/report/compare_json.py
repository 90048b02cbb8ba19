"""A comparison as JSON. Infinity is written "inf"; null is what does not apply."""

from __future__ import annotations

import json
import math
from typing import Any

from sfumato.report.comparison import Comparison, Outcome


def to_json(comparison: Comparison) -> str:
    return json.dumps(to_dict(comparison), indent=2, ensure_ascii=False, allow_nan=False)


def to_dict(comparison: Comparison) -> dict[str, Any]:
    return {
        "table": comparison.label,
        "people": comparison.people,
        "seed": comparison.seed,
        "sweep": {
            name: [_figure(value) for value in values] for name, values in comparison.sweep.items()
        },
        "axes": {"risk": comparison.risk, "cost": comparison.cost},
        "about": dict(comparison.about),
        "points": [_point(outcome) for outcome in comparison.outcomes],
        "notes": list(comparison.notes),
    }


def _point(outcome: Outcome) -> dict[str, Any]:
    found = outcome.figures
    return {
        "settings": {name: _figure(value) for name, value in outcome.settings.items()},
        "anonymizer": outcome.anonymizer,
        "status": outcome.status,
        "reason": outcome.reason,
        "pareto": outcome.pareto,
        "verdict": None if found is None else found.verdict,
        "groups": None if found is None else found.groups,
        "people": None if found is None else found.people,
        "suppressed": None if found is None else found.suppressed,
        "suppressed_share": None if found is None else found.suppressed_share,
        "risks": None if found is None else {n: _figure(v) for n, v in found.risks.items()},
        "costs": None if found is None else {n: _figure(v) for n, v in found.costs.items()},
    }


def _figure(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "inf" if value > 0 else "-inf"
