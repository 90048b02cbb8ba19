"""What the trials show beyond k: l-diversity and t-closeness on top, groups found by distance."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.papers.composition_attacks import (
    ALONE,
    BOTH_MICRO,
    BOTH_MONDRIAN,
    MIXED,
    PAIRS,
    Survey,
    Trial,
    right_when_sure,
)
from sfumato.papers.composition_sections import against_k, by_pair
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet


def bounds_section(name: str, found: Survey) -> Section:
    """Breach with a further bound on both releases, beside k alone."""
    asked = {one.k for one in found.trials if one.bound != ALONE}
    tried = {
        (pair, bound): [one for one in found.of(pair, bound) if one.k in asked]
        for pair in PAIRS
        for bound in found.bounds
    }
    figures = tuple(
        against_k(
            f"{name}, {pair}: perfect breach with further bounds",
            [(bound, tried[pair, bound]) for bound in found.bounds],
            lambda one: one.breach,
        )
        for pair in (BOTH_MONDRIAN, BOTH_MICRO)
    )
    sheets = tuple(
        Sheet(
            ("figure", "k", *found.bounds),
            tuple(
                (what, together[0].k, *(figure(one) for one in together))
                for what, figure in _FIGURES.items()
                for together in zip(*(tried[pair, bound] for bound in found.bounds), strict=True)
            ),
            pair,
        )
        for pair in PAIRS
    )
    words = "Both releases keep the bound, each for itself. Distances of closeness are all equal."
    return Section(f"{name}: with l-diversity and t-closeness", words, sheets, figures)


_FIGURES: dict[str, Callable[[Trial], float]] = {
    "one value left": lambda one: one.breach,
    "at most two left": lambda one: one.oracle.share_at(0.5),
    "drop": lambda one: one.oracle.drop,
    "people a group, 1st": lambda one: one.sizes[0],
}


def location_section(name: str, found: Survey) -> Section:
    """How often the nearest centroid is that of the right group, and what that is worth."""
    columns = (
        "k",
        "rightly located, 1st",
        "2nd",
        "one value left, oracle",
        "nearest",
        "of these right, nearest",
        "guess right, oracle",
        "nearest",
        "nothing left, nearest",
    )

    def row(one: Trial) -> tuple[object, ...]:
        near = one.nearest
        assert near is not None  # both pairs have centroids
        return (
            one.k,
            *near.correctly_located,
            one.breach,
            near.perfect_breach,
            right_when_sure(near),
            one.oracle.precision,
            near.precision,
            near.inconsistent / near.people,
        )

    trials = found.of(BOTH_MICRO)
    shares = [one.nearest.correctly_located[0] or 0.0 for one in trials if one.nearest]
    figure = Figure(
        f"{name}: people whose nearest centroid is that of their own group",
        "lines",
        "k",
        "share of people in both",
        (Series("first release", [one.k for one in trials], shares),),
        log_x=True,
        alt=f"{shares[0]:.1%} at k = {trials[0].k}, {shares[-1]:.1%} at k = {trials[-1].k}.",
        percent="y",
        ticks=tuple(one.k for one in trials),
    )
    words = (
        "The paper assumes that she finds the right group (oracle); in a microaggregated release "
        "she takes the nearest centroid. The paper's figure, as it is remembered, is about 70 %; "
        f"here it is {min(shares):.0%} to {max(shares):.0%}. With one value left by the oracle it "
        "is always the right one."
    )
    return Section(
        f"{name}: does she find the right group?",
        words,
        by_pair(found, columns, row, (BOTH_MICRO, MIXED)),
        (figure,),
    )
