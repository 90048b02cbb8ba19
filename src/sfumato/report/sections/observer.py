"""The observer: how much each class tells beyond what was known before, as bars. Private.

Stands apart: one subject of a report.
"""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.leakage.expectation import leakage
from sfumato.adversaries.leakage.observer import Observer
from sfumato.release.groups import Groups
from sfumato.report.document import Chart, Section, Series, Sheet
from sfumato.report.report import Evidence, Report

_SHOWN = 12  # classes in table and chart, those that leak most


def observer_section(report: Report) -> Section | None:
    """The classes that leak most, for the observers of the policy or the usual one."""
    evidence = report.evidence
    if evidence is None or report.audience == "public" or evidence.release.regions.noisy:
        return None
    sheets, figures = [], []
    for observer, groups in _asked(evidence):
        fine = len(groups) and groups.width and groups.single_valued
        if not fine or observer.inapplicable(groups):
            continue
        found = leakage(groups, observer.expectation(groups))
        worst = np.lexsort((-groups.sizes, -found.distribution))[:_SHOWN].tolist()
        title = f"{groups.attribute or 'The sensitive value'}, for {observer.name}"
        rows = tuple(
            (
                f"class {place}",
                float(found.distribution[group]),
                float(found.entropy[group]),
                int(found.ruled_out[group]) if np.isfinite(found.ruled_out[group]) else None,
                int(groups.sizes[group]),
                _who(evidence, group),
            )
            for place, group in enumerate(worst, start=1)
        )
        columns = ("class", "distribution", "entropy (bits)", "values ruled out", "people", "who")
        sheets.append(Sheet(columns, rows, title))
        figures.append(_chart(title, sheets[-1]))
    if not sheets:
        return None
    return Section(
        "What a class tells",
        "Distribution leakage is how far the values of a class lie from what was expected, "
        "entropy leakage how much surer (or less sure) it makes somebody, in bits. 0: nothing new.",
        tuple(sheets),
        tuple(figures),
    )


def _asked(evidence: Evidence) -> list[tuple[Observer, Groups]]:
    """Each observer a policy names, once on each of her targets; else the usual one on all."""
    named = {
        (observer.name, groups.attribute): (observer, groups)
        for _, observer, groups in evidence.naming(Observer)
    }
    usual = [(Observer(), groups) for groups in evidence.release.by_attribute.values()]
    return list(named.values()) or usual


def _who(evidence: Evidence, group: int) -> str:
    return ", ".join(f"{c} {text}" for c, text in evidence.release.regions.describe(group).items())


def _chart(title: str, sheet: Sheet) -> Chart:
    classes = [str(row[0]) for row in sheet.rows]
    worst = sheet.rows[0]
    return Chart(
        f"Leakage of the classes that leak most: {title}",
        "bars",
        "class, as in the table",
        "leakage",
        (
            Series("distribution", classes, [row[1] for row in sheet.rows]),  # type: ignore[misc]
            Series("entropy (bits)", classes, [row[2] for row in sheet.rows]),  # type: ignore[misc]
        ),
        alt=f"The worst class leaks {worst[1]:.3g} by distribution and {worst[2]:.3g} bits of "
        "entropy.",
    )
