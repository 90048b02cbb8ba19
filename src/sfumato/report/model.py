"""Report: the answer to "may this file go out?", as plain data.

It is private evidence: it names the worst groups. What may be handed out with a release is its
manifest, and the report's public variant (`report/public.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato.adversaries.linkage.columns import Column
from sfumato.adversaries.linkage.risks import Linkage
from sfumato.adversaries.threat import Threat
from sfumato.criteria.base import Verdict
from sfumato.errors import InputError
from sfumato.files import write_text
from sfumato.progress import phase

if TYPE_CHECKING:
    from sfumato.report.evidence import Evidence
    from sfumato.report.exhibit import Section

Overall = Literal["holds", "violated", "could_not_judge"]
ENDINGS = (".html", ".json", ".md")


@dataclass(frozen=True)
class WorstGroup:
    """One of the groups a criterion finds worst: how it is described, and what it measures."""

    description: dict[str, str]
    people: int
    measured: float
    at_most: bool = False  # an upper bound


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
    raw: bool = False  # every quasi-identifier is shown as it is: a table, not a release of it


@dataclass(frozen=True)
class Report:
    """Verdicts on a release, the threats that remain, and what the reader must know besides.

    `linkage` tells how surely rows can be linked to names, `columns` which quasi-identifiers give
    most away, the weakest first; every audit measures both. `published` are the verdicts measured
    on what is published alone, the only figures that may be told. `evidence` is what sections,
    costs and suggestions are worked out from when asked for.
    """

    summary: Summary
    findings: tuple[Finding, ...]
    threats: tuple[Threat, ...]
    notes: tuple[str, ...]
    linkage: Linkage | None = None
    columns: tuple[Column, ...] = ()
    published: tuple[Verdict, ...] = ()
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    audience: Literal["private", "public"] = "private"

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

    @property
    def raw(self) -> bool:
        """Whether a table was judged as it stands."""
        return self.summary.raw

    def promises(self) -> list[dict[str, Any]]:
        """What may be told to anybody: each criterion, its bound and the value that was reached."""
        from sfumato.report.json import promises

        return promises(self)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All that is told besides the verdict: tables, charts, suggestions."""
        from sfumato.report.parts import sections_of

        return sections_of(self)

    @cached_property
    def every_threat(self) -> tuple[Threat, ...]:
        """The threats, and those of adversaries that only a written report runs."""
        late = self.evidence.late if self.evidence is not None else None
        return (*self.threats, *(late() if late is not None else ()))

    @cached_property
    def costs(self) -> dict[str, float]:
        """What the release costs in usefulness, by measure; empty where the table is unknown."""
        from sfumato.report.parts.costs import costs_of

        return costs_of(self)

    def public(self) -> Report:
        """The variant that may be handed out: no worst groups, no small counts."""
        from sfumato.report.public import public_report

        return self if self.audience == "public" else public_report(self)

    def to_json(self) -> str:
        from sfumato.report.json import to_json

        return to_json(self)

    def to_markdown(self) -> str:
        """A short summary for a data-protection file."""
        from sfumato.report.markdown import to_markdown

        return to_markdown(self)

    def to_html(self) -> str:
        """A page that needs nothing but a browser."""
        from sfumato.report.html.report import report_page

        return report_page(self)

    @phase("writing")
    def save(self, path: str | Path, *, public: bool = False, force: bool = False) -> None:
        """Write a page (.html), all figures (.json) or a summary (.md), whole or not at all.

        It is private and only its owner may read it, unless `public` asks for the variant that may
        be handed out. `force`: replace the file that is there.
        """
        target = Path(path)
        check_kind(target)
        told = self.public() if public else self
        write = {".html": told.to_html, ".json": told.to_json, ".md": told.to_markdown}
        text = write[target.suffix]().rstrip("\n") + "\n"
        write_text(target, text, force=force, private=not public, what="report")

    def __repr__(self) -> str:
        from sfumato.report.text import to_text

        return to_text(self)


def check_kind(target: Path) -> None:
    """Refuse a name that does not say what to write; before any work is done."""
    if target.suffix not in ENDINGS:
        raise InputError(
            f"cannot write a report as {target.name!r}; use a name ending in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
