"""One criterion against one release with any number of sensitive attributes: the worst counts."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.criteria.base import Criterion, Status, Verdict
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
    if release.scheme == "randomised":
        return Verdict(
            criterion.name,
            "not_applicable",
            None,
            criterion.required,
            note="counts are noisy; the release carries its own guarantee",
        )
    if not criterion.reads_values:
        return criterion.verdict(release.groups)
    if criterion.sensitive is not None:
        return criterion.verdict(release.groups_for(criterion.sensitive))
    verdicts = [criterion.verdict(groups) for groups in release.by_attribute.values()]
    return worst_of(verdicts)


def worst_of(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that counts: a violation before anything unjudged, then the tightest."""
    return min(verdicts, key=lambda verdict: (_ORDER.index(verdict.status), _slack(verdict)))


def _slack(verdict: Verdict) -> float:
    """How much room a verdict leaves, so that the tightest attribute is the one reported."""
    if verdict.measured is None:
        return 0.0
    return verdict.measured if verdict.sense in ("at_least", "above") else -verdict.measured
