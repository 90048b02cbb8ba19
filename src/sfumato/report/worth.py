"""What is left of a table in its release: a release that tells nothing may hold any policy.

A column that shows the same for everybody tells nothing any more; the loss is the share of the
detail that is gone. Where little is left, the closing lines and the page say so, and which promise
costs most, if that was found out (`workflow/price.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.release.regions import Examples, Regions, Singletons
from sfumato.release.release import Release
from sfumato.report.model import Report
from sfumato.schema.region import Anything, ValueSet

MUCH = 0.5  # of the detail gone: more than this must be said


@dataclass(frozen=True)
class Worth:
    """The quasi-identifiers that show the same for everybody, and the loss where it is known."""

    columns: int
    hidden: tuple[str, ...]
    alike: tuple[str, ...]
    loss: float | None

    @property
    def little(self) -> bool:
        return bool(self.hidden or self.alike) or (self.loss is not None and self.loss > MUCH)

    def __str__(self) -> str:
        """What is left, in words; empty where there is nothing to warn of."""
        if not self.little:
            return ""
        told = []
        for names, what in ((self.hidden, "*"), (self.alike, "the same")):
            if names:
                be = "is" if len(names) == 1 else "are"
                told.append(
                    f"{len(names)} of {self.columns} columns {be} {what} for everybody "
                    f"({', '.join(names)})"
                )
        if self.loss is not None:
            told.append(f"{self.loss:.0%} of the detail is gone")
        return "; ".join(told)


def worth_of(report: Report) -> Worth:
    """What is left of the quasi-identifiers in the release of a report."""
    evidence = report.evidence
    loss = report.costs.get("loss")
    loss = None if loss is None or loss != loss else loss
    if evidence is None or report.raw:
        return Worth(0, (), (), None)
    release = evidence.release
    hidden, alike = _told_nothing(release)
    return Worth(len(release.schema.quasi), hidden, alike, loss)


def _told_nothing(release: Release) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that are * for everybody, and those that show one other label."""
    regions = release.regions
    if not _each_told(release) or not isinstance(regions, Regions):
        return (), ()
    several = None
    if release.origin is not None:  # what was the same for everybody before is nobody's loss
        several = {domain.name for domain in release.origin.table.counts.quasi if len(domain) > 1}
    hidden, alike = [], []
    for column, parts, codes in zip(regions.columns, regions.parts, regions.codes, strict=True):
        if np.ptp(codes) or (several is not None and column not in several):
            continue
        one = parts[int(codes[0])]
        if isinstance(one, Anything):
            hidden.append(column)
        elif several is not None:
            alike.append(column)
    return tuple(hidden), tuple(alike)


def shows_all(release: Release) -> bool:
    """Whether every group shows exact values: a table as it stands."""
    regions = release.regions
    if not _each_told(release) or not isinstance(regions, Regions) or release.suppressed:
        return False
    return all(
        isinstance(parts, Singletons)
        or all(isinstance(part, ValueSet) and len(part.values) == 1 for part in parts)
        for parts in regions.parts
    )


def _each_told(release: Release) -> bool:
    """Whether the release publishes a region of every group, and all of them are at hand."""
    regions = release.regions
    known = isinstance(regions, Regions) and not isinstance(regions, Examples) and len(regions) > 0
    return known and release.scheme == "generalized"


def cost_words(report: Report) -> str:
    """What the release costs, in one sentence."""
    if report.summary.scheme == "randomised":
        return "Cost: not measured; the notes tell how far noise moves a count."
    words = {
        "loss": "{:.0%} of the detail is gone (loss {:.3g})",
        "query-error": "counts asked of it are off by {:.0%} on average (query error {:.3g})",
    }
    told = [
        words[name].format(cost, cost) if name in words else f"{name} {cost:.6g}"
        for name, cost in report.costs.items()
        if cost == cost
    ]
    if not told:
        return "Cost: no measure applies to this release."
    return f"Cost: {'; '.join(told)}."


def closing_words(report: Report) -> list[str]:
    """What a reader must know before handing the release out; nothing where much is left."""
    worth = worth_of(report)
    if not worth.little:
        return []
    dearest = report.evidence.dearest if report.evidence is not None else ""
    little = max(worth.loss or 0, len(worth.hidden) / max(worth.columns, 1)) > MUCH
    told = [f"{'Little is left to use' if little else 'What is left'}: {worth}."]
    told += _missing_values(report, worth.hidden)
    return [*told, dearest] if dearest else told


def _missing_values(report: Report, hidden: tuple[str, ...]) -> list[str]:
    """Columns that a few people lack: too few for a group of their own, so nobody's is told.

    So it is where a whole column is at one level of its hierarchy; ranges may be told beside those
    who lack a value.
    """
    evidence = report.evidence
    origin = None if evidence is None else evidence.release.origin
    if evidence is None or origin is None or report.audience == "public":
        return []
    if "levels" not in (origin.search or {}):
        return []
    k = max((one.fewest_people for one in evidence.criteria), default=1)
    told = []
    for column, domain in enumerate(origin.counts.quasi):
        ordered = domain.kind in ("numeric", "date")
        if domain.name not in hidden or not ordered or not domain.has_null:
            continue
        if 0 < origin.counts.by_code(column)[-1] < k:
            told.append(
                f"{domain.name} is missing for fewer people than a group needs, who would stand "
                "out if it were told of the others: fill it in, or leave out those rows."
            )
    return told
