"""`sf.audit`: judge a release, or a table as it stands, by a policy.

Here too: a release as anybody reads it, and attacks that an audit does not run by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.adversaries.base import Attack, Threat
from sfumato.adversaries.catalogue import knows_owners, stand_in_threats, weak_to_strong
from sfumato.adversaries.composition.true_groups import with_people_of
from sfumato.adversaries.linkage.presence import NAME as PRESENCE
from sfumato.adversaries.linkage.presence import PresenceSeeker
from sfumato.adversaries.linkage.risks import THRESHOLD, Linkage, Linker, weakest_columns
from sfumato.criteria.base import Criterion, Verdict, groups_about, judge, named_threats
from sfumato.errors import InputError, SfumatoError, expect
from sfumato.policy.model import Policy
from sfumato.policy.rules.base import JudgedRelease
from sfumato.policy.rules.free_text import FreeText, texts_of
from sfumato.progress import phase
from sfumato.release.beside import SeveralGroups
from sfumato.release.build import BETWEEN
from sfumato.release.groups import Groups
from sfumato.release.made import MadeHere, ReadFrom
from sfumato.release.read.read_release import table_as_published
from sfumato.release.read.source import StrayColumns
from sfumato.release.release import Release
from sfumato.release.unlinked import owners_unknown
from sfumato.release.within_limits import limit_findings
from sfumato.release.write.cells import own_values_note
from sfumato.release.write.weights import sums_as_published
from sfumato.report.provenance import Provenance, checked_name
from sfumato.report.report import (
    ABSENT,
    Advice,
    CriterionFinding,
    Evidence,
    ReleaseSummary,
    Report,
    WorstGroup,
    shows_all,
)
from sfumato.schema.domain import Domain
from sfumato.table import Table
from sfumato.workflow.advise import advise

# A release as anybody reads it: no table behind it, no weights, no value that nobody shows.


def as_read(release: Release) -> Release:
    """The same groups, told by what is published alone.

    Distributions are those of published people, and a value that only suppressed people have is
    not there, unless the schema declares it.
    """
    alone = {}
    for name, groups in release.by_attribute.items():
        declared = name in release.schema.domains
        alone[name] = groups.unreferenced() if declared else _by_present_values(groups)
    by_row = None if release.by_row is None else as_read(release.by_row)
    return replace(release, counted_groups=alone, population=None, by_row=by_row)


def as_handed_out(release: Release) -> Release:
    """As anybody reads it: of rows published one by one nobody else knows whose they are.

    Survey weights are added up as far as they are published.
    """
    seen = replace(as_read(release), population=sums_as_published(release))
    if not _knows_whose(release):
        return seen
    alone = {
        name: groups
        if groups.beside.unlinked is None
        else owners_unknown(groups.beside.unlinked.by_row)
        for name, groups in seen.by_attribute.items()
    }
    return replace(seen, counted_groups=alone, several=SeveralGroups(release.people))


def _knows_whose(release: Release) -> bool:
    """Whether rows are published one by one, and are known here to be whose they are."""
    return release.groups.beside.unlinked is not None and not release.groups.owners_unknown


def _by_present_values(groups: Groups) -> Groups:
    """Groups by the values somebody in them has."""
    present = np.unique(groups.indices)
    if len(present) == groups.width:
        return groups.unreferenced()
    domain = groups.domain
    if domain is not None:
        values = tuple(domain.values[code] for code in present)
        domain = Domain(domain.name, domain.kind, values)
    codes = np.full(groups.width, -1, dtype=np.int64)
    codes[present] = np.arange(len(present))
    return groups.relabel(codes, tuple(groups.values[code] for code in present), domain)


# Attacks that an audit does not run by itself: they take the table that the release was made of,
# and their time.


def attacks_on(
    release: Release,
    table: Table,
    earlier: Sequence[Release] = (),
    criteria: Sequence[Criterion] = (),
    *,
    seed: int = 0,
) -> tuple[Attack, ...]:
    """Learner against attacker, and what earlier releases add; for every sensitive attribute.

    `table` is the one the release was made of: it has the people who are attacked. Where
    learner and attacker are not defined they are left out, and the threat matrix says why. The
    `criteria` have theirs run as they say; the others' attributes are attacked in the usual way.
    """
    from sfumato.adversaries.relative_threat.relative import MembershipAttacker
    from sfumato.adversaries.relative_threat.result import RelativeThreat, undefined

    by_attribute = {name: groups for name, groups in release.by_attribute.items() if name}
    if not by_attribute:
        raise InputError("the release has no sensitive column, so nothing could be learnt from it")
    attacker = MembershipAttacker(table, seed=seed)
    results: list[Attack] = []
    for criterion in criteria:
        if criterion.judge_attacks(release, results) is None:
            asked = criterion.asked_with(release, table)
            results += [adversary.attack(release, groups) for adversary, groups in asked]
    done = {attack.attribute for attack in results if isinstance(attack, RelativeThreat)}
    results += [
        attacker.attack(release, groups)
        for name, groups in by_attribute.items()
        if name not in done and not undefined(release, groups)
    ]
    if earlier:
        from sfumato.adversaries.composition.attack import Intersector

        results += [
            Intersector(tuple(earlier), table, truth=name).attack(release, groups)
            for name, groups in by_attribute.items()
        ]
    return tuple(results)


JudgedCriterion = tuple[Criterion, Verdict]


@phase("judging")
def audit(
    subject: Release | Table,
    policy: Policy | Sequence[Criterion],
    *,
    population: Table | None = None,
    sampling_fraction: float | None = None,
    threshold: float = THRESHOLD,
    attacks: Sequence[Attack] = (),
    table: Table | None = None,
    by: str = "",
) -> Report:
    """Judge every criterion of the policy and say what remains to be learnt.

    For the linkage section: `population` is a table of the population with the same
    quasi-identifiers (by default a k-map criterion's, else survey weights), `sampling_fraction`
    the share of the population that is in the release, `threshold` the risk people should not
    exceed. `attacks` are results of attacks on this release, which an audit does not run by itself
    (`relative_threat`, `intersection_attack`). `table` is the one the release was made of, where
    it was not made here: what the release costs is measured on it, and it tells who is in which
    group, for the criteria that ask (composition). `by`: who answers for it, as the page says.
    """
    expect("subject", subject, (Release, Table), "a Release or a Table")
    for result in attacks:
        if not hasattr(result, "threats"):
            raise InputError(f"attacks: {type(result).__name__} is not the result of an attack")
    given = policy if isinstance(policy, Policy) else None
    criteria = tuple((policy if isinstance(policy, Policy) else Policy(policy)).require)
    release = table_as_published(subject) if isinstance(subject, Table) else subject
    provenance = Provenance(
        checked_name(by),
        release_files=release.made.files if isinstance(release.made, ReadFrom) else (),
        raw=shows_all(release),
        table=_made_of(subject, table),
        policy=given,
    )
    if table is not None:
        earlier = [before for criterion in criteria for before in criterion.before or ()]
        release = with_people_of(release, table, earlier)
    verdicts = [
        criterion.judge_attacks(release, attacks) or judge(criterion, release)
        for criterion in criteria
    ]
    register = population if population is not None else _population(criteria)
    linked = Linker(register, sampling_fraction, (threshold,)).attack(release)
    judged = list(zip(criteria, verdicts, strict=True))
    seen = as_read(release)
    threats = _threats(release, seen, criteria, linked)
    if register is not None and not any(threat.adversary == PRESENCE for threat in threats):
        threats += PresenceSeeker(register).attack(release).threats()
    threats = _covered(
        weak_to_strong(threats) + _threats_of([*attacks, *verdicts]), judged, release
    )
    texts = texts_of(release)
    besides = (*_strays(release.stray), *_limits(release, given), *_texts(texts, release))
    rules = None
    if given is not None and given.profile is not None:
        judged_release = JudgedRelease(release, criteria, tuple(verdicts), linked)
        rules = given.profile.judge(judged_release)
    return Report(
        summary=_summary(release, raw=shows_all(release)),
        findings=tuple(
            CriterionFinding(verdict, _worst(verdict, release)) for verdict in (*besides, *verdicts)
        ),
        threats=tuple(threats),
        notes=(*release.notes, *own_values_note(release)),
        linkage=linked,
        columns=weakest_columns(release),
        published=(*besides, *_as_published(release, criteria, verdicts)),
        rules=rules,
        insisted=tuple(text for text in texts if text.column in release.schema.insist),
        evidence=Evidence(
            release,
            criteria,
            Audited(release, seen, tuple(judged), tuple(threats), given, threshold),
            given,
            tuple(attacks),
            table,
        ),
        provenance=provenance,
    )


def _made_of(subject: Release | Table, table: Table | None) -> Table | None:
    """The table that is judged, or that a release is of, where it is at hand."""
    if isinstance(subject, Table):
        return subject
    return table if subject.placement is None else subject.placement.table


@dataclass(frozen=True)
class Audited:
    """A release that was judged, and what takes longer to find out about it (`Inquiry`).

    `seen` is it as anybody reads it; `threats` are those that were measured at once.
    """

    release: Release
    seen: Release
    judged: tuple[JudgedCriterion, ...]
    threats: tuple[Threat, ...]
    policy: Policy | None
    threshold: float
    for_anybody: bool = False  # True: what only its owner knows is not asked

    @phase("attacking")
    def late_threats(self) -> list[Threat]:
        """The threats that only a report that is shown has worked out."""
        late = stand_in_threats(self.seen, "when shown", _named(self.threats))
        if self.for_anybody:
            late = [threat for threat in late if not knows_owners(threat, self.seen)]
        return _covered(late, self.judged, self.seen)

    @phase("looking for advice")
    def advice(self) -> Advice:
        """What could be done about it."""
        criteria = [criterion for criterion, _ in self.judged]
        return advise(self.release, criteria, [verdict for _, verdict in self.judged], self.policy)

    def as_published(self) -> Report:
        """The release as anybody reads it, and by what anybody can measure on it."""
        seen = as_handed_out(self.release)
        criteria = tuple(criterion for criterion, _ in self.judged)
        open_to_all = [criterion for criterion in criteria if not criterion.stays_private(seen)]
        linked = Linker(thresholds=(self.threshold,)).attack(seen)
        linked = replace(linked, households=None)  # who lives together is not published
        judged = [(criterion, _by_anybody(criterion, seen, None)) for criterion in open_to_all]
        threats = _covered(_threats(seen, seen, open_to_all, linked), judged, seen)
        threats = [threat for threat in threats if not knows_owners(threat, seen)]
        asked = seen, seen, tuple(judged), tuple(threats), self.policy, self.threshold
        again = Audited(*asked, for_anybody=True)
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
    verdicts = []
    if stray.identifiers:
        verdicts.append(
            Verdict(
                "identifiers",
                "violated",
                None,
                ABSENT,
                attribute=", ".join(stray.identifiers),
                note="the file names people: take them out",
            )
        )
    if stray.without_role:
        verdicts.append(
            Verdict(
                "columns without a role",
                "cannot_judge",
                None,
                ABSENT,
                attribute=", ".join(stray.without_role),
                note="published in the file, and nothing says what they give away: give each a "
                "role (keep, to publish it as it is), or take it out",
            )
        )
    return tuple(verdicts)


def _texts(texts: Sequence[FreeText], release: Release) -> tuple[Verdict, ...]:
    """Verdicts on columns of free text that nobody insists upon."""
    return tuple(
        Verdict(
            "free text",
            "cannot_judge",
            None,
            ABSENT,
            attribute=text.column,
            note=f"anything may stand in it ({text.words}); take it out, or insist on it",
        )
        for text in texts
        if text.column not in release.schema.insist
    )


def _limits(release: Release, policy: Policy | None) -> tuple[Verdict, ...]:
    """Whether columns are published within the limits of the schema, of the policy's if it has."""
    schema = release.schema if policy is None or policy.schema is None else policy.schema
    return tuple(
        Verdict(
            "limits",
            "cannot_judge" if finding.unclear else "violated" if finding.broken else "holds",
            None,
            finding.allowed,
            attribute=finding.column,
            note=finding.broken,
        )
        for finding in limit_findings(release, schema)
    )


def _as_published(
    release: Release, criteria: Sequence[Criterion], verdicts: list[Verdict]
) -> tuple[Verdict, ...]:
    """What anybody can measure: the same criteria against the published distribution.

    Measured against the whole table, a figure would tell what suppressed people have; measured on
    people's true values, it is not told at all; nor is what takes knowing whose rows they are. Of
    survey weights, those that are published are added up.
    """
    hidden = bool(release.suppressed) or _knows_whose(release)
    weighed = any(criterion.reads_weights for criterion in criteria)
    seen = as_handed_out(release) if hidden or weighed else None
    return tuple(
        replace(verdict, measured=None, worst=(), per_group=None, note="", threats=())
        if criterion.stays_private(release)
        else verdict
        if seen is None or not (hidden or criterion.reads_weights)
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
    named = (criterion.population_table for criterion in criteria)
    return next((table for table in named if table is not None), None)


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
        keep=tuple(name for name in release.schema.keep if name not in release.perturbed),
        raw=raw,
        anonymizer=release.made.findings.made_by if isinstance(release.made, MadeHere) else "",
    )


def _worst(verdict: Verdict, release: Release) -> tuple[WorstGroup, ...]:
    if verdict.per_group is None:
        return ()
    groups: Groups = release.groups
    describe = release.regions.describe
    if verdict.per == "row" and release.by_row is not None:
        groups, describe = release.by_row.groups, release.by_row.regions.describe
    elif verdict.per == "tuple":
        groups, describe = release.indistinguishable, release.regions.describe_apart
    return tuple(
        WorstGroup(
            describe(group),
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
    threats = linked.threats()
    threats += named_threats(criteria, release)
    threats += stand_in_threats(seen, "by itself", _named(threats))
    return weak_to_strong(threats)


def _named(threats: Iterable[Threat]) -> set[tuple[str, str]]:
    """Who has been asked about which column."""
    return {(threat.adversary, threat.about or "") for threat in threats}


def _threats_of(results: Sequence[Attack | Verdict]) -> list[Threat]:
    """What the adversaries learnt that were run before, or to judge a criterion; each told once."""
    threats: list[Threat] = []
    for result in results:
        threats += result.threats if isinstance(result, Verdict) else result.threats()
    return list(dict.fromkeys(threats))


def _covered(
    threats: Sequence[Threat], judged: Sequence[JudgedCriterion], release: Release
) -> list[Threat]:
    """Threats with the criteria that bound them: that judge this adversary and this column."""
    return [
        replace(
            threat,
            covered=tuple(
                dict.fromkeys(
                    criterion.name
                    for criterion, verdict in judged
                    if criterion.bounds(threat.adversary)
                    and _judges(criterion, verdict, threat, release)
                )
            ),
        )
        for threat in threats
    ]


def _judges(criterion: Criterion, verdict: Verdict, threat: Threat, release: Release) -> bool:
    """Whether a criterion has a say about the column of a threat in this release."""
    if threat.about is None or not criterion.reads_values:
        return verdict.status != "not_applicable"
    if criterion.joint:
        return threat.about == BETWEEN.join(criterion.joint)
    if criterion.sensitive not in (None, threat.about) or threat.about not in release.by_attribute:
        return False
    if release.by_row is not None and not (threat.of_row or criterion.judges_lists):
        return False  # what somebody has in any of her rows is more than what one of them shows
    about = (
        groups for groups in groups_about(criterion, release) if groups.attribute == threat.about
    )
    return not any(criterion.undefined(groups) for groups in about)
