"""`sf.audit`: judge a release, or a table as it stands, by a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.adversaries.composition.true_groups import with_people_of
from sfumato.adversaries.linkage.columns import weakest_columns
from sfumato.adversaries.linkage.risks import (
    PROSECUTOR,
    THRESHOLD,
    WHOSE_ROW,
    Linkage,
    linkage,
)
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.adversaries.randomised.semantic import semantic_privacy
from sfumato.adversaries.realistic.beliefs import Beliefs
from sfumato.adversaries.relative_threat.result import RelativeThreat
from sfumato.adversaries.skyline.acquaintance import Acquaintance
from sfumato.adversaries.threat import Threat
from sfumato.criteria.base import Criterion, Verdict
from sfumato.criteria.composition import CompositionBound
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.judge import by_counts, groups_about, judge, worst_of
from sfumato.criteria.k_map import KMap
from sfumato.criteria.leakage import DistributionLeakage, EntropyLeakage
from sfumato.criteria.relative_threat import RelativeThreatBound
from sfumato.criteria.skyline_privacy import SkylinePrivacy
from sfumato.errors import InputError, SfumatoError, expect
from sfumato.policy.model import Policy
from sfumato.progress import phase
from sfumato.release.groups import Groups
from sfumato.release.joint import BETWEEN
from sfumato.release.members import Members
from sfumato.release.membership import with_inside
from sfumato.release.read.source import StrayColumns
from sfumato.release.regions import Regions
from sfumato.release.release import Release, as_it_stands
from sfumato.release.write.own_values import own_values_note
from sfumato.report.advice import Advice
from sfumato.report.report import (
    CriterionFinding,
    Evidence,
    ReleaseSummary,
    Report,
    WorstGroup,
    shows_all,
)
from sfumato.table.load import Table
from sfumato.workflow.advise import advise
from sfumato.workflow.published import as_read
from sfumato.workflow.usual import late_threats, usual_threats

Judged = tuple[Criterion, Verdict]


@phase("judging")
def audit(
    subject: Release | Table,
    policy: Policy | Sequence[Criterion],
    *,
    population: Table | None = None,
    sampling_fraction: float | None = None,
    threshold: float = THRESHOLD,
    attacks: Sequence[Any] = (),
    table: Table | None = None,
) -> Report:
    """Judge every criterion of the policy and say what remains to be learnt.

    For the linkage section: `population` is a table of the population with the same
    quasi-identifiers (by default a k-map criterion's, else survey weights), `sampling_fraction`
    the share of the population that is in the release, `threshold` the risk people should not
    exceed. `attacks` are results of attacks on this release, which an audit does not run by itself
    (`relative_threat`, `intersection_attack`). `table` is the one the release was made of, where
    it was not made here: what the release costs is measured on it, and it tells who is in which
    group, for the criteria that ask (composition).
    """
    expect("subject", subject, (Release, Table), "a Release or a Table")
    for result in attacks:
        if not hasattr(result, "threats"):
            raise InputError(f"attacks: {type(result).__name__} is not the result of an attack")
    given = policy if isinstance(policy, Policy) else None
    criteria = tuple((policy if isinstance(policy, Policy) else Policy(policy)).require)
    release = as_it_stands(subject) if isinstance(subject, Table) else subject
    if table is not None:
        release = with_people_of(release, table)
    verdicts = [_judged(criterion, release, attacks) for criterion in criteria]
    linked = linkage(
        release,
        population=population if population is not None else _population(criteria),
        sampling_fraction=sampling_fraction,
        thresholds=(threshold,),
    )
    judged = list(zip(criteria, verdicts, strict=True))
    seen = as_read(release)
    threats = _threats(release, seen, criteria, linked)
    threats = _covered(threats + _found([*attacks, *verdicts]), judged, release)
    besides = _strays(release.stray)
    return Report(
        summary=_summary(release, raw=isinstance(subject, Table) or shows_all(release)),
        findings=tuple(
            CriterionFinding(verdict, _worst(verdict, release)) for verdict in (*besides, *verdicts)
        ),
        threats=tuple(threats),
        notes=(*release.notes, *own_values_note(release)),
        linkage=linked,
        columns=weakest_columns(release),
        published=(*besides, *_as_published(release, criteria, verdicts)),
        evidence=Evidence(
            release,
            criteria,
            Audited(release, seen, tuple(judged), tuple(threats), given, threshold),
            given,
            tuple(attacks),
            table,
        ),
    )


@dataclass(frozen=True)
class Audited:
    """A release that was judged, and what takes longer to find out about it (`Inquiry`).

    `seen` is it as anybody reads it; `threats` are those that were measured at once.
    """

    release: Release
    seen: Release
    judged: tuple[Judged, ...]
    threats: tuple[Threat, ...]
    policy: Policy | None
    threshold: float

    def late_threats(self) -> list[Threat]:
        """The threats that only a report that is shown has worked out."""
        late = late_threats(self.seen, _named(self.threats))
        return _covered(late, self.judged, self.seen)

    def advice(self) -> Advice:
        """What could be done about it."""
        criteria = [criterion for criterion, _ in self.judged]
        return advise(self.release, criteria, [found for _, found in self.judged], self.policy)

    def as_published(self) -> Report:
        """The release as anybody reads it, and by what anybody can measure on it."""
        seen = as_read(self.release)
        criteria = tuple(criterion for criterion, _ in self.judged)
        open_to_all = [criterion for criterion in criteria if not criterion.private]
        linked = linkage(seen, thresholds=(self.threshold,))
        judged = [(one, _by_anybody(one, seen, None)) for one in open_to_all]
        threats = _covered(_threats(seen, seen, open_to_all, linked), judged, seen)
        again = Audited(seen, seen, tuple(judged), tuple(threats), self.policy, self.threshold)
        return Report(
            summary=_summary(seen, raw=shows_all(seen)),
            findings=(),
            threats=tuple(threats),
            notes=seen.notes,
            linkage=linked,
            evidence=Evidence(seen, criteria, again, self.policy),
        )


def _strays(stray: StrayColumns) -> tuple[Verdict, ...]:
    """Verdicts on what a file publishes besides the columns that are judged."""
    found = []
    if stray.identifiers:
        found.append(
            Verdict(
                "identifiers",
                "violated",
                None,
                "none in the file",
                attribute=", ".join(stray.identifiers),
                note="the file names people: take them out",
            )
        )
    if stray.without_role:
        found.append(
            Verdict(
                "columns without a role",
                "cannot_judge",
                None,
                "none in the file",
                attribute=", ".join(stray.without_role),
                note="published in the file, and nothing says what they give away: give each a "
                "role (keep, to publish it as it is), or take it out",
            )
        )
    return tuple(found)


def _judged(criterion: Criterion, release: Release, attacks: Sequence[Any]) -> Verdict:
    """The verdict; by an attack that was run already where that is what the criterion bounds."""
    if isinstance(criterion, RelativeThreatBound):
        known = [
            criterion.judge_threat(release.groups_for(attack.attribute), attack)
            for attack in attacks
            if isinstance(attack, RelativeThreat)
            and criterion.sensitive in (None, attack.attribute)
        ]
        if known:
            return worst_of(known)
    return judge(criterion, release)


def _as_published(
    release: Release, criteria: Iterable[Criterion], verdicts: list[Verdict]
) -> tuple[Verdict, ...]:
    """What anybody can measure: the same criteria against the published distribution.

    Measured against the whole table, a figure would tell what suppressed people have; measured on
    people's true values, it is not told at all.
    """
    seen = as_read(release) if release.suppressed else None
    return tuple(
        replace(verdict, measured=None, worst=(), per_group=None, note="", threats=())
        if criterion.private
        else verdict
        if seen is None
        else _by_anybody(criterion, seen, verdict)
        for criterion, verdict in zip(criteria, verdicts, strict=True)
    )


def _by_anybody(criterion: Criterion, seen: Release, verdict: Verdict | None) -> Verdict:
    """What the published people show; nothing where the policy names a value they lack."""
    try:
        return judge(criterion, seen)
    except SfumatoError:
        if verdict is None:
            return criterion.unjudged("cannot_judge", "")
        return replace(verdict, measured=None, worst=(), per_group=None, note="", threats=())


def _population(criteria: Iterable[Criterion]) -> Table | None:
    """The population table the policy itself names, if it does."""
    for criterion in criteria:
        if isinstance(criterion, KMap) and isinstance(criterion.population, Table):
            return criterion.population
    return None


def _summary(release: Release, *, raw: bool) -> ReleaseSummary:
    sizes = release.groups.sizes
    return ReleaseSummary(
        label=release.label,
        scheme=release.scheme,
        people=release.people,
        groups=release.groups.number(),
        smallest=int(sizes.min()) if len(sizes) else 0,
        suppressed=release.suppressed,
        quasi=tuple(release.schema.quasi),
        sensitive=tuple(release.schema.sensitive),
        keep=tuple(release.schema.keep),
        raw=raw,
    )


def _worst(verdict: Verdict, release: Release) -> tuple[WorstGroup, ...]:
    if verdict.per_group is None:
        return ()
    groups: Groups = release.groups
    described: Regions | Members = release.regions
    if verdict.per == "tuple":
        groups = release.indistinguishable
        assert groups.regions is not None
        described = groups.regions
    return tuple(
        WorstGroup(
            described.describe(group),
            int(groups.sizes[group]),
            float(verdict.per_group[group]),
            verdict.bounded is not None and bool(verdict.bounded[group]),
        )
        for group in verdict.worst
    )


def _threats(
    release: Release, seen: Release, criteria: Iterable[Criterion], linked: Linkage
) -> list[Threat]:
    """Every adversary that can run on this release; `seen` is it as anybody reads it.

    An adversary that the policy names has what the policy gives her; all others have what is
    published.
    """
    if release.guarantee is not None:  # who reads noisy counts as if they were exact errs
        semantic = semantic_privacy(release.guarantee, release.people)
        return [*semantic.threats(), *linked.threats()]
    found = [
        threat for groups in seen.by_attribute.values() for threat in RandomWorlds(groups).threats()
    ]
    found += linked.threats()
    listed = list(criteria)
    if release.groups.multiplicity is not None:  # what groups count is all that is known of them
        listed = [criterion for criterion in listed if by_counts(criterion)]
    for criterion in listed:
        if isinstance(criterion, EpsilonPrivacy):
            for name, groups in release.by_attribute.items():
                if criterion.sensitive in (None, name):
                    found += Beliefs(criterion.adversary, groups).threats()
    for criterion in listed:
        if isinstance(criterion, DistributionLeakage | EntropyLeakage):
            found += [t for t in _observed(criterion, release) if t not in found]
        if isinstance(criterion, SkylinePrivacy):
            found += [t for t in _acquainted(criterion, release) if t not in found]
        if isinstance(criterion, CompositionBound):
            for name, groups in release.by_attribute.items():
                if criterion.sensitive in (None, name):
                    found += criterion.threats(with_inside(release, groups))
    return found + usual_threats(seen, _named(found))


def _named(threats: Iterable[Threat]) -> set[tuple[str, str]]:
    """Who has been asked about which column."""
    return {(threat.adversary, threat.about or "") for threat in threats}


def _found(results: Sequence[Any]) -> list[Threat]:
    """What the adversaries learnt that were run before, or to judge a criterion; each told once."""
    found: list[Threat] = []
    for result in results:
        found += result.threats if isinstance(result, Verdict) else result.threats()
    return list(dict.fromkeys(found))


def _covered(found: Sequence[Threat], judged: Sequence[Judged], release: Release) -> list[Threat]:
    """Threats with the criteria that bound them: that judge this adversary and this column."""
    return [
        replace(
            threat,
            covered=tuple(
                dict.fromkeys(
                    criterion.name
                    for criterion, verdict in judged
                    if _bounds(criterion, threat) and _judges(criterion, verdict, threat, release)
                )
            ),
        )
        for threat in found
    ]


def _observed(
    criterion: DistributionLeakage | EntropyLeakage, release: Release
) -> Iterator[Threat]:
    """The observer a leakage bound is about, on every target of hers."""
    for groups in groups_about(criterion, release):
        yield from criterion.observer.threats(groups)


def _acquainted(criterion: SkylinePrivacy, release: Release) -> Iterator[Threat]:
    """Whoever knows as much as a point of a skyline says, by the values it is about."""
    for name, groups in release.by_attribute.items():
        if criterion.sensitive in (None, name) and len(groups) and groups.width:
            for known, targets in criterion.known(groups).items():
                yield from Acquaintance(groups, known, targets).threats()


def _bounds(criterion: Criterion, threat: Threat) -> bool:
    """Whether a criterion bounds an adversary.

    Who bounds a prosecutor bounds a journalist, who is weaker, and a marketer, who is right as
    often as prosecutors are on average.
    """
    return criterion.against == threat.adversary or (
        criterion.against == PROSECUTOR and threat.adversary in WHOSE_ROW
    )


def _judges(criterion: Criterion, verdict: Verdict, threat: Threat, release: Release) -> bool:
    """Whether a criterion has a say about the column of a threat in this release."""
    if threat.about is None or not criterion.reads_values:
        return verdict.status != "not_applicable"
    if criterion.joint:
        return threat.about == BETWEEN.join(criterion.joint)
    if criterion.sensitive not in (None, threat.about) or threat.about not in release.by_attribute:
        return False
    return not criterion.inapplicable(release.by_attribute[threat.about])
