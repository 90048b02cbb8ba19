"""The threat matrix: every adversary of the catalogue, from weak to strong.

Rows come from the audit's threats, by name. An adversary who was not run on a release is still a
row, which says how to have her measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from sfumato.adversaries.base import FACTOR, BeliefChange, CatalogueEntry, Threat
from sfumato.adversaries.catalogue import ADVERSARIES, entry_of
from sfumato.criteria import CRITERIA
from sfumato.report.report import Report, few


@dataclass(frozen=True)
class ThreatRow:
    """One row of the matrix: the fields of a Threat, as a reader may be told of them.

    `people` is a text where a public report may not tell the number; `people_at_most`: so many or
    fewer.
    """

    adversary: str
    knows: str
    learns: str
    about: str | None
    people: int | str | None
    belief: BeliefChange | None
    covered: tuple[str, ...]
    status: str
    people_at_most: bool = False

    @property
    def people_told(self) -> int | str | None:
        """The people as a reader is told of them."""
        if not self.people_at_most:
            return self.people
        told = self.people if isinstance(self.people, str) else f"{self.people:,}"
        return f"at most {told}"

    def to_dict(self) -> dict[str, Any]:
        belief = self.belief
        told = {
            "value": None if belief is None else belief.value or None,
            "before": None if belief is None else belief.before,
            "after": None if belief is None else belief.after,
            "at_most": belief is not None and belief.at_most,
            "factor": None if belief is None else belief.factor,
        }
        row = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "belief"}
        return row | told


def matrix(report: Report) -> list[ThreatRow]:
    """Every adversary we know, weak to strong; those unknown to the catalogue come last."""
    rows = []
    for entry in ADVERSARIES.values():
        own = [threat for threat in report.every_threat if entry.owns(threat.adversary)]
        rows += [_measured(report, threat, entry) for threat in own]
        if not own and (report.noisy or not entry.of_noise_alone):
            rows.append(_open(report, entry))
    others = [threat for threat in report.every_threat if entry_of(threat.adversary) is None]
    return rows + [_measured(report, threat, None) for threat in others]


def about_of(one: Threat | ThreatRow) -> str | None:
    """What she would learn of: a column, or whose row it is; None where neither was measured."""
    entry = entry_of(one.adversary)
    return entry.about if one.about is None and entry is not None else one.about


# The columns of the matrix, by what heads them on a page. JSON has the fields of ThreatRow.
COLUMNS: dict[str, Callable[[ThreatRow], object]] = {
    "adversary": lambda row: row.adversary,
    "knows": lambda row: row.knows,
    "about": about_of,
    "before → after": lambda row: None if row.belief is None else str(row.belief),
    "people": lambda row: row.people_told,
    "would learn": lambda row: row.learns,
    "bounded by": lambda row: ", ".join(row.covered) or "no criterion",
    "status": lambda row: row.status.replace("_", " "),
}
# Those that a terminal has room for, by what heads them there.
BRIEF_COLUMNS = {
    "adversary": "adversary",
    "about": "about",
    "before → after": "before → after",
    f"people moved more than {FACTOR:g}×": "people",
    "bounded by": "bounded by",
}


def _measured(report: Report, threat: Threat, entry: CatalogueEntry | None) -> ThreatRow:
    """A threat as the reader of this report may be told of it."""
    learns = threat.learns
    if report.audience == "public" and any(sign.isdigit() for sign in learns):
        # The adversary's own words hold counts.
        learns = entry.learns if entry is not None else "told to the owner of the data only"
    people = threat.people
    told: dict[str, Any] = {one.name: getattr(threat, one.name) for one in fields(threat)}
    told |= {
        "learns": learns,
        "people": None if people is None else few(report, people.number),
        "people_at_most": people is not None and people.at_most,
    }
    return ThreatRow(**told)


def _open(report: Report, entry: CatalogueEntry) -> ThreatRow:
    if report.noisy:
        why = "not measured: counts are noisy, and whatever she knows the guarantee bounds her"
        return ThreatRow(entry.name, entry.knows, why, None, None, None, (), "not_applicable")
    if why := _undefined(report, entry):
        return ThreatRow(entry.name, entry.knows, why, None, None, None, (), "not_applicable")
    criteria = report.evidence.criteria if report.evidence is not None else ()
    covered = tuple(dict.fromkeys(one.name for one in criteria if one.against == entry.name))
    why = f"not measured on this release; to have it measured, {entry.measure}"
    return ThreatRow(entry.name, entry.knows, why, None, None, None, covered, "not_measured")


def _undefined(report: Report, entry: CatalogueEntry) -> str:
    """Why she cannot be measured on this release at all; empty where she can, or may be."""
    if report.evidence is None:
        return ""
    release = report.evidence.release
    reasons = [entry.undefined(release, groups) for groups in release.by_attribute.values()]
    return reasons[0] if all(reasons) else ""


@dataclass(frozen=True)
class Unbounded:
    """An adversary who learns something of a column, and the criteria that could bound that."""

    adversary: str
    about: str | None
    criteria: tuple[str, ...]


def uncovered(report: Report) -> list[Unbounded]:
    """The adversaries that were measured and are bounded by nothing, though they could be.

    Only criteria that can judge the column are named: not every one can where people have several
    values.
    """
    found = []
    for row in matrix(report):
        if row.status != "measured" or row.covered or not row.people:
            continue
        entry = ADVERSARIES.get(row.adversary)
        fit = () if entry is None else entry.criteria
        fit = tuple(name for name in fit if _applies(name, row.about, report))
        if fit:
            found.append(Unbounded(row.adversary, row.about, fit))
    return list(dict.fromkeys(found))


def _applies(name: str, about: str | None, report: Report) -> bool:
    """Whether a criterion of this name could judge the column; most take one value a person."""
    criterion = CRITERIA[name]
    if report.evidence is None:
        return True
    if report.evidence.release.regions.exact and criterion.about_identity:
        return False  # it asks about exact quasi-identifiers, which no bucket changes
    if about is None:
        return True
    groups = report.evidence.release.by_attribute.get(about)
    return groups is None or groups.single_valued or criterion.of_several
