"""Sections of a report as JSON and back, all that is on a page: what a run found is shown for good.

How a release was found is known while it is made, and by nobody afterwards. (`section_dict` of the
report is for programs; what only a page needs is not in it.)

Pages show such sections, whoever makes releases keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sfumato.report.document import Chart, Section, Series, Sheet, as_json


def kept(section: Section) -> dict[str, object]:
    """A section as JSON holds it: infinity is "inf", what does not apply is null."""
    content: dict[str, object] = json.loads(as_json(asdict(section)))
    return content


def section_of(content: Mapping[str, Any]) -> Section:
    """The section that was kept."""
    given: dict[str, Any] = {key: _frozen(value) for key, value in content.items()}
    given["tables"] = tuple(Sheet(**table) for table in given["tables"])
    given["charts"] = tuple(_chart(chart) for chart in given["charts"])
    return Section(**given)


def _chart(content: Mapping[str, Any]) -> Chart:
    lines = {name: tuple(Series(**line) for line in content[name]) for name in ("series", "behind")}
    return Chart(**{**content, **lines})


def _frozen(value: Any) -> Any:
    """Lists as tuples, as sections hold them."""
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
