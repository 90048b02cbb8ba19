"""`sf.audit`: judge a release, or a table as it stands, by a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sfumato.adversaries.beliefs import Beliefs
from sfumato.adversaries.columns import weakest_columns
from sfumato.adversaries.linkage import JOURNALIST, NAME, THRESHOLD, Linkage, linkage
from sfumato.adversaries.random_worlds import RandomWorlds
from sfumato.adversaries.threat import Threat
from sfumato.criteria.base import Criterion, Verdict
from sfumato.criteria.epsilon_privacy import EpsilonPrivacy
from sfumato.criteria.judge import judge
from sfumato.criteria.k_map import KMap
from sfumato.policy.model import Policy
from sfumato.release.release import Release, as_it_stands
from sfumato.report.model import Finding, Report, Summary, WorstGroup
from sfumato.table.load import Table


def audit(
    subject: Release | Table,
    policy: Policy | Sequence[Criterion],
    *,
    population: Table | None = None,
    sampling_fraction: float | None = None,
    threshold: float = THRESHOLD,
) -> Report:
    """Judge every criterion of the policy and say what remains to be learnt.

    For the linkage section: `population` is a table of the population with the same
    quasi-identifiers (by default a k-map criterion's, else survey weights), `sampling_fraction`
    the share of the population that is in the release, `threshold` the risk people should not
    exceed.
    """
    criteria = policy.require if isinstance(policy, Policy) else Policy(policy).require
    release = as_it_stands(subject) if isinstance(subject, Table) else subject
    verdicts = [judge(criterion, release) for criterion in criteria]
    linked = linkage(
        release,
        population=population if population is not None else _population(criteria),
        sampling_fraction=sampling_fraction,
        thresholds=(threshold,),
    )
    return Report(
        summary=_summary(release),
        findings=tuple(Finding(verdict, _worst(verdict, release)) for verdict in verdicts),
        threats=tuple(_threats(release, criteria, linked)),
        notes=release.notes,
        linkage=linked,
        columns=weakest_columns(release),
        published=_as_published(release, criteria, verdicts),
    )


def _as_published(
    release: Release, criteria: Iterable[Criterion], verdicts: list[Verdict]
) -> tuple[Verdict, ...]:
    """What anybody can measure: the same criteria against the published distribution.

    Measured against the whole table, a figure would tell what suppressed people have.
    """
    if not release.suppressed:
        return tuple(verdicts)
    alone = {name: groups.unreferenced() for name, groups in release.by_attribute.items()}
    return tuple(judge(criterion, replace(release, by_attribute=alone)) for criterion in criteria)


def _population(criteria: Iterable[Criterion]) -> Table | None:
    """The population table the policy itself names, if it does."""
    for criterion in criteria:
        if isinstance(criterion, KMap) and isinstance(criterion.population, Table):
            return criterion.population
    return None


def _summary(release: Release) -> Summary:
    sizes = release.groups.sizes
    return Summary(
        label=release.label,
        scheme=release.scheme,
        people=int(sizes.sum()),
        groups=len(sizes),
        smallest=int(sizes.min()) if len(sizes) else 0,
        suppressed=release.suppressed,
        quasi=tuple(release.schema.quasi),
        sensitive=tuple(release.schema.sensitive),
        keep=tuple(release.schema.keep),
    )


def _worst(verdict: Verdict, release: Release) -> tuple[WorstGroup, ...]:
    if verdict.per_group is None:
        return ()
    return tuple(
        WorstGroup(
            release.regions.describe(group),
            int(release.groups.sizes[group]),
            float(verdict.per_group[group]),
        )
        for group in verdict.worst
    )


def _threats(release: Release, criteria: Iterable[Criterion], linked: Linkage) -> list[Threat]:
    """Every adversary that can run on this release, with the criteria that bound her."""
    found = [
        threat
        for groups in release.by_attribute.values()
        for threat in RandomWorlds(groups).threats()
    ]
    found += linked.threats()
    listed = list(criteria)
    for criterion in listed:
        if isinstance(criterion, EpsilonPrivacy):
            for name, groups in release.by_attribute.items():
                if criterion.sensitive in (None, name):
                    found += Beliefs(criterion.adversary, groups).threats()
    return [
        replace(
            threat,
            covered=tuple(dict.fromkeys(c.name for c in listed if _bounds(c, threat))),
        )
        for threat in found
    ]


def _bounds(criterion: Criterion, threat: Threat) -> bool:
    """Whether a criterion bounds an adversary; who bounds a prosecutor bounds a journalist too."""
    return criterion.against == threat.adversary or (
        criterion.against == NAME and threat.adversary == JOURNALIST
    )
