"""The adversaries of the threat matrix, from weak to strong, and the matrix itself.

An adversary of a new paper is one `Rung` here; its rows come from the audit's threats, by name. One
that was not run on a release is still a row, which says how to have it measured.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sfumato.adversaries import random_worlds
from sfumato.adversaries.leakage import observer as leakage
from sfumato.adversaries.linkage import risks as linkage
from sfumato.adversaries.randomised import semantic
from sfumato.adversaries.relative_threat.result import ATTACKER, LEARNER
from sfumato.adversaries.skyline import breach as skyline
from sfumato.adversaries.threat import BeliefChange, Threat
from sfumato.report.report import Report, few

_OF_SEVERAL = ("alpha-k-anonymity", "skyline-privacy")  # they can judge several values a person
_OF_ROWS = ("k-anonymity", "k-map")  # of exact quasi-identifiers, which no bucket changes
_TARGET = "the target's quasi-identifiers, and that the target is in the release"


@dataclass(frozen=True)
class Rung:
    """One adversary: what she knows, what she is after, how to have her measured, what bounds her.

    Every criterion in `criteria` bounds her; one that no release of ours can keep has none.
    """

    adversary: str
    knows: str
    learns: str
    measure: str
    criteria: tuple[str, ...] = ()


LADDER = (
    Rung(
        linkage.JOURNALIST,
        "the quasi-identifiers of everybody in the population",
        "whose row it is",
        "give a register of the population (audit --population), or survey weights",
        ("k-map", "k-anonymity"),
    ),
    Rung(
        linkage.MARKETER,
        "everybody's quasi-identifiers, and that they are in the release",
        "whose rows they are, for as many people as possible",
        "audit a release that is not randomised",
        ("k-anonymity",),
    ),
    Rung(
        linkage.PROSECUTOR,
        _TARGET,
        "which row is the target's",
        "audit a release that is not randomised",
        ("k-anonymity",),
    ),
    Rung(
        random_worlds.NAME,
        _TARGET,
        "the target's sensitive value, from the counts of the target's group",
        "name a sensitive column",
        ("t-closeness", "entropy-diversity", "alpha-k-anonymity"),
    ),
    Rung(
        leakage.NAME,
        "the distribution of the sensitive values, and how it differs between groups",
        "how much more (or less) likely a value is in a group than in the table",
        "require distribution-leakage or entropy-leakage in the policy",
        ("distribution-leakage", "entropy-leakage"),
    ),
    Rung(
        "realistic I",
        f"{_TARGET}, and outside statistics of known shape and limited size",
        "the sensitive value: how far the row moves a belief formed outside",
        "require epsilon-privacy with a shape and a stubbornness",
        ("epsilon-privacy",),
    ),
    Rung(
        "realistic II",
        f"{_TARGET}, and outside statistics of any shape and limited size",
        "the sensitive value: how far the row moves a belief formed outside",
        "require epsilon-privacy with a stubbornness and no shape",
        ("epsilon-privacy",),
    ),
    Rung(
        "realistic III",
        f"{_TARGET}, and outside statistics of known shape that nothing can move",
        "the sensitive value: how far the row moves a belief formed outside",
        "require epsilon-privacy with a shape and stubbornness inf",
        ("epsilon-privacy",),
    ),
    Rung(
        skyline.NAME,
        "facts about the target, about some other people, and who has the same value",
        "the target's sensitive value, as surely as so many facts allow",
        "require skyline-privacy, or run: sfumato skyline RELEASE",
        ("skyline-privacy",),
    ),
    Rung(
        LEARNER,
        "the target's quasi-identifiers, and what the release tells of the population",
        "the sensitive value of anybody with given quasi-identifiers, in the release or not",
        "audit with --original TABLE, or run: sfumato attack bayes",
    ),
    Rung(
        ATTACKER,
        "what the learner knows, and that the target is in the release",
        "the target's sensitive value, beyond what a learner would know",
        "audit with --original TABLE, or run: sfumato attack bayes",
        ("relative-threat",),
    ),
    Rung(
        "composition",
        "the target's quasi-identifiers, and other releases about the same people",
        "the sensitive values that all releases leave possible for the target",
        "audit with --original TABLE --earlier RELEASE, or run: sfumato attack intersect",
        ("composition",),
    ),
)

OF_NOISE = Rung(
    semantic.NAME,
    "anything: any prior, any other release, everybody else's records",
    "how much more she learns than if the target's record were not there",
    "",
    ("differential-privacy",),
)
BEYOND = (
    "Not in it: somebody whose outside belief may be anything and whom nothing can move (realistic "
    "IV), and any prior whatsoever. No release of people's groups holds against them; only noise "
    "does."
)


@dataclass(frozen=True)
class ThreatRow:
    """One row of the matrix. `people` is a text where a public report may not tell the number.

    `people_at_most`: so many or fewer.
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
    """Every adversary we know, weak to strong; those unknown to the ladder come last."""
    rows = []
    ladder = (*LADDER, OF_NOISE) if noisy(report) else LADDER
    for rung in ladder:
        found = [threat for threat in report.every_threat if _is(threat, rung)]
        rows += [_measured(report, threat, rung) for threat in found] or [_open(report, rung)]
    others = [t for t in report.every_threat if not any(_is(t, rung) for rung in ladder)]
    return rows + [_measured(report, threat, None) for threat in others]


