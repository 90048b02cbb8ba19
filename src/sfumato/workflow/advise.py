"""What to do next about a release: every suggestion tried on it before it is made.

Three ways out of a violation: coarsen a column (which one leaves the fewest people in groups that
violate something), leave groups out (whom that costs), promise less (the tightest bound of each
criterion that holds). Each is judged by the very criteria of the policy.

Coarsening needs no rows: groups know their counts, and a hierarchy what a label becomes (`Step`).

Stands apart: what to change when a policy fails; an audit without that question does not load it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from sfumato.criteria.base import (
    Criterion,
    GroupCriterion,
    ReleaseCriterion,
    Sense,
    Verdict,
    asked_of_lists,
    groups_about,
    judge,
)
from sfumato.errors import SchemaError, SfumatoError
from sfumato.numbers import Bools, Codes, Ints, fraction
from sfumato.policy.model import Policy
from sfumato.release.description import Regions, Singletons
from sfumato.release.release import Release
from sfumato.release.signatures import Signatures
from sfumato.report.report import Advice, CoarserColumn, How, Suppressing, TightestBound, Trouble
from sfumato.schema.domain import Domain, DomainKind
from sfumato.schema.hierarchy import Levels
from sfumato.schema.region import Anything, Mask, Region, Span, Value, ValueSet, text_of

# One column of a release one step coarser: groups that then look alike become one.
#
# No rows are needed: groups know their counts, and a hierarchy says what a published label becomes.
# Where a column's labels do not follow its hierarchy, the only step left is not to publish it.


@dataclass(frozen=True)
class Step:
    """What each label of a column becomes: `regions[codes[label]]`, and the name of one of them."""

    codes: Codes
    regions: Sequence[Region]
    label: str

    @property
    def withheld(self) -> bool:
        return len(self.regions) == 1 and isinstance(self.regions[0], Anything)


def next_step(release: Release, column: str) -> Step | None:
    """The next coarser labels of a column; None when all groups show the same label already."""
    regions = release.regions.require_regions()
    place = regions.columns.index(column)
    parts, codes = regions.parts[place], regions.codes[place]
    codes_shown = np.unique(codes)
    if len(codes_shown) == 1:
        return None
    levels = _levels(release, column, parts, codes_shown)
    commonest = int(np.bincount(codes, weights=release.groups.sizes).argmax())
    for level in range(1, levels.height) if levels is not None else ():
        assert levels is not None
        parents = _parents(levels, level, parts, codes_shown)
        if parents is not None and len(np.unique(parents[codes_shown])) < len(codes_shown):
            coarser = levels[level].regions
            return Step(parents, coarser, coarser[parents[commonest]].text)
    return Step(np.zeros(len(parts), dtype=np.int32), (Anything(),), "*")


def coarsened(release: Release, column: str, step: Step) -> Release:
    """The release with a column taken one step further."""
    regions = release.regions.require_regions()
    place = regions.columns.index(column)
    codes = regions.codes.copy()
    codes[place] = step.codes[codes[place]]
    parts = (*regions.parts[:place], step.regions, *regions.parts[place + 1 :])
    wider = Regions(regions.columns, parts, codes)
    number, first = wider.equal_descriptions()
    population = release.population
    if population is not None:
        population = np.bincount(number, weights=population).astype(np.float64)
    return replace(
        release,
        counted_groups={
            name: groups.merge(number, len(first)) for name, groups in release.by_attribute.items()
        },
        regions=wider.take(first),
        population=population,
        made=release.made.merge(number, len(first)),
    )


def _levels(release: Release, column: str, parts: Sequence[Region], used: Ints) -> Levels | None:
    """The column's hierarchy over its own domain, or over the values its labels stand for."""
    source = release.counted_from
    known = None if source is None else source.table.levels.get(column)
    if known is not None:
        return known
    values: set[Value] = set()
    for code in used:
        values |= set(_ends(parts[code]))
    try:
        return release.schema.hierarchy(column).bind(_domain(column, values))
    except SchemaError:
        return None  # labels its hierarchy does not know


def _domain(column: str, values: set[Value]) -> Domain:
    present = [value for value in values if value is not None]
    missing: tuple[Value, ...] = (None,) if None in values else ()
    kind: DomainKind = "categorical"
    if all(isinstance(value, int | float) for value in present):
        kind = "numeric"
    elif all(isinstance(value, dt.date) for value in present):
        kind = "date"
    else:
        present = sorted({text_of(value) for value in present})
        return Domain(column, kind, (*present, *missing))
    return Domain(column, kind, (*sorted(present), *missing))


