"""Which quasi-identifier gives people away: what an adversary who lacks one of them could find.

For each column the release is read without it: how many people would still be alone, and how many
rows a marketer would still get right. The column whose loss hurts her most is the weakest, the
first to coarsen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.counts.counts import rank_rows
from sfumato.release.release import Release

MOST_GROUPS = 2_000_000  # beyond, the reading takes one sort of all groups per column


@dataclass(frozen=True)
class Column:
    """What is left to find when one column is not known, or not published."""

    name: str
    shows: int  # distinct published values
    success: float  # share of rows a marketer would get right without it
    unique: float  # share of people who would be alone without it


def weakest_columns(release: Release) -> tuple[Column, ...]:
    """Every quasi-identifier, the weakest first; empty where this cannot be told.

    Not for buckets, which publish exact tuples, nor where groups overlap, counts are noisy or one
    group stands for many, nor for one column.
    """
    regions, sizes = release.regions.each_region, release.groups.sizes
    exact = release.matched is None and not release.regions.noisy
    exact = exact and release.groups.multiplicity is None
    if regions is None or not exact:
        return ()
    if len(regions.columns) < 2 or not 0 < len(sizes) <= MOST_GROUPS:
        return ()
    widths = [len(parts) for parts in regions.parts]
    people = int(sizes.sum())
    found = []
    for place, name in enumerate(regions.columns):
        others = [column for column in range(len(widths)) if column != place]
        number, first = rank_rows(regions.codes[others], [widths[column] for column in others])
        merged = np.bincount(number, weights=sizes, minlength=len(first))
        shows = len(np.unique(regions.codes[place]))
        found.append(Column(name, shows, len(first) / people, float((merged == 1).sum()) / people))
    return tuple(sorted(found, key=lambda column: (column.success, column.unique, column.name)))