def about_of(one: Threat | ThreatRow) -> str | None:
    """What she would learn of: a column, or whose row it is; None where neither was measured."""
    if one.about is None and one.adversary == semantic.NAME:
        return "anything"
    of_rows = one.adversary in linkage.WHOSE_ROW
    return "whose row" if one.about is None and of_rows else one.about


def noisy(report: Report) -> bool:
    """Whether it is about a randomised release, whose promise is the same to every adversary."""
    return report.summary.scheme == "randomised"


def _is(threat: Threat, rung: Rung) -> bool:
    """Whether a threat is this adversary's, or that of one who expects something else."""
    name, kind = threat.adversary, rung.adversary
    return name == kind or name.startswith((f"{kind} ", f"{kind},"))


def _measured(report: Report, threat: Threat, rung: Rung | None) -> ThreatRow:
    learns = threat.learns
    if report.audience == "public" and any(sign.isdigit() for sign in learns):
        # The adversary's own words hold counts.
        learns = rung.learns if rung is not None else "told to the owner of the data only"
    people = None if threat.people is None else few(report, threat.people.number)
    return ThreatRow(
        threat.adversary,
        threat.knows,
        learns,
        threat.about,
        people,
        threat.belief,
        threat.covered,
        threat.status,
        threat.people is not None and threat.people.at_most,
    )


def _open(report: Report, rung: Rung) -> ThreatRow:
    if noisy(report):
        why = "not measured: counts are noisy, and whatever she knows the guarantee bounds her"
        return ThreatRow(rung.adversary, rung.knows, why, None, None, None, (), "not_applicable")
    if why := _undefined(report, rung):
        return ThreatRow(rung.adversary, rung.knows, why, None, None, None, (), "not_applicable")
    criteria = report.evidence.criteria if report.evidence is not None else ()
    covered = tuple(dict.fromkeys(one.name for one in criteria if one.against == rung.adversary))
    why = f"not measured on this release; to have it measured, {rung.measure}"
    return ThreatRow(rung.adversary, rung.knows, why, None, None, None, covered, "not_measured")


def _undefined(report: Report, rung: Rung) -> str:
    """Why she cannot be measured on this release at all; empty where she can, or may be."""
    if rung.adversary not in (LEARNER, ATTACKER) or report.evidence is None:
        return ""
    from sfumato.adversaries.relative_threat.relative import undefined

    release = report.evidence.release
    found = [undefined(release, groups) for groups in release.by_attribute.values()]
    return found[0] if all(found) else ""


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
        for rung in LADDER:
            fit = tuple(name for name in rung.criteria if _applies(name, row.about, report))
            if rung.adversary == row.adversary and fit:
                found.append(Unbounded(row.adversary, row.about, fit))
    return list(dict.fromkeys(found))


def _applies(name: str, about: str | None, report: Report) -> bool:
    """Whether a criterion of this name could judge the column; most take one value a person."""
    if report.summary.scheme == "bucketized" and name in _OF_ROWS:
        return False
    if about is None or report.evidence is None:
        return True
    groups = report.evidence.release.by_attribute.get(about)
    return groups is None or groups.single_valued or name in _OF_SEVERAL