def _parents(levels: Levels, level: int, parts: Sequence[Region], used: Ints) -> Codes | None:
    """The label of a level that each part lies in; None if some part lies in two."""
    coarser = levels[level]
    if isinstance(parts, Singletons) and len(parts) == len(levels.domain):
        return coarser.codes
    for finer in levels.levels[:level]:
        if finer.regions is parts:  # the very labels of a level
            known = np.zeros(len(parts), dtype=np.int32)
            known[finer.codes] = coarser.codes
            return known
    parents = np.zeros(len(parts), dtype=np.int32)
    whole = next(
        (at for at, region in enumerate(coarser.regions) if isinstance(region, Anything)), None
    )
    for code in used:
        ends = [levels.domain.code(value) for value in _ends(parts[code])]
        inside = {int(coarser.codes[end]) for end in ends if end is not None}
        if not ends and whole is not None:
            inside = {whole}
        if len(inside) != 1 or None in ends:
            return None
        (parents[code],) = inside
    return parents


def _ends(region: Region) -> list[Value]:
    """Values of a region such that a label which has them all has all of it.

    Labels of a hierarchy are intervals, prefixes or listed values: an interval's two ends will do.
    """
    if isinstance(region, ValueSet):
        return list(region.values)
    if isinstance(region, Mask):
        return [region.pattern.replace("*", sign) for sign in "09"]
    if isinstance(region, Span):
        ends = [
            _within(region.low, region.low_closed, 1),
            _within(region.high, region.high_closed, -1),
        ]
        return [*(end for end in ends if end is not None), *region.beside]
    return []


def _within(end: int | float | dt.date, closed: bool, inwards: int) -> Value:
    if isinstance(end, dt.date):
        return end if closed else end + dt.timedelta(days=inwards)
    if math.isinf(end):
        return None
    if closed:
        return end
    return end + inwards if isinstance(end, int) else math.nextafter(end, inwards * math.inf)


MOST_COUNTS = 20_000_000  # stored counts times columns: what one round of trying may look at
MOST_STEPS = 40
_LISTED = 10  # violating groups that are named
_DIGITS = 4  # of a suggested bound
_JUDGED = ("holds", "violated")


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
        criterion
        for criterion, verdict in judged
        if verdict.status in _JUDGED and not _late(criterion)
    ]
    violated = any(verdict.status == "violated" for verdict in verdicts)
    bounds = tuple(
        bound
        for criterion, verdict in judged
        if (bound := tightest(criterion, verdict, release)) is not None
    )
    if not violated:
        return Advice(Trouble(0, 0, ()), bounds=bounds)
    now, bad = trouble(release, applicable)
    late = tuple(dict.fromkeys(criterion.name for criterion in criteria if _late(criterion)))
    unjudged = (criterion.name for criterion, verdict in judged if verdict.status not in _JUDGED)
    untried = tuple(dict.fromkeys((*late, *unjudged)))
    silent = [f"{name} is judged on finished releases and was not tried here" for name in late]
    if now.holds:  # what is violated was not tried: no change is known to mend it
        return Advice(now, bounds=bounds, untried=untried, silent=tuple(silent))
    suppress = None
    if any(verdict.per == "tuple" and not verdict.holds for verdict in verdicts):
        silent.append(
            "buckets do not change who can be told apart: require what they promise, such as "
            "distinct-diversity, or use an anonymizer that generalizes"
        )
    if release.shares_people:
        silent.append(
            "what leaving groups out would do was not worked out: its groups share people"
        )
    elif bad.all():
        silent.append("every group violates something, so leaving groups out leaves nobody")
    elif bad.any():
        suppress = _suppress(release, applicable, bad, policy)
    coarsen: tuple[CoarserColumn, ...] = ()
    steps: tuple[CoarserColumn, ...] = ()
    reason = _cannot_coarsen(release)
    if reason:
        silent.append(f"what a coarser column would buy was not worked out: {reason}")
    else:
        allowed = suppress.allowed or 0 if suppress is not None else 0
        tried = _tried(release, applicable)
        coarsen = tuple(coarser for coarser, _ in tried)
        steps = _steps(tried, applicable, allowed, now)
    return Advice(now, coarsen, steps, suppress, bounds, untried, tuple(silent))


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
        if isinstance(criterion, GroupCriterion):
            bad |= _violating_linked(criterion, release, verdict)
    failed = tuple(dict.fromkeys(failing))
    return Trouble(release.groups.number(bad), release.groups.people(bad), failed), bad


def _violating_linked(criterion: GroupCriterion, release: Release, verdict: Verdict) -> Bools:
    """The same; where a pseudonym links rows those of which a row or what they list violates it."""
    by_row, signatures = release.by_row, release.regions
    rows_asked = criterion.reads_values and not criterion.of_several
    if by_row is None or not isinstance(signatures, Signatures) or not rows_asked:
        nobody = np.zeros(len(release.groups), dtype=bool)
        return _violating(criterion, release) if verdict.per == "group" else nobody
    bad = np.zeros(len(release.groups), dtype=bool)
    bad[signatures.signature_by_row[_violating(criterion, by_row)]] = True
    lists = asked_of_lists(criterion)
    return bad if lists is None else bad | _violating(lists, release)


