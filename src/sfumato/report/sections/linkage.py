"""Linkage: who can link rows to names, which columns help most, how many hide among how many.

Stands apart: it alone knows the risks of linkage (`adversaries/linkage`), and tells them on the
page and in the terminal.
"""

from __future__ import annotations

import numpy as np

from sfumato.adversaries.linkage.risks import Linkage, Risk
from sfumato.adversaries.linkage.uniqueness import Uniqueness
from sfumato.numbers import Ints, percent, sums_by
from sfumato.report.document import Chart, Section, Series, Sheet, cell_text, percentage
from sfumato.report.report import Report, few, few_of

_MOST_SIZES = 15  # so many different sizes are shown one by one
_SOURCES = {None: "", "table": " (population)", "weights": " (survey weights)"}


def linkage_section(report: Report) -> Section | None:
    """Risks of prosecutor, journalist and marketer; the weakest columns first."""
    linked = report.linkage
    if linked is None:
        return None
    title = "Whose row is this?"
    if linked.prosecutor is None:
        return Section(title, f"Linkage was not measured: {linked.reason}.")
    sheets = [_risks(report, linked)]
    if report.columns:
        sheets.append(_columns(report))
    return Section(
        title,
        "The risk of being found by somebody who looks a person up by quasi-identifiers.",
        tuple(sheets),
    )


def _risks(report: Report, linked: Linkage) -> Sheet:
    limits = tuple(f"people above {percent(limit)}" for limit in linked.thresholds)
    columns = ("adversary", "highest", "mean", *limits, "people at highest", "unique people")
    rows = [
        ("prosecutor: knows that the target is in it", *_risk(report, linked, linked.prosecutor))
    ]
    if linked.households is not None:
        name = "prosecutor: knows who lives together, and finds a household by one of it"
        rows.append((name, *_risk(report, linked, linked.households)))
    if linked.journalist is not None:
        name = "journalist: has a register of the population" + _SOURCES[linked.source]
        rows.append((name, *_risk(report, linked, linked.journalist)))
    blank = (None,) * len(limits)
    at_most = linked.prosecutor is not None and linked.prosecutor.at_most
    marketer = _bounded(linked.marketer, at_most=at_most)
    rows.append(("marketer: links everybody", None, marketer, *blank, None, None))
    notes = list(linked.notes) if report.audience == "private" else []
    chosen = linked.population_uniqueness
    if chosen is not None and report.audience == "private":
        notes.append(
            f"Unique in the population, estimated ({chosen.model}, sampling fraction "
            f"{percentage(linked.sampling_fraction)}): "
            f"{'not converged' if chosen.share is None else percent(chosen.share)}."
        )
    return Sheet(
        columns,
        tuple(rows),
        "Chance of being found, and shares of people",
        tuple(notes),
        percent=columns[1:],
    )


def _risk(report: Report, linked: Linkage, risk: Risk | None) -> tuple[float | str | None, ...]:
    if risk is None:
        return (None,) * (len(linked.thresholds) + 4)
    shares = (*risk.above, risk.at_highest, risk.unique)
    figures = [risk.mean, *(few_of(report, share, linked.people) for share in shares)]
    return risk.highest, *(_bounded(figure, at_most=risk.at_most) for figure in figures)


def _bounded(figure: float | str | None, *, at_most: bool) -> float | str | None:
    """A figure, or the text that says that it is a bound."""
    if not at_most or not figure:
        return figure
    return f"at most {percentage(figure)}"


def _columns(report: Report) -> Sheet:
    rows = tuple(
        (column.name, column.shows, column.success, column.unique) for column in report.columns
    )
    columns = ("column", "values shown", "rows found without it", "unique people without it")
    return Sheet(
        columns,
        rows,
        "Columns, the weakest first: the shares that are left when one of them is not known",
        percent=columns[2:],
    )


def brief_linkage(report: Report) -> Section | None:
    """Who can link rows to names, how surely, and what is estimated of the population."""
    linked = report.linkage
    if linked is None:
        return None
    many = len(linked.thresholds)
    missing = (None,) * (many + 4)
    blank = ("",) * (many + 2)
    source = _SOURCES[linked.source]
    at_most = linked.prosecutor is not None and linked.prosecutor.at_most
    rows: list[tuple[object, ...]] = [
        ("prosecutor", *(missing if linked.prosecutor is None else _figures(linked.prosecutor))),
        (
            f"journalist{source}",
            *(missing if linked.journalist is None else _figures(linked.journalist)),
        ),
        ("marketer", "", _bounded(linked.marketer, at_most=at_most), *blank),
    ]
    if linked.households is not None:
        rows.insert(1, ("by household", *_figures(linked.households)))
    if linked.journalist is not None:
        marketer = _bounded(linked.marketer_in_population, at_most=linked.journalist.at_most)
        rows.append((f"marketer{source}", "", marketer, *blank))
    notes = [*linked.notes]
    if linked.reason:
        notes.append(f"linkage not measured: {linked.reason}")
    chosen = linked.population_uniqueness
    if chosen is not None:
        other_estimates = ", ".join(
            _estimate(estimate) for estimate in linked.estimates if estimate is not chosen
        )
        notes.append(
            f"unique in the population (sampling fraction "
            f"{percentage(linked.sampling_fraction)}): "
            f"{_estimate(chosen)}; {other_estimates}"
        )
    limits = [f"above {percent(limit)}" for limit in linked.thresholds]
    columns = ("adversary", "highest", "mean", *limits, "at highest", "unique")
    sheet = Sheet(columns, tuple(rows), notes=tuple(notes), percent=columns[1:])
    return Section("Linkage: risk of being found", "", (sheet,))


