"""Group sizes: how many people hide among how many, gathered before drawing."""

from __future__ import annotations

import numpy as np

from sfumato.numbers import Ints
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.model import Report
from sfumato.report.public import few, few_of
from sfumato.report.sheet import Sheet, shown

_EACH = 15  # so many different sizes are shown one by one


def section(report: Report) -> Section | None:
    """A table and a chart of people by the size of their group."""
    evidence = report.evidence
    if evidence is None or evidence.release.scheme == "randomised":
        return None
    indistinguishable = evidence.release.indistinguishable
    sizes, times = indistinguishable.sizes, indistinguishable.times
    if not len(sizes):
        return None
    times = np.ones(len(sizes), dtype=np.int64) if times is None else times
    bucketized = evidence.release.scheme == "bucketized"
    asked = [one for one in evidence.criteria if one.about_identity or not bucketized]
    k = max((criterion.fewest_people for criterion in asked), default=1)
    starts, labels = bins(sizes, k)
    place = np.searchsorted(starts, sizes, side="right") - 1
    groups = np.bincount(place, weights=times, minlength=len(starts)).astype(np.int64)
    own = indistinguishable.own_people * times
    people = np.bincount(place, weights=own, minlength=len(starts)).astype(np.int64)
    everybody = int(people.sum())
    told = [
        (
            label,
            few(report, int(many)),
            few(report, int(there)),
            few_of(report, int(there) / everybody, everybody),
        )
        for label, many, there in zip(labels, groups, people, strict=True)
        if many
    ]
    sheet = Sheet(("people in the group", "groups", "people", "share of people"), tuple(told))
    words = "A person can be told apart from everybody but the people of the same group."
    if bucketized:
        words += " Here a group is the people with the same exact quasi-identifiers, not a bucket."
    return Section(
        "Group sizes",
        words,
        (sheet,),
        (_figure(report, sheet, sizes, own, k, [int(start) for start in starts[groups > 0]]),),
    )


def bins(sizes: Ints, k: int) -> tuple[Ints, list[str]]:
    """Where each bin starts and its name: every size alone if they are few, else 1, 2, 5, 10, ...

    A group of fewer than k people is never in one bin with a larger one.
    """
    different = np.unique(sizes).astype(np.int64)
    largest = int(different[-1])
    if len(different) <= _EACH:
        return different, [f"{size:,}" for size in different.tolist()]
    edges, power = {1, k}, 1
    while power <= largest:
        edges |= {power, 2 * power, 5 * power}
        power *= 10
    starts = sorted(edge for edge in edges if edge <= largest)
    ends = [*(start - 1 for start in starts[1:]), largest]
    labels = [
        f"{start:,}" if start == end else f"{start:,} to {end:,}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return np.array(starts, dtype=np.int64), labels


def _figure(
    report: Report, sheet: Sheet, sizes: Ints, own: Ints, k: int, starts: list[int]
) -> Figure:
    def bars(name: str, *, below: bool) -> Series:
        rows = [row for row, start in zip(sheet.rows, starts, strict=True) if (start < k) is below]
        people = [row[2] if isinstance(row[2], int) else None for row in rows]
        return Series(name, [str(row[0]) for row in rows], people)

    order = np.argsort(sizes)[::-1]
    people = np.cumsum(own[order])
    half = int(sizes[order[np.searchsorted(people, people[-1] / 2)]])
    smallest, largest, middle = (
        shown(few(report, size)) for size in (int(sizes.min()), int(sizes.max()), half)
    )
    alt = (
        f"Groups have {smallest} to {largest} people; half of the people are in groups of "
        f"{middle} or more."
    )
    series = [bars("people in large enough groups", below=False)]
    if any(start < k for start in starts):
        series.append(bars(f"people in groups of fewer than {k}", below=True))
        short = int(own[sizes < k].sum())
        alt += f" {shown(few(report, short))} people are in groups of fewer than {k}."
    return Figure(
        "People by the size of their group",
        "bars",
        "people in the group",
        "people",
        tuple(one for one in series if len(one.x)),
        alt=alt,
        ticks=tuple(str(row[0]) for row in sheet.rows),
    )
