"""What a column adds to the leakage of others, and what coarsening one of them would buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.counts.marginals import Marginal
from sfumato.report.characterization import DROPPED, Coarsening, Contribution, Finding
from sfumato.schema.hierarchy import Levels
from sfumato.workflow.characterizing.combinations import Target
from sfumato.workflow.characterizing.findings import Naming, finding
from sfumato.workflow.characterizing.priors import Priors


def contributions(findings: Sequence[Finding]) -> tuple[Contribution, ...]:
    """For every target and column: what it leaks alone, and adds on average to others.

    The column that adds most to the leakage people meet comes first.
    """
    by_set = {(one.target, frozenset(one.columns)): one for one in findings}
    found = []
    for target in dict.fromkeys(one.target for one in findings):
        mine = [one for one in findings if one.target == target]
        columns = dict.fromkeys(column for one in mine for column in one.columns)
        told = []
        for column in columns:
            pairs = [
                (one, by_set[target, frozenset(one.columns) - {column}])
                for one in mine
                if column in one.columns and (target, frozenset(one.columns) - {column}) in by_set
            ]
            alone = by_set.get((target, frozenset({column})))
            told.append(
                Contribution(
                    column,
                    target,
                    None if alone is None else alone.distribution.weighted,
                    _mean([w.distribution.weighted - o.distribution.weighted for w, o in pairs]),
                    _mean([with_.unique - without.unique for with_, without in pairs]),
                )
            )
        told.sort(key=lambda one: (-(one.adds or 0.0), -(one.alone or 0.0), one.column))
        found += told
    return tuple(found)


def _mean(gains: list[float]) -> float | None:
    return float(np.mean(gains)) if gains else None


def coarsenings(
    findings: Sequence[Finding],
    base: Marginal,
    levels: Mapping[str, Levels],
    targets: Sequence[Target],
    priors: Priors,
    naming: Naming,
) -> tuple[Coarsening, ...]:
    """For every target: its worst combination, with each column in turn one step coarser.

    A step is the next level of the column's hierarchy at which people merge; the column is dropped
    where it has none. Coarser columns come first and dropped ones apart after them: they cost more.
    Among each, the one that leaves the least leakage is first.
    """
    found = []
    for target in targets:
        mine = [one for one in findings if one.target == target.name]
        if not mine:
            continue
        worst = max(mine, key=lambda one: (one.distribution.weighted, one.distribution.largest))
        by_set = {frozenset(one.columns): one for one in mine}
        told = [
            _step(worst, column, base, levels.get(column), target, priors, naming)
            or _dropped(worst, column, by_set)
            for column in worst.columns
        ]
        kept = [one for one in told if one is not None]
        kept.sort(
            key=lambda one: (
                one.dropped,
                one.after.distribution.weighted,
                one.after.unique,
                one.column,
            )
        )
        found += kept
    return tuple(found)


def _step(
    worst: Finding,
    column: str,
    base: Marginal,
    levels: Levels | None,
    target: Target,
    priors: Priors,
    naming: Naming,
) -> Coarsening | None:
    """The worst combination with one column coarser by its hierarchy."""
    place = naming.names.index(column)
    places = tuple(sorted((*(naming.names.index(name) for name in worst.columns), target.column)))
    if levels is None or not priors.fixed:
        return None
    cells = base.onto(places)
    row = cells.columns.index(place)
    present = np.unique(cells.codes[row])
    for number, level in enumerate(levels.levels[1:-1], start=1):
        if len(np.unique(level.codes[present])) == len(present):
            continue
        codes = cells.codes.copy()
        codes[row] = level.codes[codes[row]]
        coarser = Marginal(places, cells.sizes, codes, cells.n).onto(places)
        prior = priors.about(target, places)
        labels = list(naming.labels)
        labels[place] = level.labels
        after = finding(
            prior.judge(coarser, target.column), prior, target, Naming(naming.names, tuple(labels))
        )
        to = f"level {number} of {levels.height - 1}"
        return Coarsening(target.name, worst.columns, column, to, worst, after)
    return None


def _dropped(
    worst: Finding, column: str, by_set: Mapping[frozenset[str], Finding]
) -> Coarsening | None:
    """The worst combination without one column, where that was measured."""
    after = by_set.get(frozenset(worst.columns) - {column})
    if after is None:
        return None
    return Coarsening(worst.target, worst.columns, column, DROPPED, worst, after)