def _violating(criterion: GroupCriterion, release: Release) -> Bools:
    """The groups that violate a criterion, by any attribute it is about."""
    bad = np.zeros(len(release.groups), dtype=bool)
    for groups in groups_about(criterion, release):
        if not criterion.undefined(groups):
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
    return release.regions.name(group)


def _without(release: Release, bad: Bools) -> Release:
    """The release with groups left out; their people stay in the reference."""
    kept, by_row = np.flatnonzero(~bad), release.by_row
    if by_row is not None and isinstance(release.regions, Signatures):
        by_row = _without(by_row, bad[release.regions.signature_by_row])
    return replace(
        release,
        by_row=by_row,
        counted_groups={name: groups.take(kept) for name, groups in release.by_attribute.items()},
        regions=release.regions.take(kept),
        population=None if release.population is None else release.population[kept],
        suppressed=release.suppressed + release.groups.people(bad),
        made=release.made.take(kept, len(bad)),
        several=None if release.several is None else release.several.take(kept, len(bad)),
    )


def _cannot_coarsen(release: Release) -> str:
    """Why a coarser column cannot be tried on this release; empty when it can."""
    source = release.counted_from
    if release.regions.exact:
        return "the release publishes exact quasi-identifiers"
    if release.groups.multiplicity is not None:
        return "the file is larger than memory"
    if source is not None and not source.fits_memory:
        return "the table is larger than memory"
    if release.shares_people or not release.disjoint:
        return "its groups overlap"
    if not release.regions.generalizes:
        return "it does not publish ranges or labels"
    if source is not None and source.table.counts.extra_memberships:
        return "some people are in several groups"
    if release.several is not None:  # everybody has one row, in a table that may have more
        return "rows are published one by one"
    if len(release.groups.data) * len(release.regions.columns) > MOST_COUNTS:
        return "the release has too many groups for that; anonymize searches faster"
    return ""


Tried = tuple[CoarserColumn, Release]


def _tried(release: Release, criteria: Sequence[Criterion]) -> list[Tried]:
    """Each column one step coarser, the one that leaves least trouble first."""
    tried = []
    for column in release.regions.columns:
        coarser = _one_step(release, column, criteria)
        if coarser is not None:
            tried.append(coarser)
    now, _ = trouble(release, criteria)
    return sorted(tried, key=lambda coarser: (not _buys(coarser[0], now), *_remaining(coarser[0])))


def _one_step(release: Release, column: str, criteria: Sequence[Criterion]) -> Tried | None:
    """A column one step coarser; None where it shows nothing any more."""
    step = next_step(release, column)
    if step is None:
        return None
    wider = coarsened(release, column, step)
    left, _ = trouble(wider, criteria)
    how: How = "not published" if step.withheld else "one step coarser"
    return CoarserColumn(column, how, step.label, len(wider.groups), left), wider


def _buys(coarser: CoarserColumn, now: Trouble) -> bool:
    """Whether it mends anything at all; a step that buys nothing is none to begin with."""
    return (coarser.left.people, len(coarser.left.failing)) < (now.people, len(now.failing))


def _remaining(coarser: CoarserColumn) -> tuple[bool, int, int, int]:
    """What is left to mend; of equals the one that keeps more groups."""
    return not coarser.left.holds, coarser.left.people, len(coarser.left.failing), -coarser.groups


def _steps(
    tried: list[Tried], criteria: Sequence[Criterion], allowed: int, now: Trouble
) -> tuple[CoarserColumn, ...]:
    """The best column, then the best after that, until what is left may be suppressed."""
    steps: list[CoarserColumn] = []
    while tried and len(steps) < MOST_STEPS:
        best, release = tried[0]
        now, before = best.left, now
        if _buys(best, before):
            steps.append(best)
        else:
            way = _farther(tried, criteria, before)
            steps += [coarser for coarser, _ in way]
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
            step = _one_step(way[-1][1], first[0].column, criteria)
            if step is None:
                break
            way.append(step)
        ways.append(way)
    return min(ways, key=lambda way: (not _buys(way[-1][0], now), *_remaining(way[-1][0])))


def tightest(criterion: Criterion, verdict: Verdict, release: Release) -> TightestBound | None:
    """The tightest bound that holds, found by judging the release by it; None if there is none.

    A criterion's figure is measured on the scale of one of its parameters; which one shows by
    trying.
    """
    measured = verdict.measured
    if _late(criterion) or measured is None or not math.isfinite(measured):
        return None
    for field in fields(criterion):
        asked = getattr(criterion, field.name)
        if isinstance(asked, bool) or not isinstance(asked, int | float):
            continue
        for value in _outwards(measured, verdict.sense or "at_most", whole=isinstance(asked, int)):
            try:
                changed: dict[str, Any] = {field.name: value}
                looser = replace(criterion, **changed)
                fine = judge(looser, release).holds
            except SfumatoError:
                continue  # not a value this parameter may have
            if fine:
                about = verdict.attribute if criterion.reads_values else None
                return TightestBound(criterion.name, field.name, asked, value, verdict.holds, about)
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
