"""Report: the answer to "may this file go out?", as plain data.

It is private evidence: it names the worst groups. What may be handed out with a release is said by
the release's own manifest, never by this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.adversaries.columns import Column
from sfumato.adversaries.linkage import Linkage
from sfumato.adversaries.threat import Threat
from sfumato.criteria.base import Verdict
from sfumato.errors import InputError

Overall = Literal["holds", "violated", "could_not_judge"]


@dataclass(frozen=True)
class WorstGroup:
    """One of the groups a criterion finds worst: how it is described, and what it measures."""

    description: dict[str, str]
    people: int
    measured: float


@dataclass(frozen=True)
class Finding:
    """A verdict with its worst groups told as an adversary sees them."""

    verdict: Verdict
    worst: tuple[WorstGroup, ...]


@dataclass(frozen=True)
class Summary:
    """What was judged."""

    label: str
    scheme: str
    people: int
    groups: int
    smallest: int
    suppressed: int
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    keep: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """Verdicts on a release, the threats that remain, and what the reader must know besides.

    `linkage` tells how surely rows can be linked to names, `columns` which quasi-identifiers give
    most away, the weakest first; every audit measures both. `published` are the verdicts measured
    on what is published alone, the only figures that may be told.
    """

    summary: Summary
    findings: tuple[Finding, ...]
    threats: tuple[Threat, ...]
    notes: tuple[str, ...]
    linkage: Linkage | None = None
    columns: tuple[Column, ...] = ()
    published: tuple[Verdict, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(finding.verdict for finding in self.findings)

    @property
    def status(self) -> Overall:
        """violated if anything is; else could_not_judge unless every criterion holds."""
        if any(verdict.status == "violated" for verdict in self.verdicts):
            return "violated"
        return "holds" if all(verdict.holds for verdict in self.verdicts) else "could_not_judge"

    @property
    def holds(self) -> bool:
        return self.status == "holds"

    def promises(self) -> list[dict[str, Any]]:
        """What may be told to anybody: each criterion, its bound and the value that was reached."""
        from sfumato.report.json import promises

        return promises(self)

    def to_json(self) -> str:
        from sfumato.report.json import to_json

        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Write the report; the ending of the name says as what."""
        target = Path(path)
        if target.suffix != ".json":
            raise InputError(
                f"cannot write a report as {target.name!r}; use a name ending in .json"
            )
        partial = target.with_name(target.name + ".part")
        partial.write_text(self.to_json() + "\n", encoding="utf-8")
        partial.replace(target)

    def __repr__(self) -> str:
        from sfumato.report.text import to_text

        return to_text(self)
