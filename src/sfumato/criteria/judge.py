"""One criterion against one release with any number of sensitive attributes: the worst counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sfumato.adversaries.base import Asked
from sfumato.criteria.base import EXACT, Criterion, ReleaseCriterion, Status, Verdict
from sfumato.release.groups import Groups
from sfumato.release.joint import joint_groups
from sfumato.release.membership import with_inside
from sfumato.release.release import Release

# From worst to best: a violation anywhere decides, then whatever could not be judged.
_ORDER: tuple[Status, ...] = (
    "violated",
    "cannot_judge",
    "not_converged",
    "not_applicable",
    "holds",
)


def judge(criterion: Criterion, release: Release) -> Verdict:
    """The verdict over the attribute a criterion names, or the worst over all of them."""
    if unreadable := _unreadable(criterion, release):
        return unreadable
    about = groups_about(criterion, release)
    verdict = worst_of([criterion.of_release(release, groups) for groups in about])
    if release.regions.exact and criterion.about_identity:
        return replace(verdict, per="tuple", note="; ".join(filter(None, (verdict.note, EXACT))))
    return verdict


def named_adversaries(criteria: Iterable[Criterion], release: Release) -> Iterator[Asked]:
    """Those the criteria name, where they can be asked about this release."""
    for criterion in criteria:
        if not _unreadable(criterion, release):
            yield from criterion.adversaries(release)


def _unreadable(criterion: Criterion, release: Release) -> Verdict | None:
    """The verdict on a release of which a criterion can read nothing; None where it can."""
    if release.regions.noisy and not criterion.of_noise:
        return criterion.unjudged(
            "not_applicable", "counts are noisy; the release carries its own guarantee"
        )
    if release.groups.multiplicity is not None and not by_counts(criterion):
        return criterion.unjudged(
            "cannot_judge",
            "it needs every group's own description and people, and the table is larger than "
            "memory; raise the memory limit",
        )
    return None


def by_counts(criterion: Criterion) -> bool:
    """Whether all a criterion reads of a group is what it counts, one attribute at a time."""
    more = isinstance(criterion, ReleaseCriterion) and criterion.at_end and not criterion.of_noise
    return not (more or criterion.joint or criterion.needs - {"protect"})


def groups_about(criterion: Criterion, release: Release) -> list[Groups]:
    """The groups a criterion judges: by its attribute, by each of them, or by several jointly.

    One about identity judges those who cannot be told apart by their quasi-identifiers.
    """
    if not criterion.reads_values:
        return [release.indistinguishable if criterion.about_identity else release.groups]
    if criterion.joint:
        return [joint_groups(release, criterion.joint)]
    names = list(release.by_attribute) if criterion.sensitive is None else [criterion.sensitive]
    about = [release.groups_for(name) for name in names]
    if "members" in criterion.needs:
        about = [with_inside(release, groups) for groups in about]
    return about


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that counts: a violation before anything unjudged, then the tightest."""
    return min(verdicts, key=lambda verdict: (_ORDER.index(verdict.status), _slack(verdict)))


def _slack(verdict: Verdict) -> float:
    """How much room a verdict leaves, so that the tightest attribute is the one reported."""
    if verdict.measured is None:
        return 0.0
    return verdict.measured if verdict.sense in ("at_least", "above") else -verdict.measured
