"""What to do next about a release: every suggestion tried on it before it is made.

Three ways out of a violation: coarsen a column (which one leaves the fewest people in groups that
violate something), leave groups out (whom that costs), promise less (the tightest bound of each
criterion that holds). Each is judged by the very criteria of the policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from sfumato.criteria.base import Bools, Criterion, GroupCriterion, ReleaseCriterion, Sense, Verdict
from sfumato.criteria.exact import fraction
from sfumato.criteria.judge import groups_about, judge
from sfumato.errors import SfumatoError
from sfumato.policy.model import Policy
from sfumato.release.origin import HeldOrigin, Origin
from sfumato.release.regions import Regions
from sfumato.release.release import Release
from sfumato.report.advice import Advice, Bound, Coarsening, How, Suppressing, Trouble
from sfumato.workflow.coarsen import coarsened, next_step

MOST_COUNTS = 20_000_000  # stored counts times columns: what one round of trying may look at
MOST_STEPS = 40
_LISTED = 10  # violating groups that are named
_DIGITS = 4  # of a suggested bound


def advise(
    release: Release,
    criteria: Sequence[Criterion],
    verdicts: Sequence[Verdict],
    policy: Policy | None = None,
) -> Advice:
    """Suggestions for a release that was judged by these criteria."""
    judged = list(zip(criteria, verdicts, strict=True))
    # What could not be judged is not mended by any of this; what takes long is not tried.
    applicable = [
        one for one, verdict in judged if verdict.status in ("holds", "violated") and not _late(one)
    ]
    violated = any(verdict.status == "violated" for verdict in verdicts)
    bounds = tuple(
        bound for one, verdict in judged if (bound := tightest(one, verdict, release)) is not None
    )
    if not violated:
        return Advice(Trouble(0, 0, ()), bounds=bounds)
    now, bad = trouble(release, applicable)
    late = dict.fromkeys(one.name for one in criteria if _late(one))
    silent = [f"{name} is judged on finished releases and was not tried here" for name in late]
    suppress = None
    if any(verdict.per == "tuple" and not verdict.holds for verdict in verdicts):
        silent.append(
            "buckets do not change who can be told apart: require what they promise, such as "
            "distinct-diversity, or use an anonymizer that generalizes"
        )
    if release.matched is not None:
        silent.append(
            "what leaving groups out would do was not worked out: its groups share people"
        )
    elif bad.all():
        silent.append("every group violates something, so leaving groups out leaves nobody")
    elif bad.any():
        suppress = _suppress(release, applicable, bad, policy)
    coarsen: tuple[Coarsening, ...] = ()
    steps: tuple[Coarsening, ...] = ()
    reason = _cannot_coarsen(release)
    if reason:
        silent.append(f"what a coarser column would buy was not worked out: {reason}")
    else:
        allowed = suppress.allowed or 0 if suppress is not None else 0
        tried = _tried(release, applicable)
        coarsen = tuple(one for one, _ in tried)
        steps = _steps(tried, applicable, allowed, now)
    return Advice(now, coarsen, steps, suppress, bounds, tuple(silent))


def _late(criterion: Criterion) -> bool:
    """Whether a criterion is judged once, on the finished release: too slow to try things on."""
    return isinstance(criterion, ReleaseCriterion) and criterion.at_end


def trouble(release: Release, criteria: Sequence[Criterion]) -> tuple[Trouble, Bools]:
    """What fails on a release, and which groups violate something."""
    bad = np.zeros(len(release.groups), dtype=bool)
    failing = []
    for criterion in criteria:
        verdict = judge(criterion, release)
        if verdict.holds:
            continue
        failing.append(criterion.name)
        if isinstance(criterion, GroupCriterion) and verdict.per == "group":
            bad |= _violating(criterion, release)
    failed = tuple(dict.fromkeys(failing))
    return Trouble(release.groups.number(bad), release.groups.people(bad), failed), bad


def _violating(criterion: GroupCriterion, release: Release) -> Bools:
    """The groups that violate a criterion, by any attribute it is about."""
    bad = np.zeros(len(release.groups), dtype=bool)
    for groups in groups_about(criterion, release):
        if not criterion.inapplicable(groups):
            bad |= ~criterion.holds(groups)
    return bad


def _suppress(
    release: Release, criteria: Sequence[Criterion], bad: Bools, policy: Policy | None
) -> Suppressing:
    sizes = release.groups.sizes
    everybody = release.people + release.suppressed
    people = release.groups.people(bad)
    allowed = None
    if policy is not None:
        allowed = max(math.floor(fraction(policy.suppression) * everybody) - release.suppressed, 0)
    left, _ = trouble(_without(release, bad), criteria)
    largest = sorted(np.flatnonzero(bad).tolist(), key=lambda g: (-int(sizes[g]), g))[:_LISTED]
    named = tuple((_described(release, group), int(sizes[group])) for group in largest)
    return Suppressing(release.groups.number(bad), people, everybody, allowed, left, named)


def _described(release: Release, group: int) -> str:
    return ", ".join(f"{name} {text}" for name, text in release.regions.describe(group).items())


def _without(release: Release, bad: Bools) -> Release:
    """The release with groups left out; their people stay in the reference."""
    kept = np.flatnonzero(~bad)
    number = np.where(bad, -1, np.cumsum(~bad) - 1)

    def moved(origin: Origin | None) -> Origin | None:
        if origin is None or isinstance(origin, HeldOrigin):
            return None
        return replace(origin, groups=np.where(origin.groups < 0, -1, number[origin.groups]))

    return replace(
        release,
        by_attribute={name: one.take(kept) for name, one in release.by_attribute.items()},
        regions=release.regions.take(kept),
        population=None if release.population is None else release.population[kept],
        suppressed=release.suppressed + release.groups.people(bad),
        origin=moved(release.origin),
        counted=moved(release.counted),
        inside=None if release.inside is None else release.inside.take(kept),
    )


def _cannot_coarsen(release: Release) -> str:
    """Why a coarser column cannot be tried on this release; empty when it can."""
    source = release.origin or release.counted
    if not isinstance(release.regions, Regions):
        return "the release publishes exact quasi-identifiers"
    if release.groups.times is not None:
        return "the file is larger than memory"
    if release.matched is not None or not release.disjoint:
        return "its groups overlap"
    if release.scheme != "generalized":
        return "it does not publish ranges or labels"
    if source is not None and source.counts.spanning:
        return "some people are in several groups"
    if len(release.groups.data) * len(release.regions.columns) > MOST_COUNTS:
        return "the release has too many groups for that; anonymize searches faster"
    return ""


Tried = tuple[Coarsening, Release]


def _tried(release: Release, criteria: Sequence[Criterion]) -> list[Tried]:
    """Each column one step coarser, the one that leaves least trouble first."""
    found = []
    assert isinstance(release.regions, Regions)
    for column in release.regions.columns:
        one = _one_step(release, column, criteria)
        if one is not None:
            found.append(one)
    now, _ = trouble(release, criteria)
    return sorted(found, key=lambda one: (not _buys(one[0], now), *_remaining(one[0])))


def _one_step(release: Release, column: str, criteria: Sequence[Criterion]) -> Tried | None:
    """A column one step coarser; None where it shows nothing any more."""
    step = next_step(release, column)
    if step is None:
        return None
    wider = coarsened(release, column, step)
    left, _ = trouble(wider, criteria)
    how: How = "not published" if step.withheld else "one step coarser"
    return Coarsening(column, how, step.label, len(wider.groups), left), wider


def _buys(one: Coarsening, now: Trouble) -> bool:
    """Whether it mends anything at all; a step that buys nothing is none to begin with."""
    return (one.left.people, len(one.left.failing)) < (now.people, len(now.failing))


def _remaining(one: Coarsening) -> tuple[bool, int, int, int]:
    """What is left to mend; of equals the one that keeps more groups."""
    return not one.left.holds, one.left.people, len(one.left.failing), -one.groups


def _steps(
    tried: list[Tried], criteria: Sequence[Criterion], allowed: int, now: Trouble
) -> tuple[Coarsening, ...]:
    """The best column, then the best after that, until what is left may be suppressed."""
    steps: list[Coarsening] = []
    while tried and len(steps) < MOST_STEPS:
        best, release = tried[0]
        now, before = best.left, now
        if _buys(best, before):
            steps.append(best)
        else:
            way = _farther(tried, criteria, before)
            steps += [one for one, _ in way]
            best, release = way[-1]
            now = best.left
        if best.left.holds or 0 < best.left.people <= allowed:
            break
        tried = _tried(release, criteria)
    return tuple(steps)


def _farther(tried: list[Tried], criteria: Sequence[Criterion], now: Trouble) -> list[Tried]:
    """Where one step of no column buys anything: the column that does when taken farther."""
    ways = []
    for first in tried:
        way = [first]
        while not _buys(way[-1][0], now):
            one = _one_step(way[-1][1], first[0].column, criteria)
            if one is None:
                break
            way.append(one)
        ways.append(way)
    return min(ways, key=lambda way: (not _buys(way[-1][0], now), *_remaining(way[-1][0])))


def tightest(criterion: Criterion, verdict: Verdict, release: Release) -> Bound | None:
    """The tightest bound that holds, found by judging the release by it; None if there is none.

    A criterion's figure is measured on the scale of one of its parameters; which one shows by
    trying.
    """
    measured = verdict.measured
    if _late(criterion) or measured is None or not math.isfinite(measured):
        return None
    for one in fields(criterion):
        asked = getattr(criterion, one.name)
        if isinstance(asked, bool) or not isinstance(asked, int | float):
            continue
        for value in _outwards(measured, verdict.sense or "at_most", whole=isinstance(asked, int)):
            try:
                changed: dict[str, Any] = {one.name: value}
                looser = replace(criterion, **changed)
                fine = judge(looser, release).holds
            except SfumatoError:
                continue  # not a value this parameter may have
            if fine:
                about = verdict.attribute if criterion.reads_values else None
                return Bound(criterion.name, one.name, asked, value, verdict.holds, about)
    return None


def _outwards(measured: float, sense: Sense, *, whole: bool) -> list[float]:
    """The measured value rounded to the side on which it holds, and the next one."""
    exact = Decimal(repr(float(measured)))
    digits = 0 if whole else _DIGITS - 1 - (exact.adjusted() if exact else 0)
    unit = Decimal(1).scaleb(-digits)
    more = sense in ("at_most", "below")
    first = exact.quantize(unit, ROUND_CEILING if more else ROUND_FLOOR)
    values = [first, first + unit if more else first - unit]
    return [int(value) if whole else float(value) for value in values]
