"""What the trials of the composition experiment show: tables and charts, no single person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sfumato.papers.composition_attacks import BOTH_MICRO, BOTH_MONDRIAN, PAIRS, Survey, Trial
from sfumato.report.exhibit import Section
from sfumato.report.figure import Figure, Series
from sfumato.report.sheet import Sheet

_CURVE_VALUES = (1, 2, 3, 4, 5, 8, 10)  # values left: confidence 1, 1/2, ...
_CURVE_SIZES = (2, 3, 5, 10, 20)  # the k whose curves are drawn; the tables have all


def attack_sections(name: str, found: Survey) -> list[Section]:
    """Breach, curves, group sizes and values left, for k-anonymity alone."""
    return [_breach(name, found), _curves(name, found), _values_left(name, found)]


def _breach(name: str, found: Survey) -> Section:
    columns = (
        "k",
        "one value left (perfect breach)",
        "by one release alone",
        "at most two left",
        "guess right",
    )

    def row(one: Trial) -> tuple[object, ...]:
        alone = one.oracle.exposed_by_one / one.oracle.located
        return one.k, one.breach, alone, one.oracle.share_at(0.5), one.oracle.precision

    series = [(pair, found.of(pair)) for pair in PAIRS]
    return Section(
        f"{name}: breach against k",
        "Shares of the people who are in both releases. A guess takes the likeliest value left.",
        by_pair(found, columns, row),
        (
            against_k(f"{name}: perfect breach against k", series, lambda one: one.breach),
            against_k(
                f"{name}: partial breach (confidence 1/2 or more) against k",
                series,
                lambda one: one.oracle.share_at(0.5),
            ),
        ),
    )


def by_pair(
    found: Survey,
    columns: tuple[str, ...],
    row: Callable[[Trial], tuple[object, ...]],
    pairs: Iterable[str] = PAIRS,
) -> tuple[Sheet, ...]:
    """A table for each pair of anonymizers, a row for each k."""
    return tuple(Sheet(columns, tuple(map(row, found.of(pair))), pair) for pair in pairs)


def against_k(
    title: str,
    series: Sequence[tuple[str, list[Trial]]],
    share: Callable[[Trial], float],
) -> Figure:
    """Shares of people by k, a line each."""
    told = "; ".join(
        f"{label} {share(trials[0]):.1%} at k = {trials[0].k}, {share(trials[-1]):.1%} at "
        f"{trials[-1].k}"
        for label, trials in series
    )
    lines = tuple(
        Series(label, [one.k for one in trials], [share(one) for one in trials])
        for label, trials in series
    )
    ticks = tuple(sorted({one.k for _, trials in series for one in trials}))
    return Figure(
        title,
        "lines",
        "k",
        "share of people in both",
        lines,
        log_x=True,
        alt=f"{told}.",
        percent="y",
        ticks=ticks,
    )


def _curves(name: str, found: Survey) -> Section:
    """PVP_c: the share of people known with confidence c or more."""
    confidence = [1 / left for left in _CURVE_VALUES]

    def shares(one: Trial) -> list[float]:
        return [one.oracle.share_at(least) for least in confidence]

    figures = []
    for pair in PAIRS:
        drawn = [one for one in found.of(pair) if one.k in _CURVE_SIZES]
        sure = ", ".join(f"{one.breach:.1%} at k = {one.k}" for one in drawn)
        figures.append(
            Figure(
                f"{name}, {pair}: people by how surely their value is known",
                "steps",
                "confidence of at least",
                "share of people in both",
                tuple(Series(f"k = {one.k}", confidence, shares(one)) for one in drawn),
                alt=f"Known for sure: {sure}.",
                percent="y",
            )
        )
    columns = ("k", *("c = 1" if left == 1 else f"1/{left}" for left in _CURVE_VALUES))
    return Section(
        f"{name}: how surely",
        "The share of people (PVP_c) of whom at most 1 / c values are left.",
        by_pair(found, columns, lambda one: (one.k, *shares(one))),
        tuple(figures),
    )


def _values_left(name: str, found: Survey) -> Section:
    columns = (
        "k",
        "people a group, 1st",
        "2nd",
        "people of her group, 1st",
        "2nd",
        "values left, 1st",
        "2nd",
        "both",
        "drop",
    )

    def row(one: Trial) -> tuple[object, ...]:
        told = one.oracle
        return one.k, *one.sizes, *told.group_size, *told.before, told.after, told.drop

    lines = []
    for pair in (BOTH_MONDRIAN, BOTH_MICRO):
        trials = found.of(pair)
        at = [one.k for one in trials]
        lines += [
            Series(f"{pair}, one release", at, [one.oracle.fewest_before for one in trials]),
            Series(f"{pair}, both together", at, [one.oracle.after for one in trials]),
        ]
    first = found.of(BOTH_MONDRIAN)[0].oracle
    figure = Figure(
        f"{name}: effective anonymity against k",
        "lines",
        "k",
        "sensitive values left (mean)",
        tuple(lines),
        log_x=True,
        alt=f"With the smallest k, Mondrian leaves {first.fewest_before:.2f} values in the release "
        f"that leaves fewer, {first.after:.2f} in both together.",
        ticks=tuple(one.k for one in found.of(BOTH_MONDRIAN)),
    )
    words = (
        "Means: people a group over groups; people of her group and values left (effective "
        "anonymity) over the people in both. The drop is from the release that leaves fewer."
    )
    return Section(
        f"{name}: group sizes and values left", words, by_pair(found, columns, row), (figure,)
    )