def _figures(risk: Risk) -> tuple[float | str | None, ...]:
    shares = (risk.mean, *risk.above, risk.at_highest, risk.unique)
    return risk.highest, *(_bounded(share, at_most=risk.at_most) for share in shares)


def _estimate(estimate: Uniqueness) -> str:
    share = "not converged" if estimate.share is None else percent(estimate.share)
    return f"{estimate.model} {share}"


def brief_columns(report: Report) -> Section | None:
    """The columns, the weakest first."""
    if not report.columns:
        return None
    rows = tuple(
        (column.name, column.shows, column.success, column.unique) for column in report.columns
    )
    columns = ("column", "values shown", "rows found", "unique people")
    sheet = Sheet(columns, rows, percent=("rows found", "unique people"))
    return Section("Columns, the weakest first: what is left without each", "", (sheet,))


def group_sizes_section(report: Report) -> Section | None:
    """A table and a chart of people by the size of their group."""
    evidence = report.evidence
    if evidence is None or evidence.release.regions.noisy:
        return None
    indistinguishable = evidence.release.indistinguishable
    sizes, times = indistinguishable.sizes, indistinguishable.multiplicity
    if not len(sizes):
        return None
    times = np.ones(len(sizes), dtype=np.int64) if times is None else times
    bucketized = evidence.release.regions.exact
    asked = [
        criterion for criterion in evidence.criteria if criterion.about_identity or not bucketized
    ]
    k = max((criterion.fewest_people for criterion in asked), default=1)
    starts, labels = bins(sizes, k)
    place = np.searchsorted(starts, sizes, side="right") - 1
    groups = sums_by(place, times, len(starts))
    own = indistinguishable.own_people * times
    people = sums_by(place, own, len(starts))
    everybody = int(people.sum())
    rows = [
        (
            label,
            few(report, int(many)),
            few(report, int(there)),
            few_of(report, int(there) / everybody, everybody),
        )
        for label, many, there in zip(labels, groups, people, strict=True)
        if many
    ]
    columns = ("people in the group", "groups", "people", "share of people")
    sheet = Sheet(columns, tuple(rows), percent=columns[3:])
    words = "A person can be told apart from everybody but the people of the same group."
    if bucketized:
        words += " Here a group is the people with the same exact quasi-identifiers, not a bucket."
    return Section(
        "Group sizes",
        words,
        (sheet,),
        (_chart(report, sheet, sizes, own, k, [int(start) for start in starts[groups > 0]]),),
    )


def bins(sizes: Ints, k: int) -> tuple[Ints, list[str]]:
    """Where each bin starts and its name: every size alone if they are few, else 1, 2, 5, 10, ...

    A group of fewer than k people is never in one bin with a larger one.
    """
    different = np.unique(sizes).astype(np.int64)
    largest = int(different[-1])
    if len(different) <= _MOST_SIZES:
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


def _chart(
    report: Report, sheet: Sheet, sizes: Ints, own: Ints, k: int, starts: list[int]
) -> Chart:
    def bars(name: str, *, below: bool) -> Series:
        rows = [row for row, start in zip(sheet.rows, starts, strict=True) if (start < k) is below]
        people = [row[2] if isinstance(row[2], int) else None for row in rows]
        return Series(name, [str(row[0]) for row in rows], people)

    order = np.argsort(sizes)[::-1]
    people = np.cumsum(own[order])
    half = int(sizes[order[np.searchsorted(people, people[-1] / 2)]])
    smallest, largest, middle = (
        cell_text(few(report, size)) for size in (int(sizes.min()), int(sizes.max()), half)
    )
    alt = (
        f"Groups have {smallest} to {largest} people; half of the people are in groups of "
        f"{middle} or more."
    )
    series = [bars("people in large enough groups", below=False)]
    if any(start < k for start in starts):
        series.append(bars(f"people in groups of fewer than {k}", below=True))
        short = int(own[sizes < k].sum())
        alt += f" {cell_text(few(report, short))} people are in groups of fewer than {k}."
    return Chart(
        "People by the size of their group",
        "bars",
        "people in the group",
        "people",
        tuple(line for line in series if len(line.x)),
        alt=alt,
        ticks=tuple(str(row[0]) for row in sheet.rows),
        name="group-sizes",
    )
